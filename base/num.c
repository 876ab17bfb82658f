#include "base/num.h"

#include <errno.h>

#include "base/checked.h"

int
num_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (*s == '\0')
		return -EINVAL;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		if (ckd_mul(&v, v, (uint64_t)10) ||
		    ckd_add(&v, v, (uint64_t)(*s - '0')))
			return -ERANGE;
	}
	if (v < min || v > max)
		return -ERANGE;
	*out = v;
	return 0;
}
