/*
 * Watching a tree of processes from outside with ptrace. Nothing of their
 * confinement changes: every filter, mount and limit holds as without it. What
 * is seen is each system call that was answered with an error.
 */
#ifndef SUPERVISOR_POLICY_TRACE_H
#define SUPERVISOR_POLICY_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/err.h"

#define TRACE_PROCESSES_MAX 8192
#define TRACE_ARGS	    6

/* A call that failed; while a watcher is told of it its process stands still.
 */
struct trace_call {
	pid_t pid;
	uint64_t number;
	uint64_t args[TRACE_ARGS];
	int errnum; /* positive */
};

struct trace_watcher {
	void (*on_call)(void *context, const struct trace_call *call);
	/* A process was ended by SIGSYS: a filter kills for such a call. */
	void (*on_killed)(void *context, pid_t pid);
	void *context;
};

struct tracee;

struct trace {
	struct trace_watcher watcher;
	struct tracee *items; /* owned */
	size_t count, room;
	bool overflow; /* there were more than TRACE_PROCESSES_MAX */
};

/*
 * Watch pid, which stands still by SIGSTOP, and all that it will start; it goes
 * on when trace_event is called. Whoever is watched dies with us. Returns 0;
 * -EPERM if this host lets nobody trace; another negative errno; with e.
 */
must_use int trace_begin(struct trace *t, pid_t pid,
    const struct trace_watcher *watcher, struct err *e);

/* Handle what waitpid, with __WALL, said of a child of ours. False if pid is
 * not watched. */
bool trace_event(struct trace *t, pid_t pid, int status);

/* Whether anybody is watched still. */
bool trace_is_over(const struct trace *t);
void trace_done(struct trace *t);

#endif
