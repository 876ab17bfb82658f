/*
 * What a role may tell the audit log: so many lines a second for each of its
 * sessions, and eight times that in all, after a burst. A session is what the
 * role says it is; sessions may share a bucket. What is over that is counted,
 * and the next line of the same bucket tells the count.
 */
#ifndef SUPERVISOR_AUDIT_RATE_H
#define SUPERVISOR_AUDIT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "privsep/role.h"

#define AUDIT_BUCKETS	  128 /* of a role */
#define AUDIT_ROLE_FACTOR 8

struct audit_bucket {
	uint64_t tokens; /* thousandths of a line */
	uint64_t at_ms;	 /* when tokens was right; 0: never used */
	uint64_t dropped;
};

struct audit_rate {
	uint64_t per_second, burst; /* lines; per_second 0: no limit */
	struct audit_bucket roles[ROLE_ANY];
	struct audit_bucket sessions[ROLE_ANY][AUDIT_BUCKETS];
};

/* Whether a line of role about session (empty: none) may be written at now_ms,
 * of a monotonic clock. If so *dropped is how many before it were not. */
must_use bool audit_rate_take(struct audit_rate *l, enum role role,
    struct bytes session, uint64_t now_ms, uint64_t *dropped);

/* What was dropped and has not been told yet; it counts as told. */
uint64_t audit_rate_forget(struct audit_rate *l);

#endif
