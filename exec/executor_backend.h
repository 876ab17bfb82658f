/*
 * Programs that a command of the administrator's starts somewhere else, in a
 * container or on another host, and the further commands that reach them
 * there. The commands run in the sandbox of the session.
 *
 * A job is one such program, from its start to the end of its last command:
 *
 *   prepare     before start, which waits for it; its failure is the start's
 *   start       ends with the program; its streams are the program's
 *   signal      whenever a client interrupts it
 *   terminate   when it is to be ended, and again when start has not followed,
 *               and when start has ended: there what it left behind is not
 *               part of start's own tree
 *   finalize    once, at the very end, with what became of it
 *
 * Net hears that the process is gone after the last of them.
 */
#ifndef EXEC_EXECUTOR_BACKEND_H
#define EXEC_EXECUTOR_BACKEND_H

#include "exec/executor.h"
#include "exec/order_make.h"

/* Bytes of an argument vector: a request's, quoted. */
#define BACKEND_ARGV_MAX (4 * PROCESS_SPEC_MAX)

/* What takes the place of a request's program, environment and directory. */
struct backend_start {
	struct job *job; /* owned until it has a lease */
	struct spec spec;
	struct buf argv, env;
};

/* Whether spec asks for nothing that cannot be enforced elsewhere. 0, or
 * -EOPNOTSUPP with words for the client in e. */
must_use int executor_backend_check(const struct session *s,
    const struct spec *spec, struct err *e);

/*
 * Make the job of a start with spec in session s, whose program is to have the
 * variables env. Returns 0; -EINVAL with words for the client in e; -EMSGSIZE,
 * -ENOMEM. Release b with backend_start_done in any case.
 */
must_use int executor_backend_start(struct executor *x, struct session *s,
    const struct spec *spec, struct bytes env, struct backend_start *b,
    struct err *e);
void backend_start_done(struct backend_start *b);

/*
 * Run what is to come before the start of b, which net asked for as number with
 * packed. 1: it does, took b, and executor_start_prepared or a refusal follows;
 * 0: there is nothing to run; -ENOMEM, -EIO.
 */
must_use int executor_backend_prepare(struct executor *x,
    struct backend_start *b, uint32_t number, struct bytes packed);
/* Give it up if l is such a command: its start is refused. */
void executor_backend_cancel(struct lease *l);
/* executor_start.c: it succeeded. b->job is taken if there is a lease, or net
 * was told that there is none. */
void executor_start_prepared(struct executor *x, struct session *s,
    struct backend_start *b, uint32_t number, struct bytes packed);
/* executor_backend_worker.c: the same for a command that leads to a file worker
 * elsewhere, in a session whose backend has such. */
must_use int executor_backend_worker(struct executor *x, struct session *s,
    const struct plan *plan, struct backend_start *b, struct err *e);

/* The lease runs what b says. */
void executor_backend_launched(struct backend_start *b, struct lease *l);
/* There will be no lease: finalize. */
void executor_backend_unlaunched(struct executor *x, struct backend_start *b);

/* Start has become the command: the program runs, or is about to. */
void executor_backend_running(struct lease *l);

/* Interrupt, or end, the program of l, which has a job. */
void executor_backend_interrupt(struct executor *x, struct lease *l);
void executor_backend_end(struct executor *x, struct lease *l);
/* Its deadline has come. True if that was for the end of its program, which
 * goes on. */
must_use bool executor_backend_due(struct executor *x, struct lease *l);
/* What became of the program of l: a wait status. */
void executor_backend_exited(const struct lease *l, uint32_t status);
/* Whether that status means that it has not come to the program. */
bool executor_backend_lost(const struct lease *l);

/* The tree of l is gone. True if it is to be kept: commands follow, and then
 * executor_lease_gone. */
must_use bool executor_backend_gone(struct executor *x, struct lease *l);
/* A command, which l was, is gone. */
void executor_backend_command_gone(struct executor *x, struct lease *l);

/*
 * executor_inspect.c: find out whether programs have a network where they run,
 * if the configuration asks to, and tell the supervisor: x->config has it then.
 * Takes a session of our own, which ends with it.
 */
void executor_inspect(struct executor *x);
/* That session is ready or refused. */
void executor_inspect_ready(struct executor *x, struct session *s);

/* Forget every job: its leases are about to be freed. */
void executor_backend_done(struct executor *x);

#endif
