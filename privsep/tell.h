/* What a role tells the audit log, and how much of it was lost on the way. */
#ifndef PRIVSEP_TELL_H
#define PRIVSEP_TELL_H

#include <stdint.h>

#include "privsep/channel.h"

struct tell {
	uint64_t lost;	/* lines that could not be sent since one could */
	int lost_errno; /* of the first of them */
};

/*
 * Send a line over the channel to the supervisor; pairs is name, value, ...,
 * NULL. One that cannot be sent is logged and counted, and as soon as one can
 * be, the line audit_lost comes before it with the count.
 */
void tell_audit(struct tell *t, struct channel *supervisor, const char *event,
    const char *const *pairs);

#endif
