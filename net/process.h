/* A process of a session, as the client sees it. */
#ifndef NET_PROCESS_H
#define NET_PROCESS_H

#include "net/rpc.h"
#include "net/session.h"
#include "net/stream.h"

enum process_state {
	PROCESS_STARTING, /* exec was asked */
	PROCESS_RUNNING,
	PROCESS_EXITED, /* streams may still be open */
	PROCESS_CLOSED, /* all is over; kept for reading */
};

/* A process/read that waits for something new. */
struct waiter {
	TAILQ_ENTRY(waiter) link;
	struct process *process;
	struct rpc_later later;
	uint64_t after_seq, max_bytes;
	struct timer timer;
};

/* A writeId that was seen. */
struct write_id {
	TAILQ_ENTRY(write_id) link;
	uint64_t hash;
	size_t len;
	uint8_t data[];
};

struct process {
	TAILQ_ENTRY(process) link;
	TAILQ_ENTRY(process) finished_link; /* once closed */
	struct session *session;
	struct bytes id; /* the client's key; heap, owned */
	enum process_state state;
	bool tty;
	/* Asked for while starting: */
	bool terminate_wanted, interrupt_wanted, close_stdin_wanted;
	uint32_t rows_wanted, cols_wanted; /* 0: not asked for */
	uint32_t number;		   /* of PROCESS_START */
	struct lease_id lease;
	const char *sandbox_type;
	struct rpc_later start;
	struct output output;
	struct stream streams[2];
	struct input input;
	int exit_code;
	/* It ended by the signal with which our filters kill. */
	bool sandbox_denied;
	const char *failure; /* why it was ended; static; NULL: for no reason */
	TAILQ_HEAD(, waiter) waiters;
	TAILQ_HEAD(, write_id) write_ids;
	size_t write_id_count;
	struct timer retention; /* once closed */
};

/* The session's process with that id, or NULL. */
struct process *process_find(struct session *s, struct bytes id);

/* Answer that there is no such process. process_id is within its bound. */
void process_unknown(struct connection *c, const struct rpc_id *id,
    struct bytes process_id);

bool process_is_live(const struct process *p);
void process_free(struct process *p);

/* Drop the oldest writeId. There is one. */
void process_forget_write_id(struct process *p);

/* The connection has gone: nobody waits for answers any more. */
void process_detach(struct process *p);
void process_resume_streams(struct process *p);

/* From stream.c. */
void process_on_output(struct process *p, enum stream_kind kind,
    struct bytes data);
void process_on_eof(struct process *p);

/* From exec; net.c dispatches. */
void process_on_started(struct net *n, struct msg *m);
void process_on_refused(struct net *n, const struct msg_process_refused *m);
void process_on_failed(struct net *n, const struct msg_process_failed *m);
void process_on_exited(struct net *n, const struct msg_process_exited *m);

/* process_read.c: answer those waiters that have something to read now, or
 * whose session has lost its connection. */
void process_wake(struct process *p);
void process_drop_waiters(struct process *p);

#endif
