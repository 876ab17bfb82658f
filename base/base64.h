/* Standard base64 with padding (RFC 4648 section 4). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Characters that len bytes become. len is at most SIZE_MAX / 2. */
static inline size_t
base64_encoded_len(size_t len)
{
	return (len + 2) / 3 * 4;
}

/* The most bytes that len characters can decode to. */
static inline size_t
base64_decoded_max(size_t len)
{
	return len / 4 * 3;
}

/* Encode len bytes of src; dst has room for base64_encoded_len(len)
 * characters. No NUL is added. Returns the characters written. */
size_t base64_encode(char *dst, const uint8_t *src, size_t len);

/*
 * Decode len characters of src strictly: length a multiple of four, padding
 * only at the end, unused bits zero. dst has room for base64_decoded_max(len)
 * bytes and may be src itself. Returns 0 and the bytes written in *out_len; or
 * -EINVAL and the offset of the first offending character in *bad (len if the
 * text ends too early).
 */
must_use int base64_decode(uint8_t *dst, const char *src, size_t len,
    size_t *out_len, size_t *bad);

#endif
