/*
 * Watches of fs/watchMissing: each tells once that one of its missing paths
 * has appeared, or that its present one has changed. inotify says when to
 * look; since it does not see every change (other machines, a directory far
 * above that is moved, limits of the system), all are looked at every few
 * seconds as well.
 */
#ifndef EXEC_WORKER_WATCH_H
#define EXEC_WORKER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"

struct watch;

struct worker_watches {
	int fd; /* of inotify; -1 while there is no watch, or no inotify */
	size_t count;
	struct watch *items[FS_WATCHES_MAX]; /* owned; NULL: free */
	int64_t checked_ms;		     /* when all were looked at last */
};

void worker_watch_init(struct worker_watches *ws);
void worker_watch_done(struct worker_watches *ws);

/*
 * Watch, as number, the packed list of paths missing, and present (empty:
 * none). *watching is false, and nothing is watched, if the list is empty or
 * one of it exists. Returns 0; -EPROTO if number is in use or a path is no
 * absolute one; -EMFILE past FS_WATCHES_MAX; -ENOMEM.
 */
must_use int worker_watch_add(struct worker_watches *ws, uint32_t number,
    struct bytes missing, struct bytes present, bool *watching);

/* Forget one; one that is not there is fine. */
void worker_watch_remove(struct worker_watches *ws, uint32_t number);

/* Milliseconds until worker_watch_read is due without events; -1: never. */
int worker_watch_timeout(const struct worker_watches *ws);

/* Take what inotify has to say, without waiting. */
void worker_watch_read(struct worker_watches *ws);

/* The number of a watch that has something to tell, which is forgotten. False
 * if there is none. */
must_use bool worker_watch_fired(struct worker_watches *ws, uint32_t *number);

#endif
