/*
 * Distinct types for the numbers that processes exchange, so that one cannot
 * be passed where another belongs. 0 is never a valid id.
 */
#ifndef BASE_IDS_H
#define BASE_IDS_H

#include <stdint.h>

struct session_id {
	uint32_t v; /* chosen by net, unique within its generation */
};

struct lease_id {
	uint32_t v; /* chosen by exec, never used twice */
};

struct generation {
	uint32_t v; /* one life of net, counted by the supervisor from 1 */
};

#endif
