/* Values of configuration keys from and to text. */
#ifndef SUPERVISOR_CONFIG_VALUE_H
#define SUPERVISOR_CONFIG_VALUE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

/*
 * Parse the whole of text in unit: LIMIT_MS takes ms, s, m and h behind the
 * digits (none: ms), LIMIT_BYTES takes K, M, G and T, powers of 1024 (none:
 * bytes), LIMIT_COUNT digits alone or hexadecimal ones after 0x. Returns 0;
 * -EINVAL if text is no such value; -ERANGE if it is outside min..max, both
 * inclusive. On failure e says what was wanted and *out is untouched.
 */
must_use int value_parse(const char *text, enum limit_unit unit, uint64_t min,
    uint64_t max, uint64_t *out, struct err *e);

/* Append value in the largest unit that has no fraction, as value_parse reads
 * it. -EMSGSIZE, -ENOMEM. */
must_use int value_put(uint64_t value, enum limit_unit unit, struct buf *out);

/* The number of text in words, a NULL-terminated array. Returns 0, or -EINVAL
 * with e listing the words. */
must_use int value_word(const char *text, const char *const *words,
    uint32_t *out, struct err *e);

/* Check "NAME=VALUE": a name of letters, digits and '_' that begins with no
 * digit. Returns 0 or -EINVAL with e. */
must_use int value_check_assignment(const char *text, struct err *e);

/* Check a pattern for names: letters, digits, '_', '*' and '?', at least one.
 * Returns 0 or -EINVAL with e. */
must_use int value_check_pattern(const char *text, struct err *e);

#endif
