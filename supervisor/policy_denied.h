/*
 * From failed system calls to what the policy denied: what, why, and which line
 * of the configuration would change it.
 */
#ifndef SUPERVISOR_POLICY_DENIED_H
#define SUPERVISOR_POLICY_DENIED_H

#include "supervisor/policy_command.h"
#include "supervisor/policy_layers.h"
#include "supervisor/policy_trace.h"

#define DENIED_MAX 256 /* different ones that are told */

struct denied_item {
	char *what, *why, *line; /* owned */
	unsigned long count;
};

struct denied {
	const struct config *config; /* borrowed */
	struct policy_ceiling ceiling;
	struct policy_layers layers;
	struct denied_item items[DENIED_MAX];
	size_t count;
	unsigned long lost; /* different ones past DENIED_MAX, or no memory */
};

/* Returns 0, or a negative errno with e. denied_done is due in all cases. */
must_use int denied_init(struct denied *d, const struct config *c,
    struct err *e);
void denied_done(struct denied *d);

/* For a watcher whose context is a struct denied. */
void denied_on_call(void *context, const struct trace_call *call);
void denied_on_killed(void *context, pid_t pid);

/* Append one paragraph for each. -EMSGSIZE, -ENOMEM. */
must_use int denied_put(const struct denied *d, struct buf *out);

#endif
