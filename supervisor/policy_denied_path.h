/* Which failed calls are about a path, and whether the policy is why. */
#ifndef SUPERVISOR_POLICY_DENIED_PATH_H
#define SUPERVISOR_POLICY_DENIED_PATH_H

#include "supervisor/policy_denied.h"

/*
 * If call, whose name this is, is about paths, say of each whether the policy
 * refused it: what, why and line are appended and told with denied_add.
 * Returns whether it is such a call.
 */
bool denied_path(struct denied *d, const struct trace_call *call,
    const char *name);

/* The same for one path that is known already; writes: it was to be changed. */
void denied_one_path(struct denied *d, const char *name, const char *path,
    bool writes, int errnum);

/* Count one more of these, or add it. */
void denied_add(struct denied *d, const char *what, const char *why,
    const char *line);

#endif
