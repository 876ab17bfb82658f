/*
 * Controllers of version 2 are handed down by a group without processes of its
 * own. Ours has some at first: the supervisor and exec. They go to a group of
 * their own below it, and back at the end.
 */
#ifndef EXEC_CGROUP_UNIFIED_H
#define EXEC_CGROUP_UNIFIED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "exec/cgroup_totals.h"

/* The group that our processes move to. */
#define CGROUP_ROLES "sallyport-roles"

struct cgroup_unified {
	int base;			/* borrowed */
	int roles;			/* owned; -1: nothing was moved */
	char enabled[CGROUP_WORDS_MAX]; /* "-memory -pids": to undo it */
};

void cgroup_unified_init(struct cgroup_unified *u);

/*
 * Have base, our current group, hand the controllers down to groups below it;
 * words is "+memory +pids". 0, also if it does already; -EOPNOTSUPP if base has
 * not got them; -EPERM if base is the root of all groups; -EBUSY if processes
 * that are not ours are in it; another negative errno. Nothing has changed
 * then.
 */
must_use int cgroup_unified_enable(struct cgroup_unified *u, int base,
    const char *words);

/* As far as it can be: take back what was enabled, and return. There must be
 * no group of ours left below base but that of our processes. */
void cgroup_unified_restore(struct cgroup_unified *u);

/* Cut "/sallyport-roles" off the path of our current group, where a server's
 * earlier exec has brought us there. */
void cgroup_unified_strip(char *path);

#endif
