/* fs/getMetadata. */
#ifndef EXEC_WORKER_STAT_H
#define EXEC_WORKER_STAT_H

#include "privsep/msg.h"

/*
 * Fill *out, but for its number, with what path is: kind, size, times, mode
 * and owner of what it leads to, whether it is a link itself, and then its
 * target, which is written to link and borrowed by *out. Without follow a link
 * anywhere in path is -ELOOP with *why as FS_FAILURE_HAS_SYMLINK. Returns 0 or
 * a negative errno.
 */
must_use int worker_stat(const char *path, bool follow,
    struct msg_fs_metadata *out, char link[PATH_LEN_MAX], enum fs_failure *why);

#endif
