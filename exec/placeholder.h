/*
 * Placeholders: empty directories that the inits of restricted children make
 * where something protected is missing in a writable directory (.git), so that
 * nobody plants it. Exec knows who relies upon which, and has them removed when
 * nobody does any more.
 */
#ifndef EXEC_PLACEHOLDER_H
#define EXEC_PLACEHOLDER_H

#include <sys/queue.h>

#include "exec/config.h"
#include "exec/control.h"
#include "policy/plan.h"

struct placeholder {
	LIST_ENTRY(placeholder) link;
	char *path;	    /* owned: as plans have it */
	unsigned int users; /* holds of it */
	bool leaving;	    /* it is being removed just now */
	/* What was made: the first made_len bytes of the path; 0: nothing. */
	size_t made_len;
	uint64_t dev, ino;
};

LIST_HEAD(placeholders, placeholder);

/* What one child relies upon, in the order of its plan. */
struct placeholder_hold {
	struct placeholder **v; /* owned; what it points to is not */
	size_t count;
};

/* Hold those of a plan, for a child that is about to start. 0 with *out, to be
 * given to placeholder_release; or -ENOMEM. */
must_use int placeholder_hold(struct placeholders *all, const struct plan *plan,
    struct placeholder_hold *out);
/* Note what the child's init says that it made; anything else is ignored. */
void placeholder_note(const struct placeholder_hold *hold,
    const struct control *c);
/* Returns whether something is to be removed now. */
bool placeholder_release(struct placeholder_hold *hold);

/* Whether one of the plan's is being removed: its child has to wait. */
bool placeholder_is_leaving(const struct placeholders *all,
    const struct plan *plan);

/*
 * Start a process that removes what was made and nobody holds, if it is still
 * empty and the same: of one file system, as it may not answer. They are
 * leaving from now on. *pidfd is readable when it has ended, which may be
 * hastened by SIGKILL; the caller owns it, reaps the process and calls
 * placeholder_removed. 0, or a negative errno: then nothing is leaving.
 */
must_use int placeholder_remove(struct placeholders *all,
    const struct exec_config *config, int *pidfd);
/* Forget what has left. Returns whether more is to be removed now. */
bool placeholder_removed(struct placeholders *all);

void placeholder_done(struct placeholders *all);

#endif
