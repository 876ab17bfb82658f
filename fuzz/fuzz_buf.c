/*
 * Reaches buf.c: a buffer and its reader under any sequence of calls. The input
 * is the buffer's maximum, then calls, each a byte and what it needs.
 *
 * Asserts that the buffer holds what a plain array does, that a call which does
 * not fit says so and changes nothing, that no more than the maximum is ever
 * held, and that a reader gives back what was put, in order, refuses what is
 * not there, and stays failed after that.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

#define MAX 1024

/* What b must hold. */
struct model {
	uint8_t data[MAX + 1];
	size_t len, max;
};

/* Put it into the model. Returns what buf_put must. */
static int
model_put(struct model *m, const void *src, size_t len)
{
	if (len > m->max - m->len)
		return -EMSGSIZE;
	if (len > 0)
		memcpy(m->data + m->len, src, len);
	m->len += len;
	return 0;
}

static int
model_put_number(struct model *m, uint64_t v, size_t size)
{
	uint8_t raw[sizeof v];

	for (size_t i = 0; i < size; i++, v >>= 8)
		raw[i] = (uint8_t)v;
	return model_put(m, raw, size);
}

static int
model_put_string(struct model *m, struct bytes s)
{
	if (s.len > m->max - m->len || m->max - m->len - s.len < 4)
		return -EMSGSIZE;
	assert(model_put_number(m, s.len, 4) == 0);
	return model_put(m, s.data, s.len);
}

static void
consume(struct model *m, struct buf *b, size_t len)
{
	size_t gone = len < m->len ? len : m->len;

	memmove(m->data, m->data + gone, m->len - gone);
	m->len -= gone;
	buf_consume(b, len);
}

static void
put_text(struct model *m, struct buf *b, struct bytes s)
{
	scoped_free char *text = bytes_dup(s);
	bool fits;

	assert(text != NULL);
	assert(bytes_is(s, text) == !bytes_has_nul(s));
	assert(bytes_equal(s, bytes_of(text)) == !bytes_has_nul(s));
	s = bytes_of(text);
	if (s.len % 2 == 1) {
		assert(buf_put_cstring(b, text) == model_put_string(m, s));
		return;
	}
	fits = s.len + 3 <= m->max - m->len;
	assert(buf_printf(b, "<%s>%d", text, 7) == (fits ? 0 : -EMSGSIZE));
	if (fits) {
		assert(model_put(m, "<", 1) == 0);
		assert(model_put(m, s.data, s.len) == 0);
		assert(model_put(m, ">7", 2) == 0);
	}
}

static void
call(struct model *m, struct buf *b, struct reader *r)
{
	uint8_t what = fuzz_u8(r), len = fuzz_u8(r);
	struct bytes s;

	switch (what % 9) {
	case 0:
		s = fuzz_bytes(r, len);
		assert(
		    buf_put(b, s.data, s.len) == model_put(m, s.data, s.len));
		break;
	case 1:
		assert(buf_put_u8(b, len) == model_put_number(m, len, 1));
		break;
	case 2:
		assert(buf_put_u32(b, len * 0x1010203u) ==
		       model_put_number(m, len * 0x1010203u, 4));
		break;
	case 3:
		assert(
		    buf_put_u64(b, len * UINT64_C(0x102030405060708)) ==
		    model_put_number(m, len * UINT64_C(0x102030405060708), 8));
		break;
	case 4:
		s = fuzz_bytes(r, len);
		assert(
		    buf_put_string(b, s.data, s.len) == model_put_string(m, s));
		break;
	case 5:
		put_text(m, b, fuzz_bytes(r, len));
		break;
	case 6:
		consume(m, b, len);
		break;
	case 7:
		assert(buf_reserve(b, len) ==
		       (len > m->max - m->len ? -EMSGSIZE : 0));
		assert(buf_reserve(b, SIZE_MAX - len) == -EMSGSIZE);
		break;
	default:
		buf_clear(b);
		m->len = 0;
		break;
	}
}

static void
check_same(const struct model *m, const struct buf *b)
{
	assert(b->len == m->len && b->len <= b->max && b->max == m->max);
	assert(bytes_equal(fuzz_view(b),
	    (struct bytes){.data = m->data, .len = m->len}));
}

/* --- reading ---------------------------------------------------------------
 */

/* One get that kind chooses, of bytes that the model knows too. */
static bool
get(struct reader *r, uint8_t kind, const uint8_t **at, size_t *left)
{
	struct bytes s = {.data = NULL, .len = SIZE_MAX};
	uint64_t want = 0, wide = 7;
	uint32_t number = 7;
	uint8_t byte = 7;
	size_t size = (const size_t[]){1, 4, 8, 4}[kind % 4];
	bool fits = *left >= size, ok;

	for (size_t i = 0; fits && i < size; i++)
		want |= (uint64_t)(*at)[i] << (8 * i);
	if (kind % 4 == 3) {
		fits = fits && want <= kind && want <= *left - size;
		ok = buf_get_string(r, &s, kind);
		assert(ok ? s.len == want && s.data == *at + 4
			  : s.len == SIZE_MAX);
		size += fits ? want : 0;
	} else if (size == 1) {
		ok = buf_get_u8(r, &byte);
		assert(byte == (ok ? want : 7));
	} else if (size == 4) {
		ok = buf_get_u32(r, &number);
		assert(number == (ok ? want : 7));
	} else {
		ok = buf_get_u64(r, &wide);
		assert(wide == (ok ? want : 7));
	}
	assert(ok == fits);
	*at += ok ? size : 0;
	*left -= ok ? size : 0;
	return ok;
}

static void
read_all(const struct buf *b, struct reader *kinds)
{
	const uint8_t *at = b->data;
	size_t left = b->len;
	struct reader r;
	uint8_t byte;

	reader_init(&r, b->data, b->len);
	assert(buf_get_end(&r) == (left == 0));
	while (kinds->left > 0) {
		if (!get(&r, fuzz_u8(kinds), &at, &left)) {
			assert(r.failed && !buf_get_end(&r));
			assert(!buf_get_u8(&r, &byte));
			return;
		}
		assert(buf_get_end(&r) == (left == 0));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model m = {0};
	struct reader r, calls, kinds;
	scoped_buf b = {0};
	struct bytes part;

	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	m.max = fuzz_u32(&r) % (MAX + 1);
	buf_init(&b, m.max);
	part = fuzz_bytes(&r, r.left / 2);
	reader_init(&calls, part.data, part.len);
	part = fuzz_rest(&r);
	reader_init(&kinds, part.data, part.len);
	while (calls.left > 0) {
		call(&m, &b, &calls);
		check_same(&m, &b);
	}
	read_all(&b, &kinds);
	buf_done(&b);
	assert(b.len == 0 && b.data == NULL && b.max == m.max);
	return 0;
}
