/* Opening regular files and nothing else, without ever waiting. */
#ifndef EXEC_WORKER_OPEN_H
#define EXEC_WORKER_OPEN_H

#include <sys/stat.h>

#include "base/cleanup.h"
#include "privsep/role.h"

/*
 * Open the regular file name, below dir_fd unless it is absolute, to be read.
 * flags may add O_NOFOLLOW. What is none is told by its kind before it is
 * opened, so that no pipe gets a reader and no device is woken; what has become
 * none meanwhile is opened without waiting and closed again. Returns the
 * descriptor, owned by the caller, and *st; -EINVAL with *why as
 * FS_FAILURE_NOT_A_FILE; another negative errno with *why untouched.
 */
must_use int worker_open_read(int dir_fd, const char *name, int flags,
    struct stat *st, enum fs_failure *why);

/*
 * The same to be written, created with mode 0666 & umask if it is missing. An
 * existing one loses setuid and setgid, its contents stay. A directory is
 * -EISDIR with *why as FS_FAILURE_NOT_A_FILE.
 */
must_use int worker_open_write(const char *path, struct stat *st,
    enum fs_failure *why);

/*
 * Take setuid and setgid from what fd, open for writing or a directory, is.
 * Where the owner is another the kernel does so itself on the next write, so
 * that -EPERM is no failure. Returns 0 or a negative errno.
 */
must_use int worker_open_unset_ids(int fd, mode_t mode);

/* Whether fd lies on a filesystem that cannot make a reader wait for another
 * machine or process: 1 or 0, or a negative errno. */
must_use int worker_open_is_local(int fd);

#endif
