/* fs/createDirectory and fs/readDirectory. */
#ifndef EXEC_WORKER_DIR_H
#define EXEC_WORKER_DIR_H

#include "base/buf.h"
#include "privsep/role.h"

/* How a directory is opened to be listed: never waiting, never a link. */
#define WORKER_DIR_OPEN                                                        \
	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/*
 * Make the directory path, mode 0777 & umask without setgid, even below one
 * that has it. Recursive: its parents too, and one that exists is fine.
 * Returns 0; -EEXIST; -ENOENT for a missing parent; another negative errno.
 */
must_use int worker_dir_create(const char *path, bool recursive);

/* Make one directory name in dir_fd; mode & ~umask, without setgid. */
must_use int worker_dir_make(int dir_fd, const char *name, mode_t mode);

/*
 * Append what the directory path holds, in its own order, as the entries of
 * FS_LISTING. Kinds are those that links lead to; links that lead nowhere are
 * left out. Returns 0; -EMSGSIZE with *why as FS_FAILURE_LISTING_TOO_LARGE
 * when out is full; another negative errno.
 */
must_use int worker_dir_list(const char *path, struct buf *out,
    enum fs_failure *why);

/* Append one entry of FS_LISTING but for an error's number. -EMSGSIZE (then
 * out is unchanged), -ENOMEM. */
must_use int worker_dir_put(struct buf *out, enum fs_entry_kind kind,
    struct bytes name);

#endif
