/*
 * Overflow-checked arithmetic under the names of C23's <stdckdint.h>, and
 * narrowing that says whether the value fitted. Each returns true on failure.
 */
#ifndef BASE_CHECKED_H
#define BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ckd_add(result, a, b) __builtin_add_overflow((a), (b), (result))
#define ckd_sub(result, a, b) __builtin_sub_overflow((a), (b), (result))
#define ckd_mul(result, a, b) __builtin_mul_overflow((a), (b), (result))

static inline bool
narrow_u32(uint32_t *out, uint64_t value)
{
	return __builtin_add_overflow(value, (uint64_t)0, out);
}

static inline bool
narrow_int(int *out, int64_t value)
{
	return __builtin_add_overflow(value, (int64_t)0, out);
}

#endif
