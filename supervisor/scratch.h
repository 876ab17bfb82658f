/*
 * Where sessions have their TMPDIR and HOME on a host that lets nobody mount a
 * /tmp for each: one directory of the server, which nobody else may enter. A
 * process of ours removes it when the server has ended, however that came.
 */
#ifndef SUPERVISOR_SCRATCH_H
#define SUPERVISOR_SCRATCH_H

#include <sys/types.h>

#include "base/cleanup.h"
#include "base/err.h"

struct scratch {
	char path[32]; /* "/tmp/sallyport-XXXXXX", "" if there is none */
	uid_t uid;     /* whose it is */
	gid_t gid;
	int life; /* owned, -1: closed by the end of the server */
};

void scratch_init(struct scratch *s);

/*
 * Make it, with a directory "home" in it, for that user, and start the process
 * that waits for the end of this one, as that user too. No other process of
 * ours may hold s->life, so it is close-on-exec. Returns 0, or a negative errno
 * with e.
 */
must_use int scratch_make(struct scratch *s, uid_t uid, gid_t gid,
    struct err *e);

/* Let it be removed. */
void scratch_done(struct scratch *s);

/*
 * Remove everything in the directory top, which no program changes any more,
 * as far as it goes. Follows no link and holds two descriptors, however deep
 * the tree is.
 */
void scratch_sweep(int top);

#endif
