/*
 * Where our own control groups are, as the kernel's tables tell it. Version 1
 * has a hierarchy for each controller, version 2 one for all; a host may have
 * both, with each controller in one of them.
 */
#ifndef EXEC_CGROUP_PLACE_H
#define EXEC_CGROUP_PLACE_H

#include <stdio.h>

#include "base/cleanup.h"

enum cgroup_hierarchy {
	CGROUP_V1_MEMORY,
	CGROUP_V1_PIDS,
	CGROUP_V1_CPU,
	CGROUP_V2,
	CGROUP_HIERARCHIES,
};

struct cgroup_places {
	/* Absolute, owned; NULL: not there, or outside what is mounted. */
	char *path[CGROUP_HIERARCHIES];
};

/*
 * Read tables in the form of /proc/self/cgroup and /proc/self/mountinfo. A line
 * that is of no use is passed over. 0; -ENOMEM. Release p with
 * cgroup_places_done in any case.
 */
must_use int cgroup_places_parse(struct cgroup_places *p, FILE *groups,
    FILE *mounts);

/* The same of this process. 0; -ENOMEM; why a table cannot be opened. */
must_use int cgroup_places_read(struct cgroup_places *p);
void cgroup_places_done(struct cgroup_places *p);

#endif
