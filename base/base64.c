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

/* The value of a character, BAD if it has none. */
static uint8_t
value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (uint8_t)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (uint8_t)(c - 'a' + 26);
	if (c >= '0' && c <= '9')
		return (uint8_t)(c - '0' + 52);
	return c == '+' ? 62 : c == '/' ? 63 : BAD;
}

int
base64_decode(uint8_t *dst, const char *src, size_t len, size_t *out_len,
    size_t *bad)
{
	size_t pad = 0, made = 0;

	if (len >= 4 && src[len - 1] == '=')
		pad = src[len - 2] == '=' ? 2 : 1;
	for (size_t i = 0; i < len; i += 4) {
		size_t want = len - i > 4 ? 4 : 4 - pad;
		uint32_t v = 0;

		for (size_t k = 0; k < 4; k++) {
			uint8_t bits = 0;

			if (i + k >= len) {
				*bad = len;
				return -EINVAL;
			}
			if (k < want)
				bits = value_of(src[i + k]);
			if (bits == BAD) {
				*bad = i + k;
				return -EINVAL;
			}
			v = v << 6 | bits;
		}
		/* Bits that no byte holds must be zero: one text, one value. */
		if (want < 4 && (v & (want == 2 ? 0xffff : 0xff)) != 0) {
			*bad = i + want - 1;
			return -EINVAL;
		}
		for (size_t k = 0; k + 1 < want; k++)
			dst[made++] = (uint8_t)(v >> (16 - 8 * k));
	}
	*out_len = made;
	return 0;
}
