/*
 * Mounts by descriptor. For the helper that assembles a session's view; every
 * function names in e what it was about.
 */
#ifndef EXEC_MOUNT_H
#define EXEC_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

/*
 * A detached copy of what is mounted at path, with everything below it, as a
 * descriptor. dirfd is as of openat(2); with an empty path it is dirfd itself.
 * The mount must belong to the caller's mount namespace. A descriptor, or a
 * negative errno.
 */
must_use int mount_clone(int dirfd, const char *path, struct err *e);

/* Set and clear MOUNT_ATTR_* of the mount that fd refers to, and of all below
 * it if recursive. 0 or a negative errno. */
must_use int mount_attr(int fd, uint64_t set, uint64_t clear, bool recursive,
    struct err *e);

/* Show the files of the detached mount fd with their ids mapped by the user
 * namespace. 0; -EINVAL where a file system cannot; another negative errno. */
must_use int mount_map_ids(int fd, int userns_fd);

/* Attach the detached mount fd at path, which may be a file for a file. */
must_use int mount_attach(int fd, const char *path, struct err *e);

/* The same at the file, directory or symbolic link that an O_PATH descriptor
 * is. Safe after clone, like the others when e is NULL. */
must_use int mount_attach_at(int fd, int at);

/* A new tmpfs at path: writable until mount_read_only. options are
 * tmpfs(5)'s. */
must_use int mount_tmpfs(const char *path, const char *options, struct err *e);

/* Make the mount at path (not those below it) read-only. */
must_use int mount_read_only(const char *path, struct err *e);

/* Take that back. */
must_use int mount_writable(const char *path, struct err *e);

/* Whether the file or directory that an O_PATH descriptor is is the root of a
 * mount: then it can be neither renamed nor removed. 1 or 0, or a negative
 * errno. */
must_use int mount_is_root(int fd);

/* Make path, a file or directory, a mount point of its own, so that it can be
 * neither renamed nor removed, and read-only if asked. A mount that is there
 * and need not be read-only is left: another would bring copies of all mounts
 * below it, and as many again with each pin to come. */
must_use int mount_pin(const char *path, bool read_only, struct err *e);

/* Make the working directory, which must be the root of a mount, the root,
 * and let the old root go. */
must_use int mount_pivot(struct err *e);

#endif
