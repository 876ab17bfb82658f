/*
 * Finding a path without following a link in any component, and saying what
 * stands in the way if it cannot be found. After clone: nothing allocates.
 */
#ifndef EXEC_VIEW_FIND_H
#define EXEC_VIEW_FIND_H

#include <sys/stat.h>

#include "exec/order.h"

enum view_found {
	VIEW_FOUND,   /* fd is the path itself, no link */
	VIEW_BLOCKED, /* fd is what stands in the way: see below */
	VIEW_MISSING, /* fd is the deepest directory there is */
};

/*
 * What a path led to. A path is blocked by a symbolic link, its own last
 * component too; by a file where a directory should be; or by a directory that
 * neither the child nor we may search.
 */
struct view_place {
	enum view_found found;
	int fd;	     /* O_PATH, owned; -1: none */
	size_t len;  /* bytes of the path that lead to fd; 0: its start */
	mode_t mode; /* of fd, as of stat */
	dev_t dev;
};

#define VIEW_PLACE_NONE ((struct view_place){.fd = -1})

/*
 * Find the absolute, canonical path below root, an O_PATH directory, to take
 * something away there: looked up with the ids of the order's child, and where
 * those are refused with ours. 0 with *out, whose fd the caller closes; or a
 * negative errno.
 */
must_use int view_find(const struct order *o, int root, const char *path,
    struct view_place *out);

/* The same with the child's ids alone, for what it is to be given: a path that
 * it could not reach by itself is out of its reach. 0 with a descriptor in
 * *fd, or -1 there if the path was not found; or a negative errno. */
must_use int view_find_own(const struct order *o, int root, const char *path,
    int *fd);

/* File access as the child has it, and as we have it again: only the ids that
 * files are looked up and made with change. This process ends here if exec has
 * ended: what is looked up may be on a file system that never answers. */
void view_find_as_child(const struct order *o);
void view_find_as_self(const struct order *o);

#endif
