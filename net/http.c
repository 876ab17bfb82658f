/* http/request: from parameters to a request for sallyport-http. */
#include "net/http.h"

#include <errno.h>
#include <string.h>

#include "privsep/pack.h"

static int
put(struct buf *out, struct bytes s)
{
	return buf_put_string(out, s.data, s.len);
}

/* One header as name, value and variable; the last may be empty. */
static int
put_header(const struct params_http_header *h, struct buf *out, struct err *e)
{
	int r = put(out, h->name);

	if (r == 0)
		r = put(out, h->value);
	if (r == 0)
		r = put(out, h->value_env_var);
	if (r == -EMSGSIZE)
		return err_set(e, EINVAL,
		    "`headers` is too large: at most %u bytes in all",
		    HTTP_HEADERS_MAX);
	return r < 0 ? err_set(e, EINVAL, "out of memory for `headers`") : 0;
}

static int
take_headers(const json_t *headers, struct buf *out, struct err *e)
{
	const struct decoding d = {.strict = true};
	struct params_http_header h;
	int r = 0;

	if (json_array_size(headers) > HTTP_FIELDS_MAX)
		return err_set(e, EINVAL,
		    "`headers` has %zu items, at most %d are accepted",
		    json_array_size(headers), HTTP_FIELDS_MAX);
	for (size_t i = 0; r == 0 && i < json_array_size(headers); i++) {
		const json_t *item = json_array_get(headers, i);

		if (!json_is_object(item))
			return err_set(e, EINVAL,
			    "invalid type: expected an object in `headers`");
		r = params_http_header_decode(item, &d, &h, e);
		if (r == 0)
			r = put_header(&h, out, e);
		params_http_header_done(&h);
	}
	return r;
}

static int
take_policy(struct bytes policy, uint32_t *flags, struct err *e)
{
	if (policy.data == NULL || bytes_is(policy, "follow"))
		*flags |= HTTP_FLAG_FOLLOW;
	else if (!bytes_is(policy, "stop"))
		return err_set(e, EINVAL,
		    "unknown variant `%.*s`, expected `follow` or `stop`",
		    policy.len > 64 ? 64 : (int)policy.len,
		    (const char *)policy.data);
	return 0;
}

/* The body becomes a file in any case: that keeps it out of records. It stays
 * on the message budget until the request is over. */
static int
take_body(struct connection *c, struct param_blob *body, struct http_request *r,
    struct err *e)
{
	r->charged = body->len < c->in_charged ? body->len : c->in_charged;
	c->in_charged -= (size_t)r->charged;
	if (body->bad)
		return err_set(e, EINVAL,
		    "http/request bodyBase64 is not valid base64: %s",
		    body->why);
	r->body_fd = fd_take(&body->fd);
	if (r->body_fd >= 0 || body->data == NULL)
		return 0;
	r->body_fd = msg_sealed_memfd(
	    (struct bytes){.data = body->data, .len = (size_t)body->len});
	return r->body_fd < 0 ? err_set(e, EINVAL, "out of memory for a body")
			      : 0;
}

static bool
copy(struct bytes from, struct bytes *to)
{
	to->data = (const uint8_t *)bytes_dup(from);
	to->len = from.len;
	return to->data != NULL;
}

static int
take(struct connection *c, struct params_http_request *p,
    struct http_request *r, struct err *e)
{
	int rc = take_policy(p->redirect_policy, &r->flags, e);

	if (rc == 0)
		rc = take_headers(p->headers, &r->headers, e);
	if (rc == 0)
		rc = take_body(c, &p->body, r, e);
	if (rc < 0)
		return rc;
	if (p->stream)
		r->flags |= HTTP_FLAG_STREAM;
	r->stream = p->stream;
	r->timeout_ms = p->timeout_ms.present ? p->timeout_ms.v : UINT64_MAX;
	r->method = bytes_dup(p->method);
	if (r->method == NULL || !copy(p->url, &r->url) ||
	    !copy(p->request_id, &r->id))
		return err_set(e, EINVAL, "out of memory");
	return 0;
}

static bool
is_streaming(const struct session *s, struct bytes id)
{
	const struct http_request *r;

	if (s->http == NULL)
		return false;
	TAILQ_FOREACH (r, &s->http->requests, link)
		if (r->stream && bytes_equal(r->id, id))
			return true;
	return false;
}

static struct http_request *
request_new(struct net *n)
{
	struct http_request *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	r->net = n;
	r->body_fd = -1;
	buf_init(&r->headers, HTTP_HEADERS_MAX);
	buf_init(&r->fields, HTTP_HEADERS_MAX);
	return r;
}

void
on_http_request(struct connection *c, const struct rpc_id *id,
    struct params_http_request *p)
{
	struct http_request *r;
	struct err e = {0};

	if (c->session->policy->no_http) {
		rpc_error(c, id, RPC_INTERNAL,
		    "http/request is refused: it would go out from the "
		    "server's host, not from where programs run "
		    "(backend.http)");
		return;
	}
	r = request_new(c->net);
	if (r == NULL) {
		rpc_error(c, id, RPC_INTERNAL, "out of memory");
		return;
	}
	if (take(c, p, r, &e) < 0)
		rpc_error(c, id, RPC_INVALID_PARAMS, "%s", e.text);
	else if (r->stream && is_streaming(c->session, r->id))
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "http/request streamResponse requestId `%.*s` is already "
		    "active",
		    (int)r->id.len, (const char *)r->id.data);
	else if (rpc_later_init(&r->later, c, id) == 0) {
		http_submit(c->session, r);
		return;
	}
	http_request_free(r);
}
