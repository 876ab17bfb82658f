/* File workers: started as children are, but serving net instead of a
 * program. */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "exec/executor.h"
#include "exec/executor_backend.h"
#include "exec/executor_plan.h"
#include "exec/order_make.h"
#include "privsep/sandbox_spec.h"

/* What a WORKER_REFUSED says. */
struct refusal {
	enum refuse_reason reason;
	enum stage stage;
	uint32_t errnum;
	const char *text;
};

static void
refuse(struct executor *x, struct generation generation, uint32_t number,
    const struct refusal *why)
{
	const struct msg_worker_refused m = {.number = number,
	    .reason = (uint32_t)why->reason,
	    .stage = (uint32_t)why->stage,
	    .errnum = why->errnum,
	    .text = bytes_of(why->text)};
	struct peer *p = executor_peer(x, generation);

	log_info("worker_refused generation=%u stage=%s errno=%u %s",
	    generation.v, stage_words(m.stage), why->errnum, why->text);
	if (p != NULL)
		executor_sent(p,
		    channel_send_worker_refused(p->channel, &m, NULL, 0));
}

/* Refused before anything was started. */
static void
refuse_in(struct executor *x, const struct session *s, uint32_t number,
    const struct refusal *why)
{
	char session[16];

	(void)snprintf(session, sizeof session, "%u", s->id.v);
	executor_audit(x, "worker_refused",
	    (const char *[]){"session", session, "reason",
		why->text[0] != '\0' ? why->text
				     : stage_words((uint32_t)why->stage),
		NULL});
	refuse(x, s->generation, number, why);
}

void
executor_worker_failed(struct executor *x, const struct lease *l,
    enum stage stage, uint32_t errnum)
{
	refuse(x, l->generation, l->number,
	    &(struct refusal){.reason = REFUSE_SESSION,
		.stage = stage,
		.errnum = errnum,
		.text = ""});
}

/* The bridge has ended: nothing is left for its command to do. */
static void
bridge_ended(struct executor *x, struct source *source)
{
	struct lease *l = source->owner;

	lease_kill(l);
	if (source_watch(x->epfd, source, 0) < 0)
		source_close(source);
}

/* A worker elsewhere: its command runs. */
static void
watch_bridge(struct executor *x, struct lease *l)
{
	executor_backend_running(l);
	executor_sockets_done(x, l);
	l->control.ready = bridge_ended;
	if (source_watch(x->epfd, &l->control, EPOLLIN) < 0)
		lease_kill(l);
}

void
executor_worker_opened(struct executor *x, struct lease *l)
{
	const struct msg_worker_opened m = {.number = l->number,
	    .lease = l->id.v};
	struct peer *p = executor_peer(x, l->generation);
	int fd = fd_take(&l->worker_end);

	l->state = LEASE_RUNNING;
	if (l->job != NULL)
		watch_bridge(x, l);
	if (p == NULL) {
		fd_close(&fd);
		return;
	}
	executor_sent(p, channel_send_worker_opened(p->channel, &m, &fd, 1));
}

/* What a worker is started from. */
struct beginning {
	struct executor *x;
	struct session *session;
	uint32_t number;
	const struct plan *plan;
	struct backend_start *elsewhere; /* NULL: it is on this host */
};

/* Launch it with ends[1] as its channel. 0 or a negative errno. */
static int
launch(const struct beginning *g, int channel_fd, struct lease **out)
{
	const struct exec_config *c = g->session->config;
	const struct template_start *from =
	    template_for(&g->session->template, c, g->plan);
	struct order_source source = {.config = c,
	    .probe = g->x->probe,
	    .start = from,
	    .plan = g->plan};
	scoped_free const char **sockets = NULL;
	struct order_store store;
	int r = 0;

	if (g->elsewhere != NULL) {
		const struct buf *env = &g->elsewhere->env;

		r = executor_sockets_for(g->x, g->session, from, &sockets);
		source.sockets = sockets;
		source.spec = &g->elsewhere->spec;
		source.env = (struct bytes){.data = env->data, .len = env->len};
	}
	if (r < 0)
		return r;
	r = order_make(&store, &source);
	store.order.worker_fd = channel_fd;
	store.order.bridge = g->elsewhere != NULL;
	if (store.order.bridge) {
		store.order.program_fd = c->backend.program_fd;
		store.order.program_len = c->backend.program_len;
	}
	if (r == 0)
		r = executor_launch(g->x, g->session, g->number, &store.order,
		    out);
	if (r == 0 && g->elsewhere != NULL)
		executor_sockets_asked(g->x, g->session, from, *out);
	order_done(&store);
	return r;
}

/* Start one that was planned. 0 or a negative errno. */
static int
start(const struct beginning *g)
{
	struct lease *l;
	int ends[2];
	int r = channel_pair(ends);

	if (r < 0)
		return r;
	r = launch(g, ends[1], &l);
	(void)close(ends[1]);
	if (r < 0) {
		(void)close(ends[0]);
		return r;
	}
	l->worker = true;
	l->worker_end = ends[0];
	g->x->worker_count++;
	g->session->worker_count++;
	if (g->elsewhere != NULL)
		executor_backend_launched(g->elsewhere, l);
	return 0;
}

/* The same with a command of the backend's. 0 or a negative errno with e. */
static int
start_elsewhere(struct beginning *g, struct err *e)
{
	struct backend_start b;
	int r = executor_backend_worker(g->x, g->session, g->plan, &b, e);

	g->elsewhere = &b;
	if (r == 0) {
		r = start(g);
		e->text[0] = '\0';
	}
	backend_start_done(&b);
	return r;
}

static void
wait_turn(struct executor *x, struct session *s, uint32_t number,
    struct bytes sandbox)
{
	if (session_wait(s, number, true, sandbox) < 0)
		refuse_in(x, s, number,
		    &(struct refusal){.reason = REFUSE_BUSY,
			.text = "busy: too many waiting starts; try again "
				"later"});
}

/* What the worker may do: a backend's command has the session's ceiling, what
 * is bound is seen alone, and what is asked for is to be nothing that either
 * would have to enforce. */
static int
plan_worker(struct executor *x, struct session *s, struct bytes sandbox,
    struct plan *plan, struct err *e)
{
	const struct backend_config *b = &s->config->backend;
	const bool bound = b->on && b->files == BACKEND_FILES_BIND;
	const bool elsewhere = backend_has_files(b) || bound;
	const struct plan_request q = {.sandbox = elsewhere ? (struct bytes){0}
							    : sandbox,
	    .bound = bound,
	    .template = &s->template,
	    .probe = x->probe};
	const struct spec spec = {.sandbox = sandbox};
	int r = elsewhere ? executor_backend_check(s, &spec, e) : 0;

	return r < 0 ? r : executor_plan(s->config, &q, plan, e);
}

/* Nobody serves the files of this backend: net does not ask, unless it is not
 * what it was. */
static bool
refuses_files(const struct session *s)
{
	const struct backend_config *b = &s->config->backend;

	return b->on && b->files == BACKEND_FILES_REFUSE;
}

/* Whether session s, which is ready, refused or closed, is to have no worker
 * now, whatever that may do; *why then says why. */
static bool
has_none(const struct executor *x, const struct session *s, struct refusal *why)
{
	if (s->state != SESSION_READY) {
		why->text = s->state == SESSION_REFUSED
				? s->text
				: "the session is closed";
		return true;
	}
	if (refuses_files(s)) {
		why->reason = REFUSE_POLICY;
		why->text = "the files of this backend cannot be reached "
			    "through the server (backend.files)";
		return true;
	}
	if (s->worker_count >= s->config->limits.session_workers_max ||
	    x->worker_count >= s->config->limits.processes_max) {
		why->reason = REFUSE_BUSY;
		why->text = "busy: too many file workers; try again later";
		return true;
	}
	return false;
}

static void
start_in(struct executor *x, struct session *s, uint32_t number,
    struct bytes sandbox)
{
	struct beginning g = {.x = x, .session = s, .number = number};
	struct refusal why = {.reason = REFUSE_SESSION};
	struct plan plan;
	struct err e = {0};
	int r;

	if (has_none(x, s, &why)) {
		refuse_in(x, s, number, &why);
		return;
	}
	r = plan_worker(x, s, sandbox, &plan, &e);
	if (r < 0) {
		why.reason = executor_plan_reason(r);
		why.text = e.text;
		refuse_in(x, s, number, &why);
		return;
	}
	if (placeholder_is_leaving(&x->placeholders, &plan)) {
		plan_done(&plan);
		wait_turn(x, s, number, sandbox);
		return;
	}
	g.plan = &plan;
	r = backend_has_files(&s->config->backend) ? start_elsewhere(&g, &e)
						   : start(&g);
	plan_done(&plan);
	why.stage = STAGE_CLONE;
	why.errnum = (uint32_t)-r;
	why.text = e.text;
	if (r < 0)
		refuse_in(x, s, number, &why);
}

int
executor_on_worker_open(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e)
{
	const struct msg_worker_open *m = &msg->u.worker_open;
	struct session *s = executor_session(x, p->generation, m->session);
	struct sandbox_spec sandbox;
	int r = sandbox_spec_unpack(m->sandbox, &sandbox, e);

	if (r < 0)
		return r;
	if (s == NULL)
		return err_set(e, EPROTO, "session %u is not open", m->session);
	if (s->state == SESSION_OPENING)
		wait_turn(x, s, m->number, m->sandbox);
	else
		start_in(x, s, m->number, m->sandbox);
	return 0;
}

void
executor_worker_resume(struct executor *x, struct session *s,
    const struct waiting *w)
{
	start_in(x, s, w->number,
	    (struct bytes){.data = w->spec, .len = w->len});
}

int
executor_on_worker_kill(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e)
{
	const struct msg_worker_kill *m = &msg->u.worker_kill;
	int r;
	struct lease *l = executor_lease(x, p, m->session, m->lease, &r);

	if (r < 0 || (l != NULL && !l->worker))
		return err_set(e, EPROTO, "kill worker %u", m->lease);
	if (l != NULL)
		lease_kill(l);
	return 0;
}
