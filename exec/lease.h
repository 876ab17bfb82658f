/*
 * A lease: exec's record that a session keeps a child alive. It ends with the
 * child, its session or its net, and is gone when the child's whole tree is.
 */
#ifndef EXEC_LEASE_H
#define EXEC_LEASE_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/ids.h"
#include "exec/capture.h"
#include "exec/cgroup.h"
#include "exec/control.h"
#include "exec/placeholder.h"
#include "exec/raw.h"
#include "exec/source.h"
#include "exec/spawn.h"

struct job;

enum lease_state {
	LEASE_STARTING, /* net knows it by its request number only */
	LEASE_FAILED,	/* net was told; the remains are being cleared */
	LEASE_RUNNING,	/* net knows it by its id */
};

struct lease {
	LIST_ENTRY(lease) link;
	struct lease_id id;
	struct generation generation;
	struct session_id session;
	unsigned int slot; /* of the session */
	uint32_t number;   /* of net's request */
	enum lease_state state;
	/* Once it runs, its session's set has these sockets covered. */
	enum template_set set;
	uint32_t sockets;
	bool tty, pipe_stdin;
	/* It is a file worker: net's end of its channel until that is handed
	 * over. */
	bool worker;
	int worker_end;
	/* Of a backend: what it runs, or what it is a command for. */
	struct job *job, *command_of;
	struct captures *said; /* owned: its streams are read here; or NULL */
	bool exited;	       /* PROCESS_EXITED was sent */
	bool bare;	       /* init ends the tree, not the kernel */
	bool killed;	       /* by us */
	bool heard;	       /* a status record came; last is it */
	enum end_reason limit; /* we did, for that: END_WALL_TIME, _CPU_TOTAL */
	int64_t deadline_ms;   /* when its time is over; 0: never */
	int64_t cpu_check_ms;  /* when its CPU time may be; 0: never */
	unsigned int cpu_misses; /* looks at it in a row that failed */
	struct cgroup group;	 /* its own, in that of its session */
	uint64_t refused_forks;	 /* in its group, when it started */
	struct status_record last;
	struct source pidfd, status, control;
	struct placeholder_hold hold; /* released before the lease is freed */
};

/* A lease in state STARTING over what spawn yielded, which it takes. NULL when
 * out of memory; *s is then untouched. */
struct lease *lease_new(struct lease_id id, const struct spawned *s);
/* Close everything. The child, if there is one left, is not ended by this. */
void lease_free(struct lease *l);

/* End the whole tree: by killing init, or by telling it to kill. That of a
 * finished one is harmless. */
void lease_kill(struct lease *l);

/* Tell init something. If it cannot be told the child is ended. */
void lease_tell(struct lease *l, enum control_type type, uint32_t a,
    uint32_t b);

/*
 * Read the status pipe. Returns 1 at its end, when nothing more will be said;
 * -EAGAIN before.
 */
must_use int lease_read_status(struct lease *l);

/* Take the streams that init made: 1 to 3 descriptors. 0, or -EPROTO. */
must_use int lease_take_streams(const struct lease *l,
    int fds[CONTROL_STREAMS_MAX], size_t *count);

/* Take what is left of init's reports at its end, and note what it made. */
void lease_read_made(const struct lease *l);

/* Whether init has reported the program's end; then its wait status. */
must_use bool lease_read_exit(const struct lease *l, uint32_t *status);

#endif
