/*
 * File workers as net sees them: which ones a session has, what each is doing
 * and what waits for one. A pool is the workers of one session and one
 * permission profile; each serves one request at a time.
 */
#ifndef NET_HELPER_H
#define NET_HELPER_H

#include "net/fs_call.h"
#include "net/session.h"

TAILQ_HEAD(fs_worker_list, fs_worker);
TAILQ_HEAD(fs_call_list, fs_call);

struct fs_pool {
	TAILQ_ENTRY(fs_pool) link;
	struct session *session;
	struct buf sandbox; /* packed; what tells pools apart */
	struct fs_worker_list workers;
	struct fs_call_list waiting;
	uint64_t worker_count;
};

struct fs_worker {
	TAILQ_ENTRY(fs_worker) link;
	struct fs_pool *pool;
	struct channel *channel; /* NULL until it is open */
	struct watch watch;
	struct lease_id lease;
	uint32_t number;      /* of WORKER_OPEN */
	struct fs_call *call; /* what it is doing, NULL: idle */
	uint64_t pins;	      /* handles and watches that live in it */
	uint64_t changes_due; /* FS_CHANGED that it may send: one a watch */
	struct timer idle;
};

/*
 * Queue a call for a worker of the session's pool for sandbox (packed, may be
 * empty). call is taken; it is answered in every case.
 */
void helper_submit(struct session *s, struct bytes sandbox,
    struct fs_call *call);
/* The same for one worker, in which a handle or watch lives. */
void helper_submit_to(struct fs_worker *w, struct fs_call *call);

/* The call of w was answered outside of a message of w: it is idle now, or in
 * an unknown state and to be ended. */
void helper_finished(struct fs_worker *w);
void helper_discard(struct fs_worker *w);

/* Tell w to forget a watch; there is no answer. */
void helper_notify_unwatch(struct fs_worker *w, uint32_t watch);

/* A handle or watch came to live in w, or left it. */
void helper_pin(struct fs_worker *w);
void helper_unpin(struct fs_worker *w);

/* The session is over: answer what is open, end its workers. */
void helper_end_session(struct session *s);

/* From exec; net.c dispatches. */
void helper_on_opened(struct net *n, struct msg *m);
void helper_on_refused(struct net *n, const struct msg_worker_refused *m);

#endif
