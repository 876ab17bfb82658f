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

/* A start on its way through the checks. */
struct start {
	struct executor *x;
	struct session *session;
	uint32_t number;
	struct bytes packed; /* the spec as it came */
	struct spec spec;
	struct plan plan;
	/* Why it is refused, for data of the error */
	enum layer missing;
	int errnum;
};

#define CROWDED                                                                \
	"busy: limits.session_processes_total or "                             \
	"limits.child_processes_total leaves no room for a process; try "      \
	"again later"

/* --- answers to net ------------------------------------------------------ */

static void
audit_refused(const struct start *s, const char *text)
{
	char id[16];

	(void)snprintf(id, sizeof id, "%u", s->session->id.v);
	executor_audit(s->x, "process_refused",
	    (const char *[]){"session", id, "reason", text, NULL});
}

static void
answer_refused(const struct start *s, enum refuse_reason reason,
    const char *text)
{
	const struct msg_process_refused m = {.number = s->number,
	    .reason = (uint32_t)reason,
	    .feature = s->missing,
	    .errnum = (uint32_t)s->errnum,
	    .text = bytes_of(text)};
	struct peer *p = executor_peer(s->x, s->session->generation);

	audit_refused(s, text);
	if (p != NULL)
		executor_sent(p,
		    channel_send_process_refused(p->channel, &m, NULL, 0));
}

static void
answer_failed(struct executor *x, struct generation generation, uint32_t number,
    enum stage stage, uint32_t errnum)
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
	const struct start s = {.x = x,
	    .session = x->sessions[l->slot],
	    .number = l->number};

	l->state = LEASE_FAILED;
	answer_refused(&s, REFUSE_BUSY, CROWDED);
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
		answer_failed(x, l->generation, l->number, stage, errnum);
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
	if (l->command_of != NULL)
		return;
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

static void
tell_narrowed(const struct start *s)
{
	char id[16];

	if (!s->plan.network_narrowed)
		return;
	(void)snprintf(id, sizeof id, "%u", s->session->id.v);
	executor_audit(s->x, "network_narrowed",
	    (const char *[]){"session", id, NULL});
}

/* A backend's command holds values of variables: what is told is the program
 * that it starts. */
static void
audit_start(const struct start *s, const struct lease *l,
    const struct order *order, bool elsewhere)
{
	struct order told = *order;
	struct cvec argv = {0};

	if (elsewhere) {
		if (cvec_make(&argv, s->spec.argv) < 0)
			return;
		told.argv = argv.v;
		told.file = argv.v[0];
	}
	executor_audit_start(s->x, s->session, l, &told, &s->plan,
	    s->spec.sandbox);
	cvec_done(&argv);
}

/* Launch spec, which is what b says if there is one. */
static void
start_program(const struct start *s, const struct spec *spec, struct bytes env,
    struct backend_start *b)
{
	const struct template_start *from =
	    template_for(&s->session->template, s->session->config, &s->plan);
	scoped_free const char **sockets = NULL;
	struct order_store store;
	struct lease *l;
	int r = executor_sockets_for(s->x, s->session, from, &sockets);

	if (r < 0) {
		answer_failed(s->x, s->session->generation, s->number,
		    STAGE_SOCKETS, (uint32_t)-r);
		return;
	}
	r = order_make(&store,
	    &(struct order_source){.config = s->session->config,
		.probe = s->x->probe,
		.start = from,
		.plan = &s->plan,
		.sockets = sockets,
		.spec = spec,
		.env = env});
	if (r == 0)
		r = executor_launch(s->x, s->session, s->number, &store.order,
		    &l);
	if (r == 0) {
		executor_sockets_asked(s->x, s->session, from, l);
		audit_start(s, l, &store.order, b != NULL);
	}
	if (r == 0 && b != NULL)
		executor_backend_launched(b, l);
	tell_narrowed(s);
	order_done(&store);
	/* A clone into a group that is full. */
	if (r == -EAGAIN && cgroup_tree_is_open(s->x->cgroups))
		answer_refused(s, REFUSE_BUSY, CROWDED);
	else if (r < 0)
		answer_failed(s->x, s->session->generation, s->number,
		    STAGE_CLONE, (uint32_t)-r);
}

/* The same by the backend's command, of which net learns nothing. */
static void
start_elsewhere(const struct start *s, struct bytes env)
{
	struct backend_start b;
	struct err e = {0};
	int r = executor_backend_start(s->x, s->session, &s->spec, env, &b, &e);

	if (r < 0)
		answer_refused(s, REFUSE_INVALID, e.text);
	else
		start_program(s, &b.spec, (struct bytes){b.env.data, b.env.len},
		    &b);
	if (b.job != NULL)
		executor_backend_unlaunched(s->x, &b);
	backend_start_done(&b);
}

static void
start_planned(const struct start *s)
{
	scoped_buf env = {.max = EXECUTOR_ENV_MAX};
	struct bytes list;
	struct err e = {0};

	if (executor_env(s->x, s->session, &s->spec, &s->plan, &env, &e) < 0) {
		answer_refused(s, REFUSE_INVALID, e.text);
		return;
	}
	list = (struct bytes){.data = env.data, .len = env.len};
	if (s->session->config->backend.on)
		start_elsewhere(s, list);
	else
		start_program(s, &s->spec, list, NULL);
}

/* A backend's commands may be as many again: those that finalize refused starts
 * belong to no program that would count. */
static bool
has_room(const struct start *s)
{
	const struct limits *l = &s->session->config->limits;

	return s->x->command_count < l->processes_max &&
	       s->session->command_count < l->session_processes_max &&
	       s->x->lease_count - s->x->worker_count - s->x->command_count <
		   l->processes_max &&
	       s->session->lease_count - s->session->worker_count -
		       s->session->command_count <
		   l->session_processes_max;
}

/* The backend's command has the session's ceiling, whatever is asked for, as
 * nothing else is enforced where the program runs. */
static int
plan_elsewhere(struct start *s, struct err *e)
{
	const struct plan_request q = {.template = &s->session->template,
	    .probe = s->x->probe};
	int r = executor_backend_check(s->session, &s->spec, e);

	return r < 0 ? r : executor_plan(s->session->config, &q, &s->plan, e);
}

static int
plan_start(struct start *s, struct err *e)
{
	const struct plan_request q = {.sandbox = s->spec.sandbox,
	    .cwd = s->spec.cwd,
	    .managed_network = s->spec.managed_network,
	    .network_proxy = s->spec.network_proxy,
	    .template = &s->session->template,
	    .probe = s->x->probe,
	    .missing = &s->missing};
	int r = s->session->config->backend.on
		    ? plan_elsewhere(s, e)
		    : executor_plan(s->session->config, &q, &s->plan, e);

	if (s->missing != LAYER_NONE)
		s->errnum = s->x->probe->errnum[s->missing];
	return r;
}

static void
wait_turn(const struct start *s)
{
	if (session_wait(s->session, s->number, false, s->packed) < 0)
		answer_refused(s, REFUSE_BUSY, "too many waiting starts");
}

/* The session is ready, refused or closed. */
static void
start_in(struct start *s)
{
	struct err e = {0};
	int r;

	if (s->session->state != SESSION_READY) {
		s->errnum = s->session->errnum;
		answer_refused(s, REFUSE_SESSION,
		    s->session->state == SESSION_REFUSED
			? s->session->text
			: "the session is closed");
		return;
	}
	r = plan_start(s, &e);
	if (r < 0) {
		answer_refused(s, executor_plan_reason(r), e.text);
		return;
	}
	if (placeholder_is_leaving(&s->x->placeholders, &s->plan))
		wait_turn(s);
	else if (!has_room(s))
		answer_refused(s, REFUSE_BUSY, "too many processes");
	else
		start_planned(s);
	plan_done(&s->plan);
}

int
executor_on_process_start(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e)
{
	const struct msg_process_start *m = &msg->u.process_start;
	struct start s = {.x = x,
	    .session = executor_session(x, p->generation, m->session),
	    .number = m->number,
	    .packed = m->spec};
	int r = spec_unpack(m->spec, &s.spec, e);

	if (r < 0)
		return r;
	if (s.session == NULL)
		return err_set(e, EPROTO, "session %u is not open", m->session);
	if (s.session->state == SESSION_OPENING)
		wait_turn(&s);
	else
		start_in(&s);
	return 0;
}

void
executor_process_resume(struct executor *x, struct session *session)
{
	/* One that has to wait again comes last. */
	for (size_t n = session->waiting_count; n > 0; n--) {
		struct waiting *w = session_next_waiting(session);
		struct start s = {.x = x,
		    .session = session,
		    .number = w->number,
		    .packed = {.data = w->spec, .len = w->len}};

		/* It was whole when it came. */
		if (w->worker)
			executor_worker_resume(x, session, w);
		else if (spec_unpack(s.packed, &s.spec, NULL) == 0)
			start_in(&s);
		free(w);
	}
}
