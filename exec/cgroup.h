/*
 * Totals: what a session, or one command with all that it starts, may use of
 * memory, processes and CPU. Kept by control groups below our own current one:
 * a directory of ours, in it one group a session, in that one a command. They
 * are made only where the configuration asks for totals.
 */
#ifndef EXEC_CGROUP_H
#define EXEC_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"
#include "exec/cgroup_place.h"
#include "exec/cgroup_sweep.h"
#include "exec/cgroup_totals.h"
#include "exec/cgroup_unified.h"
#include "exec/oom.h"

struct cgroup_tree {
	/* Our current group, and ours in it; owned, -1 where none is used. */
	int base[CGROUP_HIERARCHIES], dir[CGROUP_HIERARCHIES];
	char name[CGROUP_NAME_MAX]; /* of ours */
	struct cgroup_totals session, command;
	struct cgroup_carriers carriers;
	struct cgroup_unified unified;
};

/* One group, in each hierarchy that is used. */
struct cgroup {
	int dir[CGROUP_HIERARCHIES]; /* owned, -1 where there is none */
	char name[16];
	struct oom oom; /* ends for want of memory in this group itself */
};

void cgroup_tree_init(struct cgroup_tree *t);

/* Remove what dead servers have left in our current groups, all of them. */
void cgroup_sweep_all(void);

/*
 * Find our place and try it all: a group, its limits, a process in it. Totals
 * are those of l. Needs /proc and the host's /sys/fs/cgroup. 0, or a negative
 * errno with e; nothing is left behind then. Release t with cgroup_tree_close
 * in any case.
 */
must_use int cgroup_tree_open(struct cgroup_tree *t, const struct limits *l,
    struct err *e);

/* The part of it that takes places for granted; for tests as well. */
must_use int cgroup_tree_open_at(struct cgroup_tree *t,
    const struct cgroup_places *p, struct err *e);

/* Whether groups are made. */
bool cgroup_tree_is_open(const struct cgroup_tree *t);

/* Kill what is left in our groups, and remove them. */
void cgroup_tree_close(struct cgroup_tree *t);

void cgroup_init(struct cgroup *g);
/* Let go of it; the group itself stays. */
void cgroup_close(struct cgroup *g);

/*
 * Make a session's group: number is its slot, and what an earlier one may have
 * left under that number is removed first. 0, or a negative errno with e, and
 * then nothing is left.
 */
must_use int cgroup_make_session(const struct cgroup_tree *t,
    unsigned int number, struct cgroup *g, struct err *e);

/* A group in that of the session; limited: with the totals of a command. */
must_use int cgroup_make_member(const struct cgroup_tree *t,
    const struct cgroup *session, uint32_t number, bool limited,
    struct cgroup *g, struct err *e);

/* Whether each member of a session has a group of its own. */
bool cgroup_has_members(const struct cgroup_tree *t);

/* Enter the groups of dir, where it is not -1. 0 or a negative errno. Safe
 * after clone. */
must_use int cgroup_enter(const int dir[CGROUP_HIERARCHIES]);

/* End all that is in it, where the kernel does that at one stroke. */
void cgroup_kill(const struct cgroup *g);

/* CPU time that was used in it, milliseconds. 0; -ENODATA if the kernel's file
 * does not tell it; another negative errno if it cannot be read. */
must_use int cgroup_cpu_time_ms(const struct cgroup *g, uint64_t *ms);

/* How often a fork in it has failed for the total of processes. */
uint64_t cgroup_refused_forks(const struct cgroup_tree *t,
    const struct cgroup *g);

/* Remove a group of parent, t's own directories or a session's, and close it.
 * One that is not empty yet stays until its parent is removed or its number is
 * used again. */
void cgroup_drop(const int parent[CGROUP_HIERARCHIES], struct cgroup *g);

#endif
