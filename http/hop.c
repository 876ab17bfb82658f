/* One hop of an exchange: judge, resolve, judge, connect where it was judged.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/log.h"
#include "http/exchange.h"
#include "http/fields.h"

/* One read of a connection: what a compressed body swells to in one step is
 * held while the client does not read. */
#define READ_SIZE 16384L

void
hop_blocked(struct exchange *x, const struct refusal *why)
{
	const char *host = x->url.target.host;

	x->refusal = *why;
	log_info("http_blocked number=%u host=%s port=%u rule=\"%s\"",
	    x->number, host, x->url.target.port, why->what);
	exchange_fail(x, HTTP_FAILURE_BLOCKED,
	    "Blocked hostname or private/internal IP in sandbox http/request: "
	    "%s (%s; the policy's %s decides)",
	    host, why->what, why->key);
}

void
hop_end(struct exchange *x)
{
	if (x->lookup != NULL)
		lookup_forget(x->lookup);
	x->lookup = NULL;
	if (x->easy != NULL) {
		(void)curl_multi_remove_handle(x->service->multi, x->easy);
		curl_easy_cleanup(x->easy);
	}
	x->easy = NULL;
	curl_slist_free_all(x->headers);
	curl_slist_free_all(x->resolve);
	x->headers = NULL;
	x->resolve = NULL;
	x->paused = false;
}

/* --- sockets ------------------------------------------------------------- */

static bool
address_of(const struct sockaddr *sa, struct http_address *out, uint16_t *port)
{
	const void *any = sa;

	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = any;

		out->len = 4;
		memcpy(out->bytes, &in->sin_addr, 4);
		*port = ntohs(in->sin_port);
		return true;
	}
	if (sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = any;

		out->len = 16;
		memcpy(out->bytes, &in6->sin6_addr, 16);
		*port = ntohs(in6->sin6_port);
		return true;
	}
	return false;
}

static bool
same_address(const struct http_address *a, const struct http_address *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static bool
was_judged(const struct exchange *x, const struct http_address *a)
{
	for (size_t i = 0; i < x->address_count; i++)
		if (same_address(&x->addresses[i], a))
			return true;
	return false;
}

/* The last word on where a connection goes, whatever libcurl has looked up or
 * kept: the very address that connect(2) is about to get. */
static bool
judge_socket(struct exchange *x, const struct sockaddr *sa)
{
	const struct config *c = &x->service->config;
	struct http_address a;
	uint16_t port;

	x->refusal =
	    (struct refusal){.what = "unjudged address", .key = "http.allow"};
	if (!address_of(sa, &a, &port))
		return false;
	if (x->proxied)
		return port == c->proxy.port &&
		       same_address(&a, &c->proxy.address);
	return port == x->url.target.port && was_judged(x, &a) &&
	       target_judge_address(&c->guard, &x->url.target, &a, &x->refusal);
}

static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct exchange *x = arg;

	if (purpose != CURLSOCKTYPE_IPCXN || !judge_socket(x, &to->addr)) {
		x->refused = true;
		return CURL_SOCKET_BAD;
	}
	x->refusal = (struct refusal){0};
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* --- the request --------------------------------------------------------- */

static size_t
read_body(char *out, size_t size, size_t count, void *arg)
{
	struct exchange *x = arg;
	ssize_t n;

	do
		n = pread(x->body_fd, out, size * count, (off_t)x->body_at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return CURL_READFUNC_ABORT;
	x->body_at += (uint64_t)n;
	return (size_t)n;
}

static int
seek_body(void *arg, curl_off_t offset, int origin)
{
	struct exchange *x = arg;

	if (origin != SEEK_SET || offset < 0)
		return CURL_SEEKFUNC_CANTSEEK;
	x->body_at = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

/* The first error of a row of calls sticks. */
#define SET(option, value)                                                     \
	do {                                                                   \
		if (code == CURLE_OK)                                          \
			code = curl_easy_setopt(x->easy, CURLOPT_##option,     \
			    value);                                            \
	} while (0)

static bool
has_body(const struct exchange *x)
{
	return x->body_fd >= 0 && !x->no_body;
}

/* Methods whose requests say that their body is empty. */
static bool
tells_empty_body(const char *method)
{
	return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
	       strcmp(method, "PATCH") == 0;
}

static CURLcode
set_method(struct exchange *x)
{
	CURLcode code = CURLE_OK;

	if (strcmp(x->method, "HEAD") == 0) {
		SET(NOBODY, 1L);
		return code;
	}
	SET(HTTPGET, 1L);
	if (has_body(x) || tells_empty_body(x->method)) {
		SET(POST, 1L);
		SET(READFUNCTION, read_body);
		SET(READDATA, x);
		SET(SEEKFUNCTION, seek_body);
		SET(SEEKDATA, x);
		SET(POSTFIELDSIZE_LARGE,
		    has_body(x) ? (curl_off_t)x->body_len : 0);
	}
	SET(CUSTOMREQUEST, x->method);
	return code;
}

static CURLcode
set_headers(struct exchange *x)
{
	const struct fields_scope scope = {.crossed = x->crossed,
	    .no_body = x->no_body};
	struct bytes pairs = {.data = x->fields.data, .len = x->fields.len};
	CURLcode code = CURLE_OK;

	/* libcurl's own ideas of a POST; the client's come later and win. */
	x->headers = curl_slist_append(NULL, "Expect:");
	if (x->headers == NULL || fields_list(pairs, &scope, &x->headers) < 0)
		return CURLE_OUT_OF_MEMORY;
	if (!fields_have(pairs, "content-type") || x->no_body) {
		struct curl_slist *more =
		    curl_slist_append(x->headers, "Content-Type:");

		if (more == NULL)
			return CURLE_OUT_OF_MEMORY;
	}
	SET(HTTPHEADER, x->headers);
	return code;
}

static CURLcode
set_credentials(struct exchange *x)
{
	CURLcode code = CURLE_OK;

	if (x->user == NULL)
		return code;
	SET(HTTPAUTH, CURLAUTH_BASIC);
	SET(USERNAME, x->user);
	SET(PASSWORD, x->password);
	return code;
}

static CURLcode
set_route(struct exchange *x)
{
	CURLcode code = CURLE_OK;

	/* An empty name: no proxy, whatever the environment says. */
	SET(PROXY, x->proxied ? x->service->config.proxy_text : "");
	SET(NOPROXY, "");
	SET(SUPPRESS_CONNECT_HEADERS, 1L);
	SET(OPENSOCKETFUNCTION, open_socket);
	SET(OPENSOCKETDATA, x);
	SET(RESOLVE, x->resolve);
	return code;
}

static CURLcode
set_tls(struct exchange *x)
{
	struct curl_blob ca = {.data = x->service->ca.data,
	    .len = x->service->ca.len,
	    .flags = CURL_BLOB_NOCOPY};
	CURLcode code = CURLE_OK;

	SET(CAPATH, NULL);
	SET(CAINFO, NULL);
	if (ca.len > 0)
		SET(CAINFO_BLOB, &ca);
	SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	return code;
}

static CURLcode
set_all(struct exchange *x)
{
	CURLcode code = CURLE_OK;

	SET(PRIVATE, x);
	SET(CURLU, x->url.parts);
	SET(PROTOCOLS_STR, "http,https");
	SET(FOLLOWLOCATION, 0L);
	SET(NOSIGNAL, 1L);
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(TCP_KEEPALIVE, 1L);
	SET(BUFFERSIZE, READ_SIZE);
	SET(ACCEPT_ENCODING, x->service->has_zstd ? "zstd,gzip" : "gzip");
	if (code == CURLE_OK)
		code = set_method(x);
	if (code == CURLE_OK)
		code = set_headers(x);
	if (code == CURLE_OK)
		code = set_credentials(x);
	if (code == CURLE_OK)
		code = set_route(x);
	if (code == CURLE_OK)
		code = set_tls(x);
	return code == CURLE_OK ? response_listen(x) : code;
}

static void
perform(struct exchange *x)
{
	CURLcode code = CURLE_OUT_OF_MEMORY;

	x->body_at = 0;
	x->easy = curl_easy_init();
	if (x->easy != NULL)
		code = set_all(x);
	if (code == CURLE_OK &&
	    curl_multi_add_handle(x->service->multi, x->easy) != CURLM_OK)
		code = CURLE_OUT_OF_MEMORY;
	if (code != CURLE_OK)
		exchange_hop_done(x, code);
}

/* --- addresses ----------------------------------------------------------- */

/* What libcurl takes for the answer to its look-up: "+HOST:PORT:A,B"; the
 * plus has it forget the answer in time. */
static int
pin(struct exchange *x)
{
	scoped_buf line = {.max = 4096};
	char text[TARGET_TEXT_MAX];
	int r = buf_printf(&line, "+%s:%u:", x->url.target.host,
	    x->url.target.port);

	for (size_t i = 0; i < x->address_count && r == 0; i++) {
		bool six = x->addresses[i].len == 16;

		target_text(&x->addresses[i], text);
		r = buf_printf(&line, six ? "%s[%s]" : "%s%s", i > 0 ? "," : "",
		    text);
	}
	if (r == 0)
		r = buf_put_u8(&line, 0);
	if (r == 0)
		x->resolve = curl_slist_append(NULL, (const char *)line.data);
	return x->resolve == NULL ? -ENOMEM : 0;
}

/* Every address must pass: one that may be used must not hide one that may
 * not. */
static void
use_addresses(struct exchange *x, const struct http_address *addresses,
    size_t count)
{
	struct refusal why;

	for (size_t i = 0; i < count; i++)
		if (!target_judge_address(&x->service->config.guard,
			&x->url.target, &addresses[i], &why)) {
			hop_blocked(x, &why);
			return;
		}
	memcpy(x->addresses, addresses, count * sizeof addresses[0]);
	x->address_count = count;
	if (!x->url.target.literal && pin(x) < 0)
		exchange_fail(x, HTTP_FAILURE_BUSY, "out of memory");
	else
		perform(x);
}

static void
on_lookup(void *owner, const struct http_address *addresses, size_t count,
    const char *why)
{
	struct exchange *x = owner;

	x->lookup = NULL;
	if (count > 0) {
		use_addresses(x, addresses, count);
		return;
	}
	log_info("http_unresolved number=%u host=%s reason=\"%s\"", x->number,
	    x->url.target.host, why);
	exchange_hop_done(x, CURLE_COULDNT_RESOLVE_HOST);
}

static bool
is_loopback(const struct target *t)
{
	static const struct http_address six = {.bytes = {[15] = 1}, .len = 16};

	return t->literal &&
	       (t->address.len == 4 ? t->address.bytes[0] == 127
				    : same_address(&t->address, &six));
}

void
hop_start(struct exchange *x)
{
	const struct config *c = &x->service->config;
	const struct target *t = &x->url.target;
	struct refusal why;

	x->address_count = 0;
	x->proxied = c->has_proxy && !is_loopback(t);
	if (!target_judge(&c->guard, t, &why)) {
		hop_blocked(x, &why);
		return;
	}
	if (t->literal) {
		use_addresses(x, &t->address, 1);
		return;
	}
	if (x->proxied) {
		/* The proxy looks the name up. */
		if (target_judge_unresolved(&c->guard, t, &why))
			perform(x);
		else
			hop_blocked(x, &why);
		return;
	}
	x->lookup = resolver_find(x->service->resolver, t->host, on_lookup, x);
	if (x->lookup == NULL)
		exchange_fail(x, HTTP_FAILURE_BUSY,
		    "busy: too many names are being looked up; try again "
		    "later");
}
