/* fs/remove. */
#ifndef EXEC_WORKER_REMOVE_H
#define EXEC_WORKER_REMOVE_H

#include <stdbool.h>

#include "base/cleanup.h"

/*
 * Remove path itself, never what a link leads to; a directory with all that is
 * in it if recursive, otherwise only when it is empty. With force a missing
 * path is success. Stops at the first failure; what was removed by then is
 * gone. Returns 0; -ENOENT; -ENOTEMPTY; -EBUSY for "/", and for a directory in
 * which something is mounted, that is, protected: then nothing is gone; another
 * negative errno.
 */
must_use int worker_remove(const char *path, bool recursive, bool force);

#endif
