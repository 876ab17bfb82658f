/*
 * What the audit log was told to begin, and whose ends are still to come: a
 * process, a session, a connection. An end of these is written whatever the
 * rate says (audit_rate.h), or a flood would hide how something went on that a
 * reader knows of. So many lines more there can be, and not one besides: each
 * end is let through once.
 */
#ifndef SUPERVISOR_AUDIT_BEGUN_H
#define SUPERVISOR_AUDIT_BEGUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "privsep/role.h"

/* Of a role so much is remembered: in each set so many, and of more the oldest
 * is forgotten. Then the rate decides about its ends. */
#define AUDIT_BEGUN_SETS 256
#define AUDIT_BEGUN_WAYS 8

struct audit_begun_row {
	uint64_t key;
	unsigned int ends; /* a bit each, of those to come; 0: free */
};

struct audit_begun {
	struct audit_begun_row rows[ROLE_ANY][AUDIT_BEGUN_SETS]
				   [AUDIT_BEGUN_WAYS];
};

/* A line of role was let through: remember what it begins, if anything. */
void audit_begun_add(struct audit_begun *b, enum role role, struct bytes event,
    struct bytes pairs);

/* Whether the line tells an end that is still to come. Then it has come. */
must_use bool audit_begun_end(struct audit_begun *b, enum role role,
    struct bytes event, struct bytes pairs);

#endif
