#include "http/exchange.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/fields.h"
#include "privsep/pack.h"

#define TEXT_MAX 2048

static struct exchange *
exchange_new(struct service *s, const struct msg_http_request *m)
{
	struct exchange *x = calloc(1, sizeof *x);

	if (x == NULL)
		return NULL;
	x->service = s;
	x->number = m->number;
	x->flags = m->flags;
	x->deadline_ms = INT64_MAX;
	x->body_fd = -1;
	x->spool_fd = -1;
	x->credit = HTTP_WINDOW;
	buf_init(&x->fields, 2 * HTTP_HEADERS_MAX);
	buf_init(&x->answer, HTTP_HEADERS_MAX);
	buf_init(&x->body, CHANNEL_INLINE_MAX);
	TAILQ_INSERT_TAIL(&s->exchanges, x, link);
	s->exchange_count++;
	return x;
}

static void
wipe(char **secret)
{
	if (*secret != NULL)
		explicit_bzero(*secret, strlen(*secret));
	free(*secret);
	*secret = NULL;
}

void
exchange_free(struct exchange *x)
{
	hop_end(x);
	url_done(&x->url);
	url_done(&x->next);
	wipe(&x->user);
	wipe(&x->password);
	free(x->method);
	free(x->location);
	if (x->fields.data != NULL)
		explicit_bzero(x->fields.data, x->fields.len);
	buf_done(&x->fields);
	buf_done(&x->answer);
	buf_done(&x->body);
	fd_close(&x->body_fd);
	fd_close(&x->spool_fd);
	TAILQ_REMOVE(&x->service->exchanges, x, link);
	x->service->exchange_count--;
	free(x);
}

struct exchange *
exchange_find(struct service *s, uint32_t number)
{
	struct exchange *x;

	TAILQ_FOREACH (x, &s->exchanges, link)
		if (x->number == number)
			return x;
	return NULL;
}

static void
send_failed(struct service *s, const struct msg_http_failed *m)
{
	service_sent(s, channel_send_http_failed(s->channel, m, NULL, 0));
}

void
exchange_fail(struct exchange *x, enum http_failure failure, const char *format,
    ...)
{
	struct msg_http_failed m = {.number = x->number,
	    .failure = (uint32_t)failure,
	    .host = bytes_of(x->url.target.host),
	    .port = x->url.target.port};
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	m.text = bytes_of(text);
	if (x->refusal.what != NULL)
		m.rule = bytes_of(x->refusal.what);
	send_failed(x->service, &m);
	exchange_free(x);
}

/* --- the beginning ------------------------------------------------------- */

static int
take_body(struct exchange *x, struct msg *m)
{
	struct stat st;

	x->body_fd = msg_take_fd(m, 0);
	if (x->body_fd < 0)
		return 0;
	if (fstat(x->body_fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > (off_t)RPC_MESSAGE_MAX)
		return -EPROTO;
	x->body_len = (uint64_t)st.st_size;
	return 0;
}

/* The credentials of the URL go to its origin, also after redirects. */
static int
take_credentials(struct exchange *x)
{
	const char *user = x->url.user, *password = x->url.password;

	if (user == NULL && password == NULL)
		return 0;
	x->user = strdup(user != NULL ? user : "");
	x->password = strdup(password != NULL ? password : "");
	return x->user == NULL || x->password == NULL ? -ENOMEM : 0;
}

/* Returns 0, -EPROTO, or 1 when it was answered. */
static int
take_url(struct exchange *x, struct bytes text)
{
	scoped_free char *copy = bytes_dup(text);
	struct err e = {0};
	int r = -ENOMEM;

	if (copy != NULL && !bytes_has_nul(text))
		r = url_parse(copy, NULL, &x->url, &e);
	else if (copy != NULL)
		r = err_set(&e, EINVAL, "invalid character");
	if (r == 0)
		r = take_credentials(x);
	if (r == 0)
		return 0;
	if (r == -EPROTONOSUPPORT)
		exchange_fail(x, HTTP_FAILURE_INVALID,
		    "http/request only supports http and https URLs, got %s",
		    e.text);
	else if (r == -EINVAL)
		exchange_fail(x, HTTP_FAILURE_INVALID,
		    "http/request url is invalid: %s", e.text);
	else
		exchange_fail(x, HTTP_FAILURE_BUSY, "out of memory");
	return 1;
}

/* Returns 0, -EPROTO, or 1 when it was answered. */
static int
take_request(struct exchange *x, const struct msg_http_request *m)
{
	char text[FIELDS_TEXT_MAX] = "out of memory";
	int r;

	if (!field_is_token(m->method)) {
		exchange_fail(x, HTTP_FAILURE_INVALID,
		    "http/request method is invalid: invalid HTTP method");
		return 1;
	}
	x->method = bytes_dup(m->method);
	r = x->method == NULL ? -ENOMEM : take_url(x, m->url);
	if (r > 0)
		return r;
	if (r == 0)
		r = fields_take(&x->service->config, m->headers, &x->fields,
		    text);
	if (r == 0 || r == -EPROTO)
		return r;
	if (r == -EMSGSIZE)
		(void)snprintf(text, sizeof text,
		    "http/request headers are too large: at most %u bytes",
		    HTTP_HEADERS_MAX);
	exchange_fail(x,
	    r == -ENOMEM ? HTTP_FAILURE_BUSY : HTTP_FAILURE_INVALID, "%s",
	    text);
	return 1;
}

static void
set_deadline(struct exchange *x, uint64_t timeout_ms)
{
	int64_t now = clock_ms();

	if (timeout_ms < (uint64_t)(INT64_MAX - now))
		x->deadline_ms = now + (int64_t)timeout_ms;
}

int
exchange_start(struct service *s, struct msg *m)
{
	const struct msg_http_request *q = &m->u.http_request;
	struct exchange *x;
	uint32_t max = s->config.policy.max_concurrent;
	int r;

	if (exchange_find(s, q->number) != NULL)
		return -EPROTO;
	x = exchange_new(s, q);
	if (x == NULL)
		return -EPROTO;
	r = take_body(x, m);
	if (r == 0)
		r = take_request(x, q);
	if (r != 0)
		return r > 0 ? 0 : r;
	set_deadline(x, q->timeout_ms);
	if (s->exchange_count > max)
		exchange_fail(x, HTTP_FAILURE_BUSY,
		    "busy: %u http requests of this session are under way, "
		    "which is the limit (http.max_concurrent); try again later",
		    max);
	else if (q->timeout_ms == 0)
		exchange_expire(x);
	else
		hop_start(x);
	return 0;
}

/* --- between hops -------------------------------------------------------- */

/* What browsers do: 307 and 308 repeat the request, others turn it into a GET
 * without a body. */
static int
change_method(struct exchange *x)
{
	char *get;

	if (x->status == 307 || x->status == 308)
		return 0;
	x->no_body = true;
	if (strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0)
		return 0;
	get = strdup("GET");
	if (get == NULL)
		return -ENOMEM;
	free(x->method);
	x->method = get;
	return 0;
}

/* Once away from the client's origin, what was meant for it is not sent any
 * more, not even if a later hop leads back. */
static int
change_url(struct exchange *x)
{
	bool own = x->next.user != NULL || x->next.password != NULL;

	if (!url_same_origin(&x->url, &x->next)) {
		x->crossed = true;
		wipe(&x->user);
		wipe(&x->password);
	}
	url_done(&x->url);
	x->url = x->next;
	x->next = (struct url){0};
	if (!own)
		return 0;
	wipe(&x->user);
	wipe(&x->password);
	return take_credentials(x);
}

static void
follow(struct exchange *x)
{
	hop_end(x);
	if (x->redirects == x->service->config.policy.max_redirects) {
		exchange_fail(x, HTTP_FAILURE_SEND,
		    "http/request failed: too many redirects");
		return;
	}
	x->redirects++;
	if (change_method(x) < 0 || change_url(x) < 0) {
		exchange_fail(x, HTTP_FAILURE_BUSY, "out of memory");
		return;
	}
	x->redirecting = false;
	buf_clear(&x->answer);
	hop_start(x);
}

/* --- the end ------------------------------------------------------------- */

static void
fail_for(struct exchange *x, const char *reason)
{
	log_info("http_failed number=%u host=%s port=%u reason=\"%s\"",
	    x->number, x->url.target.host, x->url.target.port, reason);
	if (x->answered)
		exchange_fail(x, HTTP_FAILURE_BODY,
		    "failed to read http/request response body: %s", reason);
	else
		exchange_fail(x, HTTP_FAILURE_SEND,
		    "http/request failed: error sending request for url "
		    "(%.1500s)",
		    x->url.text);
}

void
exchange_expire(struct exchange *x)
{
	fail_for(x, "operation timed out");
}

static void
fail_too_large(struct exchange *x)
{
	if (!x->answered)
		exchange_fail(x, HTTP_FAILURE_SEND,
		    "http/request failed: the headers of the response are "
		    "larger than %u bytes",
		    HTTP_HEADERS_MAX);
	else
		exchange_fail(x, HTTP_FAILURE_BODY,
		    "failed to read http/request response body: it is larger "
		    "than %llu bytes (http.max_body); streamResponse has no "
		    "such limit",
		    (unsigned long long)x->service->config.policy.max_body);
}

void
exchange_hop_done(struct exchange *x, CURLcode code)
{
	if (x->refused)
		hop_blocked(x, &x->refusal);
	else if (x->misled)
		exchange_fail(x, HTTP_FAILURE_SEND,
		    "http/request failed: error following redirect for url "
		    "(%.1500s)",
		    x->url.text);
	else if (x->too_large)
		fail_too_large(x);
	else if (x->redirecting)
		follow(x);
	else if (code == CURLE_OK && x->answered)
		response_finish(x);
	else
		fail_for(x, code == CURLE_OK ? "no response"
					     : curl_easy_strerror(code));
}

void
exchange_credit(struct exchange *x, uint32_t len)
{
	x->credit += len;
	if (!x->paused || x->credit <= 0)
		return;
	x->paused = false;
	/* Calls back at once with what it held. */
	if (curl_easy_pause(x->easy, CURLPAUSE_CONT) != CURLE_OK)
		fail_for(x, "the transfer cannot be resumed");
}
