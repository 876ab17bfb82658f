/*
 * Programs that a command of the administrator's starts somewhere else, in a
 * container or on another host, and the further commands that reach them
 * there. The commands run in the sandbox of the session.
 *
 * A job is one such program, from its start to the end of its last command:
 *
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

/* Forget every job: its leases are about to be freed. */
void executor_backend_done(struct executor *x);

#endif
