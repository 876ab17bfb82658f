/* UTF-8 (RFC 3629). */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether len bytes are valid: no overlong form, surrogate, or value past
 * U+10FFFF. */
bool utf8_valid(const uint8_t *s, size_t len);

/* The length of the valid sequence that starts at s (1 to 4), or 0 if there is
 * none. len is at least 1. */
size_t utf8_sequence(const uint8_t *s, size_t len);

#endif
