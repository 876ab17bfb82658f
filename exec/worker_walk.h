/* fs/walk. */
#ifndef EXEC_WORKER_WALK_H
#define EXEC_WORKER_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct worker_walk_options {
	bool follow;	    /* links to directories */
	bool prune_hidden;  /* list ".name" but do not enter it */
	uint32_t depth_max; /* of a directory that is entered; the root is 0 */
	uint32_t directories_max; /* that are read, the root included; from 1 */
	uint32_t entries_max;	  /* from 1 */
};

/*
 * Append to out, as entries of FS_LISTING, files and directories below path,
 * breadth first, by name within a directory. Each real directory is entered
 * once. What cannot be entered or has no valid UTF-8 name (-EILSEQ) becomes an
 * entry of its own that is an error. *truncated tells that a bound left
 * something out: those of o, and that of out. Returns 0, with nothing for a
 * path that is no directory; -ENOENT or another negative errno if path itself
 * cannot be read.
 */
must_use int worker_walk(const char *path, const struct worker_walk_options *o,
    struct buf *out, bool *truncated);

#endif
