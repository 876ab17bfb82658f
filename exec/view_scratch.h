/*
 * A small tmpfs below the child's /proc, out of sight of every program: the
 * empty things that are mounted over what is denied, and the root of a view
 * that starts empty. After clone: nothing allocates.
 */
#ifndef EXEC_VIEW_SCRATCH_H
#define EXEC_VIEW_SCRATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* Masks in one view that can be searched. */
#define VIEW_SEARCHED_MAX  64
/* Their mode, and that of directories in them: we make things there, others
 * pass, and nobody lists them. */
#define VIEW_SEARCHED_MODE 0311

struct view_scratch {
	int dir; /* of the tmpfs; -1: there is none yet */
	int mask_dir, mask_file;
	dev_t dev;
	/* Masks with mount points in them, until they are sealed. */
	int mounts[VIEW_SEARCHED_MAX];
	size_t searched;
};

void view_scratch_init(struct view_scratch *s);
/* Close the descriptors. */
void view_scratch_done(struct view_scratch *s);
/* Mount it on /proc, which is to be covered next. 0 or a negative errno. */
must_use int view_scratch_make(struct view_scratch *s);
/* An empty directory in it, mounted where it is: the root of a view, as a
 * descriptor, or a negative errno. */
must_use int view_scratch_root(struct view_scratch *s);

/* Cover the directory, or file or link, at that descriptor by an empty one
 * that nobody may open. 0 or a negative errno. */
must_use int view_scratch_mask(const struct view_scratch *s, int at,
    bool directory);
/* The same for a directory below which something is to be mounted. -E2BIG if
 * there are too many. */
must_use int view_scratch_mask_searched(struct view_scratch *s, int at);
/* Nothing will be mounted in these any more: they become read-only. */
must_use int view_scratch_seal(struct view_scratch *s);

#endif
