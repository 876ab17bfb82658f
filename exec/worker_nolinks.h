/* Opening what no symbolic link is on the way to. */
#ifndef EXEC_WORKER_NOLINKS_H
#define EXEC_WORKER_NOLINKS_H

#include "base/cleanup.h"

/*
 * Open path, absolute or below the directory dir, with flags that create
 * nothing and are without O_NOFOLLOW. Returns the descriptor; -ELOOP if a link
 * is on the way or at its end; another negative errno. A path below dir has no
 * component "..", and what is opened is below it, however names are swapped
 * meanwhile.
 */
must_use int worker_open_nolinks(int dir, const char *path, int flags);

/* The same, but links are followed, out of dir as well: only those of /proc
 * that lead to no path are not, where the kernel can tell. */
must_use int worker_open_nomagic(int dir, const char *path, int flags);

#endif
