#include "net/uri.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"

static bool
is_alpha(uint8_t c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static int
hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static struct bytes
after(struct bytes s, size_t n)
{
	return (struct bytes){.data = s.data + n, .len = s.len - n};
}

/* The standard strips blanks and control characters at both ends. */
static struct bytes
trim(struct bytes s)
{
	while (s.len > 0 && s.data[0] <= ' ')
		s = after(s, 1);
	while (s.len > 0 && s.data[s.len - 1] <= ' ')
		s.len--;
	return s;
}

/* The length of the scheme before its colon, 0 if there is none. */
static size_t
scheme_len(struct bytes s)
{
	if (s.len == 0 || !is_alpha(s.data[0]))
		return 0;
	for (size_t i = 1; i < s.len; i++) {
		uint8_t c = s.data[i];

		if (c == ':')
			return i;
		if (!is_alpha(c) && !(c >= '0' && c <= '9') && c != '+' &&
		    c != '-' && c != '.')
			return 0;
	}
	return 0;
}

static int
refuse_elsewhere(struct bytes uri, struct err *e)
{
	int cut = uri.len > 120 ? 120 : (int)uri.len;

	return err_set(e, EADDRNOTAVAIL, "'%.*s' is invalid on 'linux'", cut,
	    (const char *)uri.data);
}

/* Take "//authority" off the front. Only an empty one and localhost are here.
 */
static int
skip_authority(struct bytes uri, struct bytes *rest, struct err *e)
{
	struct bytes host = after(*rest, 2);
	size_t len = 0;

	while (
	    len < host.len && host.data[len] != '/' && host.data[len] != '\\')
		len++;
	*rest = after(host, len);
	host.len = len;
	if (len > 0 && memchr(host.data, '@', len) != NULL)
		return err_set(e, EINVAL,
		    "user names are not allowed in path URIs");
	if (len == 0 || (len == 9 && strncasecmp((const char *)host.data,
					 "localhost", 9) == 0))
		return 0;
	return refuse_elsewhere(uri, e);
}

/* Whether a segment is "." (1) or ".." (2), dots possibly written %2e. */
static size_t
dots(struct bytes seg)
{
	size_t count = 0, i = 0;

	while (i < seg.len) {
		if (seg.data[i] == '.')
			i++;
		else if (seg.len - i >= 3 &&
			 strncasecmp((const char *)seg.data + i, "%2e", 3) == 0)
			i += 3;
		else
			return 0;
		count++;
	}
	return count <= 2 ? count : 0;
}

static void
pop_segment(struct buf *path)
{
	while (path->len > 0 && path->data[path->len - 1] != '/')
		path->len--;
	if (path->len > 0)
		path->len--;
}

/* Append "/" and the decoded segment. '%' without two digits is literal. */
static int
push_segment(struct bytes uri, struct bytes seg, struct buf *path,
    struct err *e)
{
	int r = buf_put_u8(path, '/');

	for (size_t i = 0; i < seg.len && r == 0; i++) {
		uint8_t c = seg.data[i];
		int hi, lo;

		if (c == '%' && seg.len - i >= 3) {
			hi = hex_value(seg.data[i + 1]);
			lo = hex_value(seg.data[i + 2]);
			if (hi >= 0 && lo >= 0) {
				c = (uint8_t)(hi << 4 | lo);
				i += 2;
			}
		}
		if (c == '\0')
			return err_set(e, EINVAL,
			    "'%.*s' is invalid on 'linux'",
			    uri.len > 120 ? 120 : (int)uri.len,
			    (const char *)uri.data);
		r = buf_put_u8(path, c);
	}
	if (r == -EMSGSIZE)
		return err_set(e, ENAMETOOLONG,
		    "path is too long: at most %d bytes", PATH_LEN_MAX - 1);
	return r < 0 ? err_set(e, ENOMEM, "out of memory") : 0;
}

/* A first segment "C:" or "C|", or any that decodes to a letter and a colon. */
static bool
is_drive(const struct buf *path)
{
	if (path->len < 3 || !is_alpha(path->data[1]))
		return false;
	if (path->data[2] != ':' && path->data[2] != '|')
		return false;
	return path->len == 3 || path->data[3] == '/';
}

static int
resolve(struct bytes uri, struct bytes rest, struct buf *path, struct err *e)
{
	int r;

	while (rest.len > 0) {
		struct bytes seg = rest;
		size_t up;

		seg.len = 0;
		while (seg.len < rest.len && seg.data[seg.len] != '/' &&
		       seg.data[seg.len] != '\\')
			seg.len++;
		rest = after(rest, seg.len < rest.len ? seg.len + 1 : seg.len);
		up = dots(seg);
		if (up == 2)
			pop_segment(path);
		if (seg.len == 0 || up > 0)
			continue;
		r = push_segment(uri, seg, path, e);
		if (r < 0)
			return r;
	}
	if (is_drive(path))
		return refuse_elsewhere(uri, e);
	return 0;
}

/* An encoded slash may leave doubled or trailing slashes and dot segments as
 * plain names; the kernel reads those as usual, so only trailing ones go. */
static int
finish(struct buf *path, struct err *e)
{
	while (path->len > 1 && path->data[path->len - 1] == '/')
		path->len--;
	if (path->len == 0 && buf_put_u8(path, '/') < 0)
		return err_set(e, ENOMEM, "out of memory");
	return 0;
}

int
uri_to_path(struct bytes text, struct buf *path, struct err *e)
{
	struct bytes uri = trim(text), rest;
	size_t scheme = scheme_len(uri);
	int r;

	buf_clear(path);
	if (scheme == 0)
		return err_set(e, EINVAL,
		    "invalid URI: relative URL without a base");
	if (scheme != 4 ||
	    strncasecmp((const char *)uri.data, "file", 4) != 0) {
		int cut = scheme > 64 ? 64 : (int)scheme;

		return err_set(e, EINVAL, "unsupported path URI scheme `%.*s`",
		    cut, (const char *)uri.data);
	}
	if (memchr(uri.data, '#', uri.len) != NULL)
		return err_set(e, EINVAL,
		    "fragments are not allowed in path URIs");
	if (memchr(uri.data, '?', uri.len) != NULL)
		return err_set(e, EINVAL,
		    "query parameters are not allowed in path URIs");
	rest = after(uri, scheme + 1);
	if (rest.len >= 2 && rest.data[0] == '/' && rest.data[1] == '/') {
		r = skip_authority(uri, &rest, e);
		if (r < 0)
			return r;
	}
	r = resolve(uri, rest, path, e);
	return r < 0 ? r : finish(path, e);
}

int
uri_from_path(struct bytes path, struct buf *out)
{
	static const char hex[] = "0123456789ABCDEF";
	int r = buf_put(out, "file://", 7);

	for (size_t i = 0; i < path.len && r == 0; i++) {
		uint8_t c = path.data[i];

		if (is_alpha(c) || (c >= '0' && c <= '9') || c == '/' ||
		    c == '-' || c == '.' || c == '_' || c == '~') {
			r = buf_put_u8(out, c);
		} else {
			uint8_t triple[3] = {'%', (uint8_t)hex[c >> 4],
			    (uint8_t)hex[c & 15]};

			r = buf_put(out, triple, sizeof triple);
		}
	}
	return r;
}
