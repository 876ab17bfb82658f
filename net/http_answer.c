/* From sallyport-http's messages to the client's. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "net/http.h"
#include "privsep/pack.h"

/* --- the audit log ------------------------------------------------------- */

/* The last hop; of a URL that is no good there is none. */
struct where {
	struct bytes host;
	uint32_t port;
};

static void
audit(struct http_request *r, const char *outcome, const struct where *to,
    struct bytes rule)
{
	struct session *s = r->client->session;
	scoped_free char *host_text = bytes_dup(to->host);
	scoped_free char *rule_text = bytes_dup(rule);
	char session[16], status[16], bytes[24], port[16];

	(void)snprintf(session, sizeof session, "%u", s->id.v);
	(void)snprintf(port, sizeof port, "%u", to->port);
	(void)snprintf(status, sizeof status, "%u", r->status);
	(void)snprintf(bytes, sizeof bytes, "%" PRIu64, r->body_bytes);
	if (host_text == NULL || rule_text == NULL)
		return;
	net_audit(s->net, "http_request",
	    (const char *[]){"session", session, "method", r->method, "host",
		host_text, "outcome", outcome, "bytes", bytes,
		r->status != 0 ? "status" : "rule",
		r->status != 0 ? status : rule_text,
		to->port != 0 ? "port" : NULL, port, NULL});
}

/* --- one request --------------------------------------------------------- */

static void
free_bytes(struct bytes *b)
{
	free((void *)(uintptr_t)b->data);
	*b = (struct bytes){0};
}

void
http_request_free(struct http_request *r)
{
	struct http_client *h = r->client;

	/* One that no client was found for is in no list. */
	if (h != NULL)
		TAILQ_REMOVE(&h->requests, r, link);
	rpc_later_done(r->net, &r->later);
	free_bytes(&r->id);
	free_bytes(&r->url);
	free(r->method);
	buf_done(&r->headers);
	buf_done(&r->fields);
	fd_close(&r->body_fd);
	net_release(r->net, r->charged);
	free(r);
}

static void
send_delta(struct http_request *r, struct bytes data, bool done,
    const char *error)
{
	struct connection *c = r->client->session->connection;
	struct jsonw w;
	struct buf text;

	if (c == NULL)
		return;
	rpc_notify_begin(c, "http/request/bodyDelta", &w, &text);
	jsonw_open(&w, '{');
	jsonw_key(&w, "requestId");
	jsonw_string(&w, r->id);
	jsonw_key(&w, "seq");
	jsonw_uint(&w, ++r->seq);
	jsonw_key(&w, "deltaBase64");
	jsonw_base64(&w, data);
	jsonw_key(&w, "done");
	jsonw_bool(&w, done);
	jsonw_key(&w, "error");
	if (error != NULL)
		jsonw_text(&w, error);
	else
		jsonw_null(&w);
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
}

static struct connection *
waiting(struct http_request *r)
{
	return rpc_later_connection(r->net, &r->later);
}

void
http_fail(struct http_request *r, int code, const char *text)
{
	struct connection *c = waiting(r);

	if (r->answered)
		send_delta(r, (struct bytes){0}, true, text);
	else if (c != NULL)
		rpc_error(c, &r->later.id, code, "%s", text);
	http_request_free(r);
}

/* The result up to its body. False if nobody waits. */
static struct connection *
result_begin(struct http_request *r, struct jsonw *w, struct buf *text)
{
	struct connection *c = waiting(r);
	struct bytes name, value;
	struct reader fields;

	if (c == NULL)
		return NULL;
	rpc_result_begin(c, &r->later.id, w, text);
	jsonw_open(w, '{');
	jsonw_key(w, "status");
	jsonw_uint(w, r->status);
	jsonw_key(w, "headers");
	jsonw_open(w, '[');
	reader_init(&fields, r->fields.data, r->fields.len);
	while (strings_next(&fields, &name) && strings_next(&fields, &value)) {
		jsonw_open(w, '{');
		jsonw_key(w, "name");
		jsonw_string(w, name);
		jsonw_key(w, "value");
		jsonw_string(w, value);
		jsonw_close(w, '}');
	}
	jsonw_close(w, ']');
	jsonw_key(w, "bodyBase64");
	return c;
}

/* --- messages ------------------------------------------------------------ */

static bool
on_response(struct http_request *r, const struct msg_http_response *m)
{
	struct connection *c;
	struct jsonw w;
	struct buf text;
	size_t count;

	if (r->status != 0 || m->status < 100 || m->status > 999 ||
	    !strings_check(m->headers, SIZE_MAX, HTTP_HEADERS_MAX, &count) ||
	    count % 2 != 0)
		return false;
	r->status = m->status;
	if (buf_put(&r->fields, m->headers.data, m->headers.len) < 0) {
		http_fail(r, RPC_INTERNAL, "out of memory");
		return true;
	}
	if (!r->stream)
		return true;
	/* Nothing of the body may be sent before this. */
	c = result_begin(r, &w, &text);
	if (c != NULL) {
		jsonw_text(&w, "");
		jsonw_close(&w, '}');
		rpc_result_send(c, &w);
	}
	rpc_later_done(r->net, &r->later);
	buf_done(&r->fields);
	r->answered = true;
	return true;
}

static bool
on_chunk(struct http_request *r, const struct msg_http_chunk *m)
{
	/* More than it has credit for: it overshoots by one write at most. */
	if (!r->answered || m->data.len == 0 || r->owed > 2 * HTTP_WINDOW ||
	    m->data.len > 2 * HTTP_WINDOW - r->owed)
		return false;
	send_delta(r, m->data, false, NULL);
	r->body_bytes += m->data.len;
	r->owed += (uint32_t)m->data.len;
	http_grant(r);
	return true;
}

/* Answer with a body that is data. */
static void
answer_data(struct http_request *r, struct bytes data)
{
	struct jsonw w;
	struct buf text;
	struct connection *c = result_begin(r, &w, &text);

	if (c == NULL)
		return;
	jsonw_base64(&w, data);
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
}

/* Answer with a body that is all of the file fd (taken), size bytes, which
 * stay on the message budget until they are sent. */
static void
answer_file(struct http_request *r, int fd, uint64_t size)
{
	struct connection *c = waiting(r);
	struct jsonw w;
	struct buf text;

	if (c == NULL) {
		(void)close(fd);
		return;
	}
	if (c->net->file_answers >= FILE_ANSWERS_MAX ||
	    net_charge(c->net, size) < 0) {
		(void)close(fd);
		rpc_error(c, &r->later.id, RPC_INVALID_REQUEST,
		    "busy: too many large answers wait to be read; read them "
		    "or ask with streamResponse");
		return;
	}
	(void)result_begin(r, &w, &text);
	jsonw_raw(&w, "\"");
	if (jsonw_ok(&w)) {
		connection_queue_file(c, &text, fd, size, "\"}}");
		return;
	}
	buf_done(&text);
	(void)close(fd);
	net_release(c->net, size);
	connection_close(c, 1011, "out of memory");
}

static bool
on_done(struct http_request *r, struct msg *m)
{
	const struct msg_http_done *d = &m->u.http_done;
	int fd = msg_take_fd(m, 0);
	struct stat st;

	if (r->status == 0 || (fd >= 0 && (r->stream || fstat(fd, &st) < 0 ||
					      !S_ISREG(st.st_mode)))) {
		fd_close(&fd);
		return false;
	}
	r->body_bytes += fd >= 0 ? (uint64_t)st.st_size : d->data.len;
	audit(r, "done", &(struct where){d->host, d->port}, (struct bytes){0});
	if (r->stream)
		send_delta(r, (struct bytes){0}, true, NULL);
	else if (fd >= 0)
		answer_file(r, fd, (uint64_t)st.st_size);
	else
		answer_data(r, d->data);
	http_request_free(r);
	return true;
}

static bool
on_failed(struct http_request *r, const struct msg_http_failed *m)
{
	static const struct {
		int code;
		const char *outcome;
	} rows[] = {
	    [HTTP_FAILURE_INVALID] = {RPC_INVALID_PARAMS, "invalid"},
	    [HTTP_FAILURE_BUSY] = {RPC_INVALID_REQUEST, "busy"},
	    [HTTP_FAILURE_BLOCKED] = {RPC_INTERNAL, "blocked"},
	    [HTTP_FAILURE_SEND] = {RPC_INTERNAL, "failed"},
	    [HTTP_FAILURE_BODY] = {RPC_INTERNAL, "failed"},
	};
	scoped_free char *text = bytes_dup(m->text);

	if (m->failure > HTTP_FAILURE_MAX)
		return false;
	audit(r, rows[m->failure].outcome, &(struct where){m->host, m->port},
	    m->rule);
	http_fail(r, rows[m->failure].code,
	    text != NULL ? text : "out of memory");
	return true;
}

bool
http_answer(struct http_request *r, struct msg *m)
{
	switch ((int)m->type) {
	case MSG_HTTP_RESPONSE:
		return on_response(r, &m->u.http_response);
	case MSG_HTTP_CHUNK:
		return on_chunk(r, &m->u.http_chunk);
	case MSG_HTTP_DONE:
		return on_done(r, m);
	case MSG_HTTP_FAILED:
		return on_failed(r, &m->u.http_failed);
	default:
		return false;
	}
}
