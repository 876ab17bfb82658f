#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/log.h"
#include "exec/executor.h"
#include "exec/executor_audit.h"
#include "exec/executor_backend.h"
#include "exec/executor_env.h"
#include "exec/executor_limits.h"
#include "exec/executor_plan.h"
#include "exec/order_make.h"

/* --- answers to net ------------------------------------------------------ */

void
executor_refuse_start(struct executor *x, const struct session *session,
    uint32_t number, const struct start_refusal *why)
{
	const struct msg_process_refused m = {.number = number,
	    .reason = (uint32_t)why->reason,
	    .feature = why->missing,
	    .errnum = (uint32_t)why->errnum,
	    .text = bytes_of(why->text)};
	struct peer *p = executor_peer(x, session->generation);
	char id[16];

	(void)snprintf(id, sizeof id, "%u", session->id.v);
	executor_audit(x, "process_refused",
	    (const char *[]){"session", id, "reason", why->text, NULL});
	if (p != NULL)
		executor_sent(p,
		    channel_send_process_refused(p->channel, &m, NULL, 0));
}

void
executor_fail_start(struct executor *x, struct generation generation,
    uint32_t number, enum stage stage, uint32_t errnum)
{
	const struct msg_process_failed m = {.number = number,
	    .stage = (uint32_t)stage,
	    .errnum = errnum};
	struct peer *p = executor_peer(x, generation);

	if (p != NULL)
		executor_sent(p,
		    channel_send_process_failed(p->channel, &m, NULL, 0));
}

/* Two pairs at most; NULL ends them. */
static void
audit_pairs(struct executor *x, const char *event, const struct lease *l,
    const char *const pairs[4])
{
	char lease[16], session[16], generation[16];

	(void)snprintf(lease, sizeof lease, "%u", l->id.v);
	(void)snprintf(session, sizeof session, "%u", l->session.v);
	(void)snprintf(generation, sizeof generation, "%u", l->generation.v);
	executor_audit(x, event,
	    (const char *[]){"lease", lease, "session", session, "generation",
		generation, pairs[0], pairs[1], pairs[2], pairs[3], NULL});
}

static void
audit_lease(struct executor *x, const char *event, const struct lease *l,
    const char *name, const char *value)
{
	audit_pairs(x, event, l, (const char *[]){name, value, NULL, NULL});
}

/* --- the end of a lease -------------------------------------------------- */

static void
send_exited(struct executor *x, struct lease *l, uint32_t status)
{
	struct msg_process_exited m = {.lease = l->id.v, .status = status};
	struct peer *p = executor_peer(x, l->generation);
	const char *words;
	char text[16];

	if (l->exited || l->state != LEASE_RUNNING || l->worker)
		return;
	l->exited = true;
	if (l->job != NULL)
		executor_backend_exited(l, status);
	m.reason = executor_limits_why(x, l, status);
	words = end_reason_words(m.reason);
	(void)snprintf(text, sizeof text, "%u", status);
	audit_pairs(x, "process_exit", l,
	    (const char *[]){"status", text, words == NULL ? NULL : "reason",
		words});
	if (p != NULL)
		executor_sent(p,
		    channel_send_process_exited(p->channel, &m, NULL, 0));
}

static void
control_ready(struct executor *x, struct source *source)
{
	struct lease *l = source->owner;
	uint32_t status;

	if (lease_read_exit(l, &status))
		send_exited(x, l, status);
	/* Nothing follows: the end of init itself is its pidfd's to tell. */
	if (source_watch(x->epfd, &l->control, 0) < 0)
		lease_kill(l);
}

static void status_ready(struct executor *x, struct source *source);

void
executor_lease_gone(struct executor *x, struct lease *l)
{
	const struct msg_process_gone m = {.lease = l->id.v};
	struct session *s = x->sessions[l->slot];
	struct peer *p = executor_peer(x, l->generation);

	if (p != NULL && l->state == LEASE_RUNNING && !l->worker &&
	    l->command_of == NULL)
		executor_sent(p,
		    channel_send_process_gone(p->channel, &m, NULL, 0));
	LIST_REMOVE(l, link);
	x->lease_count--;
	s->lease_count--;
	x->worker_count -= l->worker;
	s->worker_count -= l->worker;
	x->command_count -= l->command_of != NULL;
	s->command_count -= l->command_of != NULL;
	executor_release(x, l);
	executor_limits_drop(s, &l->group);
	lease_free(l);
	executor_session_settle(x, s);
}

/* Init was killed, and the program by its end, unless it had reported
 * before. */
static uint32_t
last_status(struct lease *l)
{
	uint32_t status;

	return lease_read_exit(l, &status) ? status : SIGKILL;
}

/* Nothing of the tree is left. */
static void
pidfd_ready(struct executor *x, struct source *source)
{
	struct lease *l = source->owner;
	struct rusage usage = {0};
	siginfo_t info;

	if (l->state == LEASE_STARTING)
		status_ready(x, &l->status);
	if (l->state == LEASE_RUNNING && !l->exited && l->command_of == NULL)
		send_exited(x, l, last_status(l));
	/* The C library's has no room for the usage. */
	(void)syscall(SYS_waitid, P_PIDFD, l->pidfd.fd, &info,
	    WEXITED | WNOHANG, &usage);
	if (l->state == LEASE_RUNNING && !l->worker && l->command_of == NULL)
		executor_audit_gone(x, l, &usage);
	if (l->job != NULL) {
		source_close(&l->pidfd);
		if (executor_backend_gone(x, l))
			return;
	}
	if (l->command_of != NULL)
		executor_backend_command_gone(x, l);
	executor_lease_gone(x, l);
}

/* --- the end of a start -------------------------------------------------- */

/* Init could not fork, as its group has no room. */
static void
start_crowded(struct executor *x, struct lease *l)
{
	const struct start_refusal why = {.reason = REFUSE_BUSY,
	    .text = START_CROWDED};

	l->state = LEASE_FAILED;
	executor_refuse_start(x, x->sessions[l->slot], l->number, &why);
	lease_kill(l);
}

static void
start_failed(struct executor *x, struct lease *l, enum stage stage,
    uint32_t errnum)
{
	char text[48];

	(void)snprintf(text, sizeof text, "%s: errno %u", stage_words(stage),
	    errnum);
	if (errnum == EAGAIN && !l->worker && l->command_of == NULL &&
	    executor_limits_lack_processes(x, l)) {
		start_crowded(x, l);
		return;
	}
	audit_lease(x,
	    l->worker		    ? "worker_failed"
	    : l->command_of != NULL ? "backend_command_failed"
				    : "process_failed",
	    l, "stage", text);
	l->state = LEASE_FAILED;
	if (l->worker)
		executor_worker_failed(x, l, stage, errnum);
	else if (l->command_of == NULL)
		executor_fail_start(x, l->generation, l->number, stage, errnum);
	lease_kill(l);
}

/* A command is over with its program: what that has left would hold up what
 * waits for the command. The report stays where it is, to be read at the end.
 */
static void
command_ready(struct executor *x, struct source *source)
{
	struct lease *l = source->owner;

	if (source_watch(x->epfd, &l->control, 0) == 0)
		lease_kill(l);
}

/* A command whose words are wanted. */
static void
hear(struct executor *x, struct lease *l, const int fds[2])
{
	if (l->said != NULL &&
	    captures_begin(l->said, x->epfd, fds[0], fds[1]) < 0)
		lease_kill(l);
}

static void
start_done(struct executor *x, struct lease *l)
{
	const struct msg_process_started m = {.number = l->number,
	    .lease = l->id.v,
	    .tty = l->tty,
	    .has_stdin = l->tty || l->pipe_stdin};
	struct peer *p = executor_peer(x, l->generation);
	int fds[CONTROL_STREAMS_MAX];
	size_t count;

	if (l->worker) {
		executor_worker_opened(x, l);
		return;
	}
	if (lease_take_streams(l, fds, &count) < 0) {
		start_failed(x, l, STAGE_STDIO, EPROTO);
		return;
	}
	l->state = LEASE_RUNNING;
	executor_sockets_done(x, l);
	if (l->command_of != NULL) {
		hear(x, l, fds);
		l->control.ready = command_ready;
		if (source_watch(x->epfd, &l->control, EPOLLIN) < 0)
			lease_kill(l);
		return;
	}
	if (l->job != NULL)
		executor_backend_running(l);
	l->control.ready = control_ready;
	if (source_watch(x->epfd, &l->control, EPOLLIN) < 0)
		lease_kill(l);
	if (p != NULL) {
		executor_sent(p,
		    channel_send_process_started(p->channel, &m, fds, count));
		return;
	}
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

static void
status_ready(struct executor *x, struct source *source)
{
	struct lease *l = source->owner;

	if (lease_read_status(l) == -EAGAIN)
		return;
	source_close(&l->status);
	if (!l->heard)
		start_failed(x, l, STAGE_CLONE, ECANCELED);
	else if (l->last.stage != STAGE_EXEC || l->last.errnum != 0)
		start_failed(x, l,
		    l->last.stage < STAGE_COUNT ? (enum stage)l->last.stage
						: STAGE_CLONE,
		    l->last.errnum);
	else
		start_done(x, l);
}

/* --- a start ------------------------------------------------------------- */

int
executor_launch(struct executor *x, struct session *session, uint32_t number,
    struct order *order, struct lease **out)
{
	struct placeholder_hold hold;
	struct limits_entry entry;
	struct spawned sp;
	struct lease *l;
	int r = placeholder_hold(&x->placeholders, order->plan, &hold);

	if (r < 0)
		return r;
	r = executor_limits_order(x, session, x->last_lease + 1, order, &entry);
	if (r == 0)
		r = spawn(order, &sp);
	if (r < 0) {
		executor_limits_drop(session, &entry.own);
		(void)placeholder_release(&hold);
		return r;
	}
	l = lease_new((struct lease_id){x->last_lease + 1}, &sp);
	if (l == NULL) {
		executor_limits_drop(session, &entry.own);
		(void)placeholder_release(&hold);
		/* A bare one ends by the end of its control socket. */
		if (!order->bare)
			(void)raw_pidfd_signal(sp.pidfd, SIGKILL);
		(void)close(sp.pidfd);
		(void)close(sp.status);
		(void)close(sp.control);
		return -ENOMEM;
	}
	x->last_lease++;
	l->hold = hold;
	l->generation = session->generation;
	l->session = session->id;
	l->slot = session->slot;
	l->number = number;
	l->tty = order->tty;
	l->pipe_stdin = order->pipe_stdin;
	l->bare = order->bare;
	l->pidfd.ready = pidfd_ready;
	l->status.ready = status_ready;
	LIST_INSERT_HEAD(&x->leases, l, link);
	x->lease_count++;
	session->lease_count++;
	executor_limits_start(x, l, &entry, order->worker_fd < 0);
	r = source_watch(x->epfd, &l->pidfd, EPOLLIN);
	/* Its end alone is of interest: a record before it wakes nobody. */
	if (r == 0)
		r = source_watch(x->epfd, &l->status, EPOLLHUP);
	if (r < 0)
		lease_kill(l);
	*out = l;
	return 0;
}
