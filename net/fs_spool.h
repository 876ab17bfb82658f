/*
 * A file that a worker sends through a pipe, because it lies on a filesystem
 * that may stall: collected in a memfd, so that no connection waits for it.
 */
#ifndef NET_FS_SPOOL_H
#define NET_FS_SPOOL_H

#include "net/net.h"

struct fs_call;

struct fs_spool {
	struct watch watch; /* the pipe */
	struct fs_call *call;
	struct net *net;
	struct fs_worker *worker;
	int memfd;
	uint64_t len; /* bytes in it, counted on the message budget */
	bool drained; /* the pipe is at its end */
	bool told;    /* the worker said that all was sent */
};

/* Collect from pipe_fd (taken) for call, which w works on. NULL when out of
 * memory or descriptors. */
struct fs_spool *fs_spool_new(struct fs_call *call, struct fs_worker *w,
    int pipe_fd);
/* NULL is fine. */
void fs_spool_free(struct fs_spool *s);

/* The worker has sent all. True if the pipe is drained as well, so that the
 * spool is complete; else fs_call_spooled follows. */
must_use bool fs_spool_told(struct fs_spool *s);

/* The file that was collected, with its bytes on the message budget, which are
 * the caller's to release. */
must_use int fs_spool_take(struct fs_spool *s, uint64_t *charged);

#endif
