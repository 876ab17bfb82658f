/*
 * Paths by descriptor: where a path leads when every link in it is followed,
 * found a component at a time, without /proc. This is information and a place
 * to put a file beside another, never a check: the kernel decides.
 */
#ifndef EXEC_WORKER_PATH_H
#define EXEC_WORKER_PATH_H

#include <limits.h>

#include "base/buf.h"
#include "base/limits.h"

/* A copy of a path with its NUL; one byte more than the kernel takes, so that
 * a path too long by one is refused by the kernel's own error. */
#define WORKER_PATH_SIZE (PATH_LEN_MAX + 1)

/* A name in a directory; the name may or may not exist. */
struct worker_place {
	int dir_fd;		 /* O_PATH, owned; -1 if none */
	char dir[PATH_LEN_MAX];	 /* canonical path of it, "" for "/" */
	char name[NAME_MAX + 1]; /* no link; "" when it is dir itself */
};

/* Close the directory. */
void worker_place_done(struct worker_place *p);
#define scoped_place __attribute__((cleanup(worker_place_done)))
#define PLACE_NONE                                                             \
	{                                                                      \
		.dir_fd = -1                                                   \
	}

/*
 * Copy the path of a message into out, with a NUL. Returns 0; -EPROTO if it is
 * empty, not absolute or holds a NUL byte.
 */
must_use int worker_path_copy(struct bytes path, char out[WORKER_PATH_SIZE]);

/*
 * Split an absolute path into the directory that holds its last name, written
 * to dir, and that name, which is borrowed from path. Returns 0; -EBUSY for
 * "/"; -EINVAL if the name is "." or ".." or a slash follows it.
 */
must_use int worker_path_split(const char *path, char dir[WORKER_PATH_SIZE],
    const char **name);

/*
 * Follow every link of path, the last one too. Returns 0 with *out (release
 * with worker_place_done), whose name may be missing; -ENOENT with *out as the
 * deepest directory there is and the first name that is missing in it; -ELOOP
 * past 40 links; -ENAMETOOLONG; -ENOTDIR; -EACCES; another negative errno.
 * But for 0 and -ENOENT *out holds nothing.
 */
must_use int worker_path_find(const char *path, struct worker_place *out);

/*
 * The path without links, "." and "..". It must exist. Returns 0 or a
 * negative errno, as above.
 */
must_use int worker_path_canonical(const char *path, char out[PATH_LEN_MAX]);

#endif
