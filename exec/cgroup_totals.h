/* The totals that the configuration asks for, and the files that hold them. */
#ifndef EXEC_CGROUP_TOTALS_H
#define EXEC_CGROUP_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "exec/cgroup_place.h"

/* 0: no such total. */
struct cgroup_totals {
	uint64_t memory;      /* bytes */
	uint64_t processes;   /* threads too */
	uint64_t cpu_percent; /* of one CPU */
	/* Milliseconds. The kernel counts them in each group of version 2, and
	 * leaves the rest to us. */
	uint64_t cpu_time_ms;
};

/* The hierarchy that each of them is set in. */
struct cgroup_carriers {
	enum cgroup_hierarchy memory, processes, cpu;
};

struct cgroup_totals cgroup_totals_session(const struct limits *l);
struct cgroup_totals cgroup_totals_command(const struct limits *l);
/* Whether there is one. */
bool cgroup_totals_any(const struct cgroup_totals *t);
/* Whether the configuration asks for one, of sessions or of commands. */
bool cgroup_wanted(const struct limits *l);

/*
 * Choose the carriers of what either has: version 1 if the controller is there,
 * and note in use which hierarchies that takes. 0; -EOPNOTSUPP if a controller
 * is nowhere.
 */
must_use int cgroup_carriers_choose(struct cgroup_carriers *c,
    const struct cgroup_places *p, const struct cgroup_totals *session,
    const struct cgroup_totals *command, bool use[CGROUP_HIERARCHIES]);

/*
 * Set the totals of a group, whose directories are dir, and read them back. 0;
 * -ERANGE if the kernel took another value; another negative errno.
 */
must_use int cgroup_totals_set(const struct cgroup_totals *t,
    const struct cgroup_carriers *c, const int dir[CGROUP_HIERARCHIES]);

#define CGROUP_WORDS_MAX 64 /* bytes, the final NUL included */

/* "+memory +pids": what version 2 has to hand down for it; "" if nothing. */
void cgroup_totals_words(const struct cgroup_totals *session,
    const struct cgroup_totals *command, const struct cgroup_carriers *c,
    char out[CGROUP_WORDS_MAX]);

#endif
