#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"

#define BUF_CAP_MIN 64 /* bytes of a first allocation */

void
buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

void
buf_done(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = 0;
	b->cap = 0;
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
}

/* Make the allocation want bytes at least, which may be one past b->max. */
static int
grow(struct buf *b, size_t want)
{
	size_t cap = b->cap ? b->cap : BUF_CAP_MIN;
	uint8_t *data;

	if (want <= b->cap)
		return 0;
	while (cap < want)
		if (ckd_mul(&cap, cap, (size_t)2))
			return -ENOMEM;
	if (cap > b->max)
		cap = want > b->max ? want : b->max;
	data = realloc(b->data, cap);
	if (data == NULL)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

int
buf_reserve(struct buf *b, size_t extra)
{
	size_t want;

	if (ckd_add(&want, b->len, extra) || want > b->max)
		return -EMSGSIZE;
	return grow(b, want);
}

int
buf_put(struct buf *b, const void *src, size_t len)
{
	int r = buf_reserve(b, len);

	if (r < 0)
		return r;
	if (len > 0)
		memcpy(b->data + b->len, src, len);
	b->len += len;
	return 0;
}

int
buf_put_u8(struct buf *b, uint8_t v)
{
	return buf_put(b, &v, sizeof v);
}

int
buf_put_u32(struct buf *b, uint32_t v)
{
	uint8_t raw[4];

	for (size_t i = 0; i < sizeof raw; i++)
		raw[i] = (uint8_t)(v >> (8 * i));
	return buf_put(b, raw, sizeof raw);
}

int
buf_put_u64(struct buf *b, uint64_t v)
{
	uint8_t raw[8];

	for (size_t i = 0; i < sizeof raw; i++)
		raw[i] = (uint8_t)(v >> (8 * i));
	return buf_put(b, raw, sizeof raw);
}

int
buf_put_string(struct buf *b, const void *src, size_t len)
{
	size_t all;
	uint32_t n;
	int r;

	if (narrow_u32(&n, len) || ckd_add(&all, len, sizeof n))
		return -EMSGSIZE;
	r = buf_reserve(b, all);
	if (r < 0)
		return r;
	r = buf_put_u32(b, n);
	return r < 0 ? r : buf_put(b, src, len);
}

int
buf_put_cstring(struct buf *b, const char *s)
{
	return buf_put_string(b, s, strlen(s));
}

int
buf_printf(struct buf *b, const char *format, ...)
{
	va_list ap;
	int n, r;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n < 0)
		return -EINVAL;
	/* The NUL that vsnprintf adds counts only while it is written. */
	r = buf_reserve(b, (size_t)n);
	if (r == 0)
		r = grow(b, b->len + (size_t)n + 1);
	if (r < 0)
		return r;
	va_start(ap, format);
	(void)vsnprintf((char *)b->data + b->len, (size_t)n + 1, format, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

void
buf_consume(struct buf *b, size_t len)
{
	if (len >= b->len) {
		b->len = 0;
		return;
	}
	memmove(b->data, b->data + len, b->len - len);
	b->len -= len;
}

void
reader_init(struct reader *r, const void *data, size_t len)
{
	*r = (struct reader){.at = data, .left = len};
}

static bool
take(struct reader *r, size_t len, const uint8_t **out)
{
	if (r->failed || len > r->left) {
		r->failed = true;
		return false;
	}
	*out = r->at;
	/* An empty reader may stand on NULL, which must not be added to. */
	if (len > 0)
		r->at += len;
	r->left -= len;
	return true;
}

bool
buf_get_u8(struct reader *r, uint8_t *out)
{
	const uint8_t *p;

	if (!take(r, sizeof *out, &p))
		return false;
	*out = *p;
	return true;
}

bool
buf_get_u32(struct reader *r, uint32_t *out)
{
	const uint8_t *p;

	if (!take(r, sizeof *out, &p))
		return false;
	*out = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
	return true;
}

bool
buf_get_u64(struct reader *r, uint64_t *out)
{
	const uint8_t *p;
	uint64_t v = 0;

	if (!take(r, sizeof *out, &p))
		return false;
	for (size_t i = 0; i < sizeof v; i++)
		v |= (uint64_t)p[i] << (8 * i);
	*out = v;
	return true;
}

bool
buf_get_string(struct reader *r, struct bytes *out, size_t max)
{
	const uint8_t *p;
	uint32_t len;

	if (!buf_get_u32(r, &len))
		return false;
	if (len > max) {
		r->failed = true;
		return false;
	}
	if (!take(r, len, &p))
		return false;
	*out = (struct bytes){.data = p, .len = len};
	return true;
}

bool
buf_get_end(const struct reader *r)
{
	return !r->failed && r->left == 0;
}

bool
bytes_is(struct bytes b, const char *s)
{
	return bytes_equal(b, bytes_of(s));
}

bool
bytes_equal(struct bytes a, struct bytes b)
{
	return a.len == b.len &&
	       (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

struct bytes
bytes_of(const char *s)
{
	return (struct bytes){.data = (const uint8_t *)s, .len = strlen(s)};
}

bool
bytes_has_nul(struct bytes b)
{
	return b.len > 0 && memchr(b.data, 0, b.len) != NULL;
}

char *
bytes_dup(struct bytes b)
{
	char *s = malloc(b.len + 1);

	if (s == NULL)
		return NULL;
	if (b.len > 0)
		memcpy(s, b.data, b.len);
	s[b.len] = '\0';
	return s;
}
