/* What comes back: headers, and a body that is streamed or kept. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "base/num.h"
#include "http/exchange.h"
#include "http/fields.h"
#include "privsep/pack.h"

static bool
is_named(struct bytes name, const char *want)
{
	return name.len == strlen(want) &&
	       strncasecmp((const char *)name.data, want, name.len) == 0;
}

static struct bytes
trim(struct bytes s)
{
	while (s.len > 0 && strchr(" \t\r\n", s.data[s.len - 1]) != NULL)
		s.len--;
	while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t')) {
		s.data++;
		s.len--;
	}
	return s;
}

/* --- headers ------------------------------------------------------------- */

static int
put_lower(struct buf *out, struct bytes name)
{
	size_t at;
	int r = buf_put_string(out, name.data, name.len);

	if (r < 0)
		return r;
	at = out->len - name.len;
	for (; at < out->len; at++)
		out->data[at] = (uint8_t)tolower(out->data[at]);
	return 0;
}

/* One "Name: value" line. */
static int
take_field(struct exchange *x, struct bytes line)
{
	const uint8_t *colon = memchr(line.data, ':', line.len);
	struct bytes name, value;
	size_t before = x->answer.len;
	int r;

	if (colon == NULL)
		return 0;
	name = (struct bytes){.data = line.data,
	    .len = (size_t)(colon - line.data)};
	value = trim(
	    (struct bytes){.data = colon + 1, .len = line.len - name.len - 1});
	if (!field_is_token(name) || !field_is_ascii(value))
		return 0;
	if (is_named(name, "location") && x->location == NULL)
		x->location = bytes_dup(value);
	if (is_named(name, "content-encoding") && value.len > 0 &&
	    !is_named(value, "identity"))
		x->decoded = true;
	r = put_lower(&x->answer, name);
	if (r == 0)
		r = buf_put_string(&x->answer, value.data, value.len);
	if (r < 0)
		x->answer.len = before;
	return r;
}

/* Without what was true of the body only before it was decoded. */
static int
put_decoded(const struct exchange *x, struct buf *out)
{
	struct bytes name, value;
	struct reader r;
	int rc = 0;

	reader_init(&r, x->answer.data, x->answer.len);
	while (rc == 0 && strings_next(&r, &name) && strings_next(&r, &value)) {
		if (is_named(name, "content-encoding") ||
		    is_named(name, "content-length"))
			continue;
		rc = buf_put_string(out, name.data, name.len);
		if (rc == 0)
			rc = buf_put_string(out, value.data, value.len);
	}
	return rc;
}

static int
send_response(struct exchange *x)
{
	scoped_buf decoded = {.max = HTTP_HEADERS_MAX};
	struct msg_http_response m = {.number = x->number,
	    .status = (uint32_t)x->status,
	    .headers = {.data = x->answer.data, .len = x->answer.len}};
	int r = 0;

	if (x->decoded) {
		r = put_decoded(x, &decoded);
		m.headers =
		    (struct bytes){.data = decoded.data, .len = decoded.len};
	}
	if (r < 0)
		return r;
	x->answered = true;
	service_sent(x->service,
	    channel_send_http_response(x->service->channel, &m, NULL, 0));
	return 0;
}

/* Whether this answer is a redirect that is to be followed; x->next is then
 * where to. One to a place that is no URL at all is the answer itself. */
static bool
is_followed(struct exchange *x)
{
	struct err e = {0};
	bool redirect = x->status == 301 || x->status == 302 ||
			x->status == 303 || x->status == 307 ||
			x->status == 308;
	int r;

	if (!redirect || (x->flags & HTTP_FLAG_FOLLOW) == 0 ||
	    x->location == NULL)
		return false;
	url_done(&x->next);
	r = url_parse(x->location, &x->url, &x->next, &e);
	x->misled = r == -EPROTONOSUPPORT;
	return r == 0;
}

static bool
end_of_headers(struct exchange *x)
{
	/* 1xx: another one follows. */
	if (x->status < 200)
		return true;
	x->redirecting = is_followed(x);
	x->received = 0; /* of the body now */
	if (x->misled)
		return false;
	return x->redirecting || send_response(x) == 0;
}

static void
status_line(struct exchange *x)
{
	x->status = 0;
	(void)curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->status);
	buf_clear(&x->answer);
	free(x->location);
	x->location = NULL;
	x->decoded = false;
	x->received = 0;
}

static size_t
on_header(char *data, size_t size, size_t count, void *arg)
{
	struct exchange *x = arg;
	struct bytes line = {.data = (const uint8_t *)data,
	    .len = size * count};
	bool ok = true;

	/* After the body there may be trailers, of which nobody is told. */
	if (x->answered || x->redirecting)
		return line.len;
	x->received += line.len;
	if (x->received > HTTP_HEADERS_MAX)
		ok = false;
	else if (line.len >= 5 && memcmp(line.data, "HTTP/", 5) == 0)
		status_line(x);
	else if (trim(line).len == 0)
		ok = end_of_headers(x);
	else
		ok = take_field(x, line) == 0;
	if (!ok && !x->misled)
		x->too_large = true;
	return ok ? line.len : 0;
}

/* --- the body ------------------------------------------------------------ */

static bool
write_all(int fd, struct bytes s)
{
	while (s.len > 0) {
		ssize_t n = write(fd, s.data, s.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		s.data += n;
		s.len -= (size_t)n;
	}
	return true;
}

/* Keep data: in memory while a record can hold it all, then in a file. */
static bool
keep(struct exchange *x, struct bytes data)
{
	if (x->spool_fd < 0 && data.len <= x->body.max - x->body.len)
		return buf_put(&x->body, data.data, data.len) == 0;
	if (x->spool_fd < 0) {
		x->spool_fd = memfd_create("body", MFD_CLOEXEC);
		if (x->spool_fd < 0 ||
		    !write_all(x->spool_fd,
			(struct bytes){x->body.data, x->body.len}))
			return false;
		buf_done(&x->body);
	}
	return write_all(x->spool_fd, data);
}

static size_t
on_whole(struct exchange *x, struct bytes data)
{
	uint64_t max = x->service->config.policy.max_body;

	if (data.len > max || x->received > max - data.len) {
		x->too_large = true;
		return 0;
	}
	x->received += data.len;
	return keep(x, data) ? data.len : 0;
}

static size_t
on_stream(struct exchange *x, struct bytes data)
{
	struct msg_http_chunk m = {.number = x->number};
	struct bytes left = data;

	if (x->credit <= 0) {
		x->paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	while (left.len > 0 && !x->service->broken) {
		m.data = left;
		if (m.data.len > CHANNEL_INLINE_MAX)
			m.data.len = CHANNEL_INLINE_MAX;
		service_sent(x->service,
		    channel_send_http_chunk(x->service->channel, &m, NULL, 0));
		left.data += m.data.len;
		left.len -= m.data.len;
	}
	x->credit -= (int64_t)data.len;
	return data.len;
}

static size_t
on_body(char *data, size_t size, size_t count, void *arg)
{
	struct exchange *x = arg;
	struct bytes piece = {.data = (const uint8_t *)data,
	    .len = size * count};

	/* libcurl ends headers at a line that only begins with a carriage
	 * return: then net does not know of the response. */
	if (!x->redirecting && !x->answered)
		return 0;
	if (!x->redirecting)
		return x->flags & HTTP_FLAG_STREAM ? on_stream(x, piece)
						   : on_whole(x, piece);
	/* Reading a short one to its end keeps the connection for later. */
	x->received += piece.len;
	return x->received > REDIRECT_BODY_MAX ? 0 : piece.len;
}

CURLcode
response_listen(struct exchange *x)
{
	CURLcode code =
	    curl_easy_setopt(x->easy, CURLOPT_HEADERFUNCTION, on_header);

	if (code == CURLE_OK)
		code = curl_easy_setopt(x->easy, CURLOPT_HEADERDATA, x);
	if (code == CURLE_OK)
		code =
		    curl_easy_setopt(x->easy, CURLOPT_WRITEFUNCTION, on_body);
	if (code == CURLE_OK)
		code = curl_easy_setopt(x->easy, CURLOPT_WRITEDATA, x);
	return code;
}

void
response_finish(struct exchange *x)
{
	const struct msg_http_done m = {.number = x->number,
	    .host = bytes_of(x->url.target.host),
	    .port = x->url.target.port,
	    .data = {.data = x->body.data, .len = x->body.len}};
	int fd = fd_take(&x->spool_fd);

	service_sent(x->service,
	    channel_send_http_done(x->service->channel, &m, &fd, fd >= 0));
	exchange_free(x);
}
