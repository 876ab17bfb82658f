/*
 * A place in a directory tree, moved down and up by descriptor: no link is
 * followed, paths may be longer than PATH_MAX, and only some of the
 * directories above are held open. One that was let go is found again by ".."
 * and must be the same; so a directory that is moved away under us is an error,
 * never a way to another place.
 */
#ifndef EXEC_WORKER_TREE_H
#define EXEC_WORKER_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Directories below each other; 19 MiB of levels. */
#define WORKER_TREE_DEPTH_MAX 65536

struct worker_tree_level {
	uint64_t dev, ino;
	int64_t next; /* where its listing goes on, for the caller */
	int fd;	      /* -1 while let go */
	bool mark;    /* for the caller, false at first */
	char name[NAME_MAX + 1];
};

struct worker_tree {
	struct worker_tree_level *levels; /* heap */
	size_t depth;			  /* of the present one, from 0 */
	size_t cap;
	size_t held; /* the shallowest below the top that is open */
};

/*
 * Begin at top_fd (taken, also on failure), open to be read. Returns 0,
 * -ENOMEM or a negative errno. Release with worker_tree_done in every case.
 */
must_use int worker_tree_init(struct worker_tree *t, int top_fd);
void worker_tree_done(struct worker_tree *t);
#define scoped_tree __attribute__((cleanup(worker_tree_done)))

/* The present directory. Its fd is open. */
struct worker_tree_level *worker_tree_here(const struct worker_tree *t);

/*
 * Go down into name. Returns 0; -ENOTDIR or -ELOOP if it is no directory;
 * -ENAMETOOLONG past WORKER_TREE_DEPTH_MAX; another negative errno. On failure
 * the place is unchanged.
 */
must_use int worker_tree_enter(struct worker_tree *t, const char *name);

/*
 * Go up. Returns the level that was left, its descriptor closed, valid until
 * the next enter, in *left, and 0; -ESTALE if the directory above is another
 * than before; a negative errno. Not to be called at the top.
 */
must_use int worker_tree_leave(struct worker_tree *t,
    const struct worker_tree_level **left);

#endif
