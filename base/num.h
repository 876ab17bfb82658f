/* Numbers from text. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/*
 * Parse the whole of s, decimal digits only (no sign, no blanks), into *out.
 * Returns 0; -EINVAL if s is not such a number; -ERANGE if it is outside
 * min..max (both inclusive). *out is untouched on failure.
 */
must_use int num_parse_u64(const char *s, uint64_t min, uint64_t max,
    uint64_t *out);

#endif
