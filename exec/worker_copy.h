/* fs/copy. */
#ifndef EXEC_WORKER_COPY_H
#define EXEC_WORKER_COPY_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "privsep/role.h"

/*
 * Copy source to destination, keeping permission bits but setuid and setgid,
 * times of modification and holes.
 * - A file: into an existing one, also through a link; onto itself, by
 *   whatever name, changes nothing.
 * - A link: made anew; whatever exists there is -EEXIST.
 * - A directory, only if recursive: merged into an existing one, missing
 *   parents are made. What is neither file, link nor directory is left out, as
 *   is what vanishes meanwhile. Links in the destination are not followed.
 *   Stops at the first failure and keeps what it has copied.
 * Returns 0 or a negative errno, with *why as FS_FAILURE_NEEDS_RECURSIVE
 * (-EISDIR), FS_FAILURE_INTO_ITSELF (-EINVAL) or FS_FAILURE_SPECIAL_SOURCE
 * (-EINVAL).
 */
must_use int worker_copy(const char *source, const char *destination,
    bool recursive, enum fs_failure *why);

/*
 * The part for one file: from name in from_dir to to_name in to_dir. from_dir
 * and to_dir may be AT_FDCWD with absolute names. Without follow a link at the
 * destination is -EEXIST. One at the source is -ELOOP, what is no regular file
 * -EINVAL, a destination that is none -EISDIR or -ENXIO.
 */
must_use int worker_copy_file(int from_dir, const char *name, int to_dir,
    const char *to_name, bool follow);

/* The part for one link; -EEXIST if the destination exists. */
must_use int worker_copy_link(int from_dir, const char *name, int to_dir,
    const char *to_name);

/* The part for a directory, whose name is in no place a link. */
must_use int worker_copy_tree(const char *source, const char *destination,
    enum fs_failure *why);

#endif
