/*
 * Reaches splitter_feed, splitter_find and base64_decode. The input is the
 * size of the pieces that a message arrives in, then the message, in which
 * "\x01" c n stands for n * n * 4 times c, so that a small input can hold
 * strings that are cut.
 *
 * Asserts that the text is the message but for the strings that were cut, that
 * only strings of the right members were cut and only long ones, that what a
 * plain decoder makes of a whole string is in its descriptor, or else that it
 * stumbles at the same character, and that no descriptor is left open.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "net/splitter.h"

#define MESSAGE_MAX (640u * 1024u)
/* Pieces of what is much the same all along. */
#define RUN_PIECE   1021u

static const char nonce[33] = "00112233445566778899aabbccddeeff";

static void
expand(const uint8_t *data, size_t size, struct buf *out)
{
	struct reader r;

	reader_init(&r, data, size);
	while (r.left > 0 && out->len < MESSAGE_MAX / 2) {
		uint8_t c = fuzz_u8(&r);
		size_t n = 1;

		if (c == 1) {
			c = fuzz_u8(&r);
			n = fuzz_u8(&r);
			n = n * n * 4;
		}
		assert(buf_reserve(out, n) == 0);
		if (n > 0)
			memset(out->data + out->len, c, n);
		out->len += n;
	}
}

/* What of a string of len raw characters the decoder sees. Returns false if an
 * escape writes none, and then what is before it. */
static bool
unescape(const uint8_t *raw, size_t len, struct buf *out)
{
	assert(buf_reserve(out, len) == 0);
	for (size_t i = 0; i < len; i++) {
		if (raw[i] == '\\' && (i + 1 == len || raw[++i] != '/'))
			return false;
		out->data[out->len++] = raw[i];
	}
	return true;
}

/* Six bits, or 64. */
static uint32_t
model_bits(uint32_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - (uint32_t)'A';
	if (c >= 'a' && c <= 'z')
		return c - (uint32_t)'a' + 26;
	if (c >= '0' && c <= '9')
		return c - (uint32_t)'0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : 64;
}

/* Decode s into out, which has room. whole: it may end in padding. Returns
 * s.len or the offset of the first wrong character; SIZE_MAX if all is well. */
static size_t
model_decode(struct bytes s, bool whole, uint8_t *out, size_t *out_len)
{
	size_t pad = 0, n = 0, end = s.len;
	uint32_t v = 0;

	if (whole && s.len % 4 == 0 && s.len > 0 && s.data[s.len - 1] == '=')
		pad = s.data[s.len - 2] == '=' ? 2 : 1;
	end -= pad;
	for (size_t i = 0; i < end; i++) {
		uint32_t bits = model_bits(s.data[i]);

		if (bits == 64)
			return i;
		v = v << 6 | bits;
		if (i % 4 != 0)
			out[n++] = (uint8_t)(v >> (6 - 2 * (i % 4)));
	}
	if (s.len % 4 != 0)
		return s.len;
	*out_len = n;
	/* The bits behind the last byte. */
	if ((pad == 1 && (v & 3) != 0) || (pad == 2 && (v & 15) != 0))
		return end - 1;
	return SIZE_MAX;
}

static void
check_cut(const struct blob *b, const uint8_t *raw, size_t len)
{
	scoped_free uint8_t *want = malloc(len);
	scoped_free uint8_t *got = malloc(len);
	size_t want_len = 0, bad;
	scoped_buf chars;
	bool whole;

	buf_init(&chars, MESSAGE_MAX);
	assert(want != NULL && got != NULL);
	whole = unescape(raw, len, &chars);
	bad = model_decode(fuzz_view(&chars), whole, want, &want_len);
	if (!whole && bad >= chars.len)
		bad = chars.len;
	assert(b->bad == (bad != SIZE_MAX));
	if (b->bad) {
		/* An escape is seen before the group that it stands in. */
		assert(b->bad_at >= bad && b->bad_at - bad < (whole ? 1 : 4));
		return;
	}
	assert(b->len == want_len);
	assert(pread(b->fd, got, len, 0) == (ssize_t)want_len);
	assert(memcmp(got, want, want_len) == 0);
}

/* The length of the string that begins at p, up to its closing quote. */
static size_t
string_len(const uint8_t *p, size_t left, bool *ended)
{
	size_t i = 0;

	while (i < left && p[i] != '"')
		i += p[i] == '\\' ? 2 : 1;
	*ended = i < left;
	return i < left ? i : left;
}

static bool
is_separator(uint8_t c)
{
	return c == '{' || c == '}' || c == '[' || c == ']' || c == ',';
}

static bool
is_cut_member(struct bytes key)
{
	return bytes_is(key, "dataBase64") || bytes_is(key, "chunk") ||
	       bytes_is(key, "bodyBase64");
}

/* Compare text with the message that it came from, string by string. */
static void
compare(struct splitter *s, struct bytes message, struct bytes text)
{
	size_t i = 0, j = 0, depth = 0;
	struct bytes key = {0};
	bool colon = false;

	for (; i < message.len; i++, j++) {
		uint8_t c = message.data[i];
		struct bytes raw, kept;
		bool ended;

		assert(j < text.len && text.data[j] == c);
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && depth > 0)
			depth--;
		if (c != '"') {
			colon = c == ':' || (colon && !is_separator(c));
			continue;
		}
		raw.data = message.data + ++i;
		raw.len = string_len(raw.data, message.len - i, &ended);
		kept.data = text.data + ++j;
		kept.len = text.len - j < SPLITTER_TOKEN_LEN
			       ? text.len - j
			       : SPLITTER_TOKEN_LEN;
		if (splitter_find(s, kept) != NULL && raw.len != kept.len) {
			assert(colon && depth == 2 && is_cut_member(key));
			assert(raw.len > SPLITTER_INLINE_MAX);
			if (ended)
				check_cut(splitter_find(s, kept), raw.data,
				    raw.len);
		} else {
			kept.len = raw.len;
			assert(text.len - j >= raw.len);
			assert(bytes_equal(raw, kept));
		}
		i += raw.len;
		j += kept.len;
		key = kept;
		if (!ended)
			break;
		assert(text.data[j] == '"');
	}
	assert(j >= text.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct splitter s = {0};
	int fd = fuzz_fds_open(), r = 0;
	scoped_buf message, text;
	size_t piece;

	buf_init(&message, MESSAGE_MAX);
	buf_init(&text, MESSAGE_MAX);
	if (size < 1 || size > FUZZ_LEN_MAX)
		return 0;
	memcpy(s.nonce, nonce, sizeof nonce);
	piece = (size_t)data[0] * 97 + 1;
	expand(data + 1, size - 1, &message);
	for (size_t at = 0, len; at < message.len && r == 0; at += len) {
		size_t left = message.len - at;

		len = left < piece ? left : piece;
		if (left > RUN_PIECE &&
		    message.data[at] == message.data[at + RUN_PIECE])
			len = RUN_PIECE;
		r = splitter_feed(&s, &text, message.data + at, len);
	}
	if (r == 0)
		compare(&s, fuzz_view(&message), fuzz_view(&text));
	else
		assert(r == -EMSGSIZE && s.blob_count == SPLITTER_BLOBS_MAX);
	splitter_reset(&s);
	assert(splitter_blob_bytes(&s) == 0);
	assert(fuzz_fds_open() == fd);
	return 0;
}
