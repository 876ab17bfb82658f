/* A start of net's, from the request to its launch. */
#include <errno.h>
#include <stdio.h>

#include "exec/executor.h"
#include "exec/executor_audit.h"
#include "exec/executor_backend.h"
#include "exec/executor_env.h"
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

static void
answer_refused(const struct start *s, enum refuse_reason reason,
    const char *text)
{
	const struct start_refusal why = {.reason = reason,
	    .text = text,
	    .missing = s->missing,
	    .errnum = s->errnum};

	executor_refuse_start(s->x, s->session, s->number, &why);
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
		executor_fail_start(s->x, s->session->generation, s->number,
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
		answer_refused(s, REFUSE_BUSY, START_CROWDED);
	else if (r < 0)
		executor_fail_start(s->x, s->session->generation, s->number,
		    STAGE_CLONE, (uint32_t)-r);
}

/* Now, or when prepare has ended. */
static void
launch_elsewhere(const struct start *s, struct backend_start *b)
{
	int r = executor_backend_prepare(s->x, b, s->number, s->packed);

	if (r == 0)
		start_program(s, &b->spec,
		    (struct bytes){b->env.data, b->env.len}, b);
	else if (r < 0)
		answer_refused(s, REFUSE_BACKEND,
		    "the backend's command prepare could not be started");
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
		launch_elsewhere(s, &b);
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

static bool
has_program_room(const struct start *s)
{
	const struct limits *l = &s->session->config->limits;

	return s->x->lease_count - s->x->worker_count - s->x->command_count <
		   l->processes_max &&
	       s->session->lease_count - s->session->worker_count -
		       s->session->command_count <
		   l->session_processes_max;
}

/* A backend's commands may be as many again: those that finalize refused starts
 * belong to no program that would count. */
static bool
has_room(const struct start *s)
{
	const struct limits *l = &s->session->config->limits;

	return s->x->command_count < l->processes_max &&
	       s->session->command_count < l->session_processes_max &&
	       has_program_room(s);
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

/* What was checked before may have changed meanwhile. The command that prepared
 * it still counts among the commands, and had its room. */
void
executor_start_prepared(struct executor *x, struct session *session,
    struct backend_start *b, uint32_t number, struct bytes packed)
{
	struct start s = {.x = x,
	    .session = session,
	    .number = number,
	    .packed = packed};
	struct err e = {0};
	int r = spec_unpack(packed, &s.spec, &e);

	if (r == 0)
		r = plan_start(&s, &e);
	if (r < 0) {
		answer_refused(&s, executor_plan_reason(r), e.text);
		return;
	}
	if (placeholder_is_leaving(&x->placeholders, &s.plan) ||
	    !has_program_room(&s))
		answer_refused(&s, REFUSE_BUSY, "too many processes");
	else
		start_program(&s, &b->spec,
		    (struct bytes){b->env.data, b->env.len}, b);
	plan_done(&s.plan);
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
