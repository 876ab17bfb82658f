/*
 * Trees that a command never sees as the host has them, whatever the policy
 * says of "/": each sandbox brings its own. What exec mounts decides; this is
 * how it is told, and a test compares the two.
 */
#ifndef SUPERVISOR_POLICY_PLACE_H
#define SUPERVISOR_POLICY_PLACE_H

#include "policy/plan.h"

/* Which views have it. */
enum policy_place_of {
	PLACE_ALWAYS,	  /* every one, also where no rule gives "/" */
	PLACE_OF_SESSION, /* a session's; of a profile's if a rule gives more */
	PLACE_OF_STRICT,  /* a session's under the preset strict */
};

struct policy_place {
	const char *path;
	bool tree; /* and all below it, as far as no other place says more */
	enum plan_access access;
	enum policy_place_of of;
	const char *what;
};

/* The place that a canonical path lies in; NULL: it is an ordinary one. */
const struct policy_place *policy_place_find(const char *path);

#endif
