/* The supervisor's own lock-down, before it starts a role. */
#ifndef SUPERVISOR_CONFINE_H
#define SUPERVISOR_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

/* A capability that the server keeps when it runs as root. */
struct confine_cap {
	unsigned int cap;
	bool effective;	     /* used by the supervisor itself */
	bool without_userns; /* only if the host has no user namespaces */
	const char *reason;
};

/* Row i of them, or NULL behind the last. */
const struct confine_cap *confine_cap_row(size_t i);

/*
 * The capabilities, a bit each, that roles need to be born with when the
 * server runs as root. No other is left in any set of any of our processes.
 * userns is whether the host has user namespaces; without them it takes one
 * more.
 */
uint64_t confine_role_caps(bool userns);

/*
 * Give up all other capabilities, become undumpable and the one to whom
 * orphans of exec fall, set no_new_privs and load the system call filter.
 * Everything with a path must be open by now. Returns 0, or a negative errno
 * with e naming the step.
 */
must_use int confine_self(bool userns, struct err *e);

/* The kernel's Landlock ABI; 0 if it has none. */
uint32_t confine_landlock_abi(void);

#endif
