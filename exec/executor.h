/*
 * The loop of exec: messages of the supervisor and of nets, and the ends of
 * what was started. One thread; no handler waits for anything.
 */
#ifndef EXEC_EXECUTOR_H
#define EXEC_EXECUTOR_H

#include "exec/cgroup.h"
#include "exec/config.h"
#include "exec/executor_http.h"
#include "exec/lease.h"
#include "exec/oom.h"
#include "exec/probe.h"
#include "exec/session.h"
#include "exec/sockets.h"
#include "privsep/channel.h"
#include "privsep/tell.h"

/* One net. Everything of it is found by its generation. */
struct peer {
	LIST_ENTRY(peer) link;
	struct generation generation;
	struct channel *channel; /* owned */
	struct source source;	 /* its descriptor is the channel's */
	bool broken;		 /* its channel cannot be written any more */
};

/* Bytes of what names a program uniquely, the final NUL included. */
#define EXECUTOR_ID_MAX 48

struct executor {
	struct exec_config *config; /* for sessions to come; held */
	/* On its way in, until EXEC_APPLY; NULL: none, or it is no good */
	struct exec_config *next;
	struct err next_error;
	const struct probe *probe;
	struct cgroup_tree *cgroups; /* borrowed; not open: no totals */
	struct oom oom;
	int epfd;
	struct channel *supervisor; /* owned */
	struct tell tell;	    /* to the audit log */
	struct source supervisor_source;
	LIST_HEAD(, peer) peers;
	LIST_HEAD(, lease) leases;
	struct http_list https;
	uint32_t lease_count, last_lease;
	uint32_t worker_count;	/* file workers among them */
	uint32_t command_count; /* commands of a backend among them */
	/* By slot. There are twice as many slots as sessions may be open: some
	 * are refused, and some wait for the last of their processes. */
	struct session **sessions;
	unsigned int slot_count;
	unsigned int opening; /* helpers at work */
	struct sockets sockets;
	struct placeholders placeholders;
	struct source remover; /* while removing: of the process that does */
	bool removing;
	int64_t remover_deadline_ms;
	char unique[33]; /* of this life of exec: hexadecimal random bits */
	bool stopping, done;
	int64_t stop_deadline_ms;
	uint32_t stop_leases; /* how many EXEC_STOP ended */
};

/*
 * Serve supervisor (taken) until it goes or says stop, with totals if cgroups
 * is open; it is closed on return. 0 after an orderly stop; else a negative
 * errno with e. Every child has been killed on return.
 */
must_use int executor_run(struct exec_config *config, const struct probe *probe,
    struct cgroup_tree *cgroups, struct channel *supervisor, struct err *e);

/* --- between the parts of the executor ---------------------------------- */

/* NULL if it has gone, or could not be told something: then it hears no more
 * and ends with this turn of the loop. */
struct peer *executor_peer(const struct executor *x,
    struct generation generation);
/* Note that a message could not be sent (r < 0): the peer will be ended. */
void executor_sent(struct peer *p, int r);
/* Tell the audit log; pairs is name, value, ..., NULL. Numbers are text. */
void executor_audit(struct executor *x, const char *event,
    const char *const *pairs);

/* What handles a message of a net: 0, or -EPROTO with e if the message breaks
 * the contract. msg is of the type in its name. */
typedef int executor_handler(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e);

/* executor_session.c */
executor_handler executor_on_session_open;
executor_handler executor_on_session_close;
struct session *executor_session(const struct executor *x,
    struct generation generation, uint32_t id);
/* One of our own, that no net knows: NULL with e if there can be none. */
struct session *executor_session_own(struct executor *x, struct err *e);
bool executor_session_is_own(const struct session *s);
/* End a session: its leases too. */
void executor_session_end(struct executor *x, struct session *s);
/* Free it if it is closed and nothing of it is left. */
void executor_session_settle(struct executor *x, struct session *s);
/* Give up on helpers that take too long; the next such time or -1. */
int64_t executor_session_deadlines(struct executor *x, int64_t now_ms);

/* executor_start.c */
executor_handler executor_on_process_start;
/* The starts that waited for s, which is no longer opening. */
void executor_process_resume(struct executor *x, struct session *s);

/* Why there is no process. */
struct start_refusal {
	enum refuse_reason reason;
	const char *text;   /* for the client */
	enum layer missing; /* for data of the error, LAYER_NONE: none */
	int errnum;
};

#define START_CROWDED                                                          \
	"busy: limits.session_processes_total or "                             \
	"limits.child_processes_total leaves no room for a process; try "      \
	"again later"

/* executor_process.c: what net hears of a start that comes to nothing. */
void executor_refuse_start(struct executor *x, const struct session *s,
    uint32_t number, const struct start_refusal *why);
void executor_fail_start(struct executor *x, struct generation generation,
    uint32_t number, enum stage stage, uint32_t errnum);
/* Spawn in s and watch. 0 with the lease in *out, or a negative errno, and then
 * nothing is left. */
must_use int executor_launch(struct executor *x, struct session *s,
    uint32_t number, struct order *order, struct lease **out);
/* What names the program that is launched next. */
void executor_next_id(const struct executor *x, char out[EXECUTOR_ID_MAX]);
/* Nothing of it is left: tell net and forget it. */
void executor_lease_gone(struct executor *x, struct lease *l);

/* executor_prepare.c: a start that has not come to its program. */
executor_handler executor_on_process_cancel;

/* executor_control.c */
executor_handler executor_on_process_signal;
executor_handler executor_on_process_terminate;
executor_handler executor_on_process_resize;
/* End what it runs, wherever that is. */
void executor_lease_end(struct executor *x, struct lease *l);
/* The running lease that net means. NULL with *r 0 if it has ended, which is no
 * error; NULL with *r -EPROTO if it never was, or is not that session's. */
struct lease *executor_lease(const struct executor *x, const struct peer *p,
    uint32_t session, uint32_t id, int *r);

/*
 * executor_sockets.c: the host's sockets that a start from that template is to
 * cover, in *out, owned by the caller; NULL if there are none, as mostly. 0 or
 * a negative errno.
 */
must_use int executor_sockets_for(struct executor *x, const struct session *s,
    const struct template_start *from, const char ***out);
/* A session's view is going to be made: it covers what there is. */
void executor_sockets_open(struct executor *x, struct session *s);
/* The lease covers what that said; and has done so, as it runs. */
void executor_sockets_asked(const struct executor *x, const struct session *s,
    const struct template_start *from, struct lease *l);
void executor_sockets_done(struct executor *x, const struct lease *l);

/* executor_placeholder.c: the lease is at its end, and with it what it relied
 * upon. */
void executor_release(struct executor *x, struct lease *l);
/* Give up on a removal that takes too long; that time or -1. */
int64_t executor_placeholder_deadline(struct executor *x, int64_t now_ms);

/* executor_worker.c */
executor_handler executor_on_worker_open;
executor_handler executor_on_worker_kill;
/* A worker that waited for its session. */
void executor_worker_resume(struct executor *x, struct session *s,
    const struct waiting *w);
/* It serves, or failed at a stage: tell net. */
void executor_worker_opened(struct executor *x, struct lease *l);
void executor_worker_failed(struct executor *x, const struct lease *l,
    enum stage stage, uint32_t errnum);

/* executor_config.c: from the supervisor, a new configuration. What is wrong
 * with it is told by EXEC_APPLIED. 0, or a negative errno with e. */
must_use int executor_on_new_config(struct executor *x, struct msg *msg,
    struct err *e);
must_use int executor_on_exec_apply(struct executor *x, const struct msg *msg,
    struct err *e);

/* executor_http.c */
executor_handler executor_on_http_open;
executor_handler executor_on_http_kill;
/* End a session's, if it has one. */
void executor_http_end(struct executor *x, struct generation generation,
    uint32_t session);
/* End and forget all. */
void executor_http_done(struct executor *x);

#endif
