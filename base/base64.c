#include "base/base64.h"

#include <errno.h>

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t
base64_encode(char *dst, const uint8_t *src, size_t len)
{
	char *start = dst;

	for (; len >= 3; len -= 3, src += 3) {
		uint32_t v =
		    (uint32_t)src[0] << 16 | (uint32_t)src[1] << 8 | src[2];

		*dst++ = alphabet[v >> 18];
		*dst++ = alphabet[v >> 12 & 63];
		*dst++ = alphabet[v >> 6 & 63];
		*dst++ = alphabet[v & 63];
	}
	if (len > 0) {
		uint32_t v = (uint32_t)src[0] << 16 |
			     (len == 2 ? (uint32_t)src[1] << 8 : 0);

		*dst++ = alphabet[v >> 18];
		*dst++ = alphabet[v >> 12 & 63];
		*dst++ = len == 2 ? alphabet[v >> 6 & 63] : '=';
		*dst++ = '=';
	}
	return (size_t)(dst - start);
}

#define BAD 0xff

/* clang-format off */
#define XX BAD
/* The value of each character, BAD where there is none. */
static const uint8_t values[256] = {
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, 62, XX, XX, XX, 63,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, XX, XX, XX, XX, XX, XX,
    XX,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, XX, XX, XX, XX, XX,
    XX, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
};
#undef XX
/* clang-format on */

/* Decode whole groups of four from the front, as many as are flawless and
 * without padding. Returns the characters used. */
static size_t
decode_whole(uint8_t *dst, const uint8_t *src, size_t len)
{
	size_t at = 0;

	for (; len - at >= 4; at += 4, dst += 3) {
		uint8_t a = values[src[at]], b = values[src[at + 1]];
		uint8_t c = values[src[at + 2]], d = values[src[at + 3]];

		if ((a | b | c | d) & 0x80)
			break;
		dst[0] = (uint8_t)(a << 2 | b >> 4);
		dst[1] = (uint8_t)(b << 4 | c >> 2);
		dst[2] = (uint8_t)(c << 6 | d);
	}
	return at;
}

int
base64_decode(uint8_t *dst, const char *src, size_t len, size_t *out_len,
    size_t *bad)
{
	const uint8_t *s = (const uint8_t *)src;
	size_t at = decode_whole(dst, s, len), made = at / 4 * 3;
	size_t want = 4;
	uint32_t v = 0;

	if (at == len) {
		*out_len = made;
		return 0;
	}
	/* What is left is the last group with its padding, or a flaw. */
	if (len - at == 4 && s[at + 3] == '=')
		want = s[at + 2] == '=' ? 2 : 3;
	for (size_t k = 0; k < 4; k++) {
		uint8_t bits = 0;

		if (at + k == len) {
			*bad = len;
			return -EINVAL;
		}
		if (k < want)
			bits = values[s[at + k]];
		if (bits == BAD) {
			*bad = at + k;
			return -EINVAL;
		}
		v = v << 6 | bits;
	}
	/* Bits that no byte holds must be zero: one text, one value. */
	if ((v & (want == 2 ? 0xffff : want == 3 ? 0xff : 0)) != 0) {
		*bad = at + want - 1;
		return -EINVAL;
	}
	for (size_t k = 0; k + 1 < want; k++)
		dst[made++] = (uint8_t)(v >> (16 - 8 * k));
	*out_len = made;
	return 0;
}
