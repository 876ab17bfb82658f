/* File workers: started as children are, but serving net instead of a
 * program. */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "exec/executor.h"
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

void
executor_worker_opened(struct executor *x, struct lease *l)
{
	const struct msg_worker_opened m = {.number = l->number,
	    .lease = l->id.v};
	struct peer *p = executor_peer(x, l->generation);
	int fd = fd_take(&l->worker_end);

	l->state = LEASE_RUNNING;
	if (p == NULL) {
		fd_close(&fd);
		return;
	}
	executor_sent(p, channel_send_worker_opened(p->channel, &m, &fd, 1));
}

/* Start one that was planned. 0 or a negative errno. */
static int
start(struct executor *x, struct session *s, uint32_t number,
    const struct plan *plan)
{
	struct order_store store;
	struct lease *l;
	int ends[2];
	int r = channel_pair(ends);

	if (r < 0)
		return r;
	r = order_make(&store,
	    &(struct order_source){.config = s->config,
		.probe = x->probe,
		.start = template_for(&s->template, s->config, plan),
		.plan = plan});
	store.order.worker_fd = ends[1];
	if (r == 0)
		r = executor_launch(x, s, number, &store.order, &l);
	order_done(&store);
	(void)close(ends[1]);
	if (r < 0) {
		(void)close(ends[0]);
		return r;
	}
	l->worker = true;
	l->worker_end = ends[0];
	x->worker_count++;
	s->worker_count++;
	return 0;
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

/* The session is ready, refused or closed. */
static void
start_in(struct executor *x, struct session *s, uint32_t number,
    struct bytes sandbox)
{
	const struct plan_request q = {.sandbox = sandbox,
	    .template = &s->template,
	    .probe = x->probe};
	struct refusal why = {.reason = REFUSE_SESSION};
	struct plan plan;
	struct err e = {0};
	int r;

	if (s->state != SESSION_READY) {
		why.text = s->state == SESSION_REFUSED
			       ? s->text
			       : "the session is closed";
		refuse_in(x, s, number, &why);
		return;
	}
	if (s->worker_count >= s->config->limits.session_workers_max ||
	    x->worker_count >= s->config->limits.processes_max) {
		why.reason = REFUSE_BUSY;
		why.text = "busy: too many file workers; try again later";
		refuse_in(x, s, number, &why);
		return;
	}
	r = executor_plan(s->config, &q, &plan, &e);
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
	r = start(x, s, number, &plan);
	plan_done(&plan);
	why.stage = STAGE_CLONE;
	why.errnum = (uint32_t)-r;
	why.text = "";
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
