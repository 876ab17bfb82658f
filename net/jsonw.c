#include "net/jsonw.h"

#include <inttypes.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "net/uri.h"

void
jsonw_init(struct jsonw *w, struct buf *b)
{
	*w = (struct jsonw){.b = b};
}

bool
jsonw_ok(const struct jsonw *w)
{
	return !w->failed;
}

static void
put(struct jsonw *w, const void *src, size_t len)
{
	if (!w->failed && buf_put(w->b, src, len) < 0)
		w->failed = true;
}

/* What goes in front of every value. */
static void
value(struct jsonw *w)
{
	if (w->comma)
		put(w, ",", 1);
	w->comma = true;
}

void
jsonw_open(struct jsonw *w, char bracket)
{
	value(w);
	put(w, &bracket, 1);
	w->comma = false;
}

void
jsonw_close(struct jsonw *w, char bracket)
{
	put(w, &bracket, 1);
	w->comma = true;
}

void
jsonw_key(struct jsonw *w, const char *key)
{
	value(w);
	put(w, "\"", 1);
	put(w, key, strlen(key));
	put(w, "\":", 2);
	w->comma = false;
}

static void
put_escape(struct jsonw *w, uint8_t c)
{
	static const char hex[] = "0123456789abcdef";
	char u[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

	switch (c) {
	case '"':
		put(w, "\\\"", 2);
		break;
	case '\\':
		put(w, "\\\\", 2);
		break;
	case '\n':
		put(w, "\\n", 2);
		break;
	case '\r':
		put(w, "\\r", 2);
		break;
	case '\t':
		put(w, "\\t", 2);
		break;
	default:
		put(w, u, sizeof u);
	}
}

void
jsonw_string(struct jsonw *w, struct bytes s)
{
	size_t at = 0, run = 0;

	value(w);
	put(w, "\"", 1);
	while (at < s.len) {
		uint8_t c = s.data[at];
		size_t n = utf8_sequence(s.data + at, s.len - at);

		if (n > 0 && c >= 0x20 && c != '"' && c != '\\') {
			at += n;
			continue;
		}
		put(w, s.data + run, at - run);
		if (n == 0)
			put(w, "\xef\xbf\xbd", 3);
		else
			put_escape(w, c);
		run = ++at;
	}
	if (at > run)
		put(w, s.data + run, at - run);
	put(w, "\"", 1);
}

void
jsonw_text(struct jsonw *w, const char *s)
{
	jsonw_string(w, bytes_of(s));
}

void
jsonw_int(struct jsonw *w, int64_t v)
{
	value(w);
	if (!w->failed && buf_printf(w->b, "%" PRId64, v) < 0)
		w->failed = true;
}

void
jsonw_uint(struct jsonw *w, uint64_t v)
{
	value(w);
	if (!w->failed && buf_printf(w->b, "%" PRIu64, v) < 0)
		w->failed = true;
}

void
jsonw_bool(struct jsonw *w, bool v)
{
	value(w);
	if (v)
		put(w, "true", 4);
	else
		put(w, "false", 5);
}

void
jsonw_null(struct jsonw *w)
{
	value(w);
	put(w, "null", 4);
}

void
jsonw_raw(struct jsonw *w, const char *s)
{
	value(w);
	put(w, s, strlen(s));
}

void
jsonw_base64(struct jsonw *w, struct bytes data)
{
	size_t len = base64_encoded_len(data.len);

	value(w);
	put(w, "\"", 1);
	if (w->failed || buf_reserve(w->b, len + 1) < 0) {
		w->failed = true;
		return;
	}
	w->b->len +=
	    base64_encode((char *)w->b->data + w->b->len, data.data, data.len);
	put(w, "\"", 1);
}

void
jsonw_file_uri(struct jsonw *w, struct bytes path)
{
	value(w);
	put(w, "\"", 1);
	if (!w->failed && uri_from_path(path, w->b) < 0)
		w->failed = true;
	put(w, "\"", 1);
}
