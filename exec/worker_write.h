/* fs/writeFile, in place or all or nothing. */
#ifndef EXEC_WORKER_WRITE_H
#define EXEC_WORKER_WRITE_H

#include "exec/worker_data.h"
#include "privsep/role.h"

/*
 * Give the file path the contents p, following links: same inode, mode and
 * hard links; created with mode 0666 & umask if missing. What the file grows
 * by is written first and taken back on failure, then new bytes go over the
 * old ones, and the length is set last. So a full disk leaves the old contents,
 * while an error after that leaves a mixture. Returns 0 or a negative errno,
 * with *why where a word of fs_failure says more.
 */
must_use int worker_write_in_place(const char *path,
    const struct worker_payload *p, enum fs_failure *why);

/*
 * The same, all or nothing: written to a file beside, synced, renamed over the
 * old one, whose mode is kept and whose inode is not. Once the path has been
 * found fit to be written every failure says FS_FAILURE_OLD_KEPT: the old file
 * is untouched and nothing new is left. A kill leaves the old or the new
 * contents; the file beside has no name while it is filled, and one that a
 * kill left behind with a name goes with the next such write of that path.
 */
must_use int worker_write_atomic(const char *path,
    const struct worker_payload *p, enum fs_failure *why);

#endif
