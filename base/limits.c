#include "base/limits.h"

#include <stddef.h>
#include <string.h>

const struct limit_row limit_rows[LIMIT_ROWS] = {
#define LIMIT(key, def, min, max, unit, reason)                                \
	{#key, def, min, max, LIMIT_##unit, reason},
#include "base/limits.def"
};

/* Where each row's value stands in struct limits. */
static const size_t offsets[LIMIT_ROWS] = {
#define LIMIT(key, def, min, max, unit, reason) offsetof(struct limits, key),
#include "base/limits.def"
};

uint64_t
limits_get(const struct limits *l, unsigned int i)
{
	uint64_t value;

	memcpy(&value, (const char *)l + offsets[i], sizeof value);
	return value;
}

void
limits_set(struct limits *l, unsigned int i, uint64_t value)
{
	memcpy((char *)l + offsets[i], &value, sizeof value);
}

void
limits_init(struct limits *l)
{
	for (unsigned int i = 0; i < LIMIT_ROWS; i++)
		limits_set(l, i, limit_rows[i].def);
}
