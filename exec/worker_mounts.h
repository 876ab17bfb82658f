/* What is mounted in the worker's view, from /proc. */
#ifndef EXEC_WORKER_MOUNTS_H
#define EXEC_WORKER_MOUNTS_H

#include <stdbool.h>

/*
 * Whether something is mounted on the canonical path or below it, so that it
 * cannot be removed as a whole. False if that cannot be found out: then the
 * kernel refuses later.
 */
bool worker_mounts_below(const char *path);

#endif
