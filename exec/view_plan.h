/*
 * The view of one child whose request restricts files: what the session sees,
 * cut down to the paths of a plan. Run by init in its own copy of the
 * session's mount namespace, after clone: nothing allocates.
 *
 * Where something else than expected lies at a path (policy/plan.h) the child
 * gets less than it asked for, never more.
 */
#ifndef EXEC_VIEW_PLAN_H
#define EXEC_VIEW_PLAN_H

#include "base/limits.h"
#include "exec/order.h"
#include "exec/view_scratch.h"

struct view_plan {
	const struct order *order;
	struct view_scratch scratch;
	int root; /* of the view, which all paths are looked up below */
	/* For each path that is mounted a detached copy of what the session
	 * has there, in the order of the plan; -1 where that cannot be. */
	int sources[VIEW_SOURCES_MAX];
	size_t source_count;
};

/* Whether a path of a plan needs no mount: "/", and what has the access of the
 * directory around it. */
bool view_plan_takes_nothing(const struct plan_path *p);

/* Before the child's own /proc is mounted. 0 or a negative errno. */
must_use int view_plan_begin(struct view_plan *v, const struct order *o);

/*
 * When /proc and /dev/pts are mounted: the root and the paths of the plan. 0;
 * -E2BIG if it takes too many mounts; another negative errno.
 */
must_use int view_plan_paths(struct view_plan *v);

/*
 * view_glob.c: mask what the plan's patterns deny, and pin what leads to it. 0;
 * -E2BIG if too many files had to be looked through, or masked; -ETIMEDOUT if
 * it takes too long; -ESTALE if a directory with matches was moved meanwhile;
 * another negative errno.
 */
must_use int view_plan_globs(struct view_plan *v);

/* Nothing is mounted any more: the view is sealed and entered. */
must_use int view_plan_end(struct view_plan *v);

/*
 * view_placeholder.c: make the first component that is missing of the plan's
 * path with that index, in dir, to which the first len bytes of the path led,
 * and hold it as the plan says. 0 or a negative errno.
 */
must_use int view_placeholder_make(const struct view_plan *v, size_t index,
    int dir, size_t len);

#endif
