#include "exec/executor_backend.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "exec/executor_env.h"
#include "exec/executor_plan.h"
#include "policy/argv_template.h"
#include "policy/env.h"
#include "privsep/sandbox_spec.h"

/* Bytes of an argument vector: a request's, quoted. */
#define ARGV_MAX	   (4 * PROCESS_SPEC_MAX)
/* What a marker's name is in the environment of the program. */
#define EXEC_ID		   "SALLYPORT_EXEC_ID"
/*
 * A program that is ended at once may come to be only after terminate has
 * looked for it, as long as start is at work: so it is tried that often, with
 * that time for start to end, before start is killed.
 */
#define TERMINATE_TRIES	   3
#define TERMINATE_GRACE_MS 200
/* Where a command runs; the program's directory is not of this host. */
#define LOCAL_CWD	   "/"

enum command {
	COMMAND_SIGNAL,
	COMMAND_TERMINATE,
	COMMAND_FINALIZE,
};

static const char *const command_names[] = {
    [COMMAND_SIGNAL] = "signal",
    [COMMAND_TERMINATE] = "terminate",
    [COMMAND_FINALIZE] = "finalize",
};

struct job {
	struct session *session; /* outlives it: its leases hold that */
	struct lease *lease;	 /* of start; NULL: there never was one */
	unsigned int commands;	 /* running */
	char id[EXECUTOR_ID_MAX];
	unsigned int tries; /* of terminate while start is there */
	bool signaling;	    /* that command runs */
	bool ending;	    /* terminate was asked for, or a kill */
	bool gone;	    /* the tree of start is */
	bool swept;	    /* what start left behind was ended */
	bool finalized;	    /* that command was started */
	bool started;	    /* the program ran */
	bool has_status;
	bool lost;
	bool timed_out;
	uint32_t status; /* wait status of the program */
};

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

static const struct backend_config *
backend(const struct session *s)
{
	return &s->config->backend;
}

/* --- commands ------------------------------------------------------------ */

/* The administrator's base and nothing of a client's: what a program may have
 * there could turn the command's own head. */
static int
own_env(const struct session *s, struct buf *out, struct err *e)
{
	scoped_buf dropped = {.max = EXECUTOR_ENV_MAX};
	const struct env_request all = {.has_policy = true,
	    .ignore_default_excludes = true,
	    .inherit = ENV_REQUEST_INHERIT_ALL};

	buf_init(out, EXECUTOR_ENV_MAX);
	return env_decide(&s->config->env, &all, out, &dropped, e);
}

static void
exit_code(const struct job *j, char out[16])
{
	int status = (int)j->status;
	bool openclaw = (j->session->config->flags & EXEC_FLAG_OPENCLAW) != 0;

	if (!j->has_status)
		(void)snprintf(out, 16, "null");
	else if (WIFEXITED(status))
		(void)snprintf(out, 16, "%d", WEXITSTATUS(status));
	else
		(void)snprintf(out, 16, "%d",
		    openclaw ? 1 : 128 + WTERMSIG(status));
}

static int
make_argv(const struct job *j, const char *text, struct buf *out, struct err *e)
{
	bool failed = !j->started || j->lost;
	struct argv_template_values v = {
	    .scalar = {[ARGV_TEMPLATE_ID] = bytes_of(j->id),
		[ARGV_TEMPLATE_TARGET] = bytes_of(backend(j->session)->target),
		[ARGV_TEMPLATE_SIGNAL] = bytes_of("INT"),
		[ARGV_TEMPLATE_STATUS] =
		    bytes_of(failed ? "failed" : "completed"),
		[ARGV_TEMPLATE_TIMED_OUT] =
		    bytes_of(j->timed_out ? "true" : "false")}};
	char code[16];

	exit_code(j, code);
	v.scalar[ARGV_TEMPLATE_EXIT_CODE] = bytes_of(code);
	return argv_template_expand(bytes_of(text), &v, out, e);
}

/* Start what text says. 0, or a negative errno with e. */
static int
launch(struct executor *x, struct job *j, const char *text, struct lease **out,
    struct err *e)
{
	const struct exec_config *c = j->session->config;
	scoped_buf argv, env;
	struct spec spec = {.cwd = bytes_of(LOCAL_CWD)};
	const struct plan_request q = {.cwd = spec.cwd,
	    .template = &j->session->template,
	    .probe = x->probe};
	const struct template_start *from;
	scoped_free const char **sockets = NULL;
	struct order_store store;
	struct plan plan;
	int r;

	buf_init(&argv, ARGV_MAX);
	r = own_env(j->session, &env, e);
	if (r == 0)
		r = make_argv(j, text, &argv, e);
	if (r == 0)
		r = executor_plan(c, &q, &plan, e);
	if (r < 0)
		return r;
	spec.argv = view(&argv);
	from = template_for(&j->session->template, c, &plan);
	r = executor_sockets_for(x, j->session, from, &sockets);
	if (r < 0) {
		plan_done(&plan);
		return err_errno(e, -r, "sockets");
	}
	r = order_make(&store, &(struct order_source){.config = c,
				   .probe = x->probe,
				   .start = from,
				   .sockets = sockets,
				   .plan = &plan,
				   .spec = &spec,
				   .env = view(&env),
				   .quiet = true});
	if (r == 0)
		r = executor_launch(x, j->session, 0, &store.order, out);
	if (r == 0)
		executor_sockets_asked(x, j->session, from, *out);
	order_done(&store);
	plan_done(&plan);
	return r < 0 ? err_errno(e, -r, "start") : 0;
}

/* Run a command for j. False if there is none such, or it cannot be started. */
static bool
run(struct executor *x, struct job *j, enum command which)
{
	const struct exec_config *c = j->session->config;
	const char *const texts[] = {
	    [COMMAND_SIGNAL] = c->backend.signal,
	    [COMMAND_TERMINATE] = c->backend.terminate,
	    [COMMAND_FINALIZE] = c->backend.finalize,
	};
	struct lease *l;
	struct err e = {0};
	int r;

	if (texts[which][0] == '\0')
		return false;
	r = launch(x, j, texts[which], &l, &e);
	if (r < 0) {
		log_error("backend_command_failed command=%s id=%s %s",
		    command_names[which], j->id, e.text);
		return false;
	}
	l->command_of = j;
	l->deadline_ms = executor_now_ms() + (int64_t)c->limits.backend_timeout;
	l->number = which;
	x->command_count++;
	j->session->command_count++;
	j->commands++;
	return true;
}

/* --- the end of a job ---------------------------------------------------- */

/* Start is gone and no command runs: go on. True if one follows. */
static bool
advance(struct executor *x, struct job *j)
{
	struct lease *l = j->lease;

	if (j->started && !j->swept) {
		j->swept = true;
		if (run(x, j, COMMAND_TERMINATE))
			return true;
	}
	if (!j->finalized) {
		j->finalized = true;
		if (run(x, j, COMMAND_FINALIZE))
			return true;
	}
	free(j);
	if (l != NULL)
		l->job = NULL;
	return false;
}

/* Start is there still: terminate, or kill it. */
static void
end_start(struct executor *x, struct job *j)
{
	if (j->tries++ == TERMINATE_TRIES || !run(x, j, COMMAND_TERMINATE))
		lease_kill(j->lease);
}

bool
executor_backend_due(struct executor *x, struct lease *l)
{
	if (l->job == NULL || !l->job->ending)
		return false;
	l->deadline_ms = 0;
	if (!l->job->gone)
		end_start(x, l->job);
	return true;
}

bool
executor_backend_gone(struct executor *x, struct lease *l)
{
	struct job *j = l->job;

	j->gone = true;
	return j->commands > 0 || advance(x, j);
}

void
executor_backend_command_gone(struct executor *x, struct lease *l)
{
	struct job *j = l->command_of;
	enum command which = (enum command)l->number;
	struct lease *of = j->lease;
	uint32_t status;

	j->commands--;
	if (which == COMMAND_SIGNAL)
		j->signaling = false;
	if (!lease_read_exit(l, &status))
		status = SIGKILL;
	if (status != 0)
		log_warn("backend_command_failed command=%s id=%s status=%u",
		    command_names[which], j->id, status);
	if (!j->gone) {
		if (which == COMMAND_TERMINATE && status != 0)
			lease_kill(of);
		else if (which == COMMAND_TERMINATE)
			of->deadline_ms =
			    executor_now_ms() + TERMINATE_GRACE_MS;
		return;
	}
	if (j->commands == 0 && !advance(x, j) && of != NULL)
		executor_lease_gone(x, of);
}

/* --- what happens to its program ----------------------------------------- */

void
executor_backend_interrupt(struct executor *x, struct lease *l)
{
	struct job *j = l->job;

	/* One at a time: another one of the same kind adds nothing, and a
	 * client must not have us start commands without end. */
	if (j->gone || j->signaling)
		return;
	j->signaling = run(x, j, COMMAND_SIGNAL);
	if (!j->signaling)
		lease_tell(l, CONTROL_INTERRUPT, 0, 0);
}

void
executor_backend_end(struct executor *x, struct lease *l)
{
	struct job *j = l->job;

	if (j->gone || j->ending)
		return;
	j->ending = true;
	l->deadline_ms = 0;
	/* One that does not run yet has nothing elsewhere. */
	if (l->state == LEASE_RUNNING)
		end_start(x, j);
	else
		lease_kill(l);
}

void
executor_backend_exited(const struct lease *l, uint32_t status)
{
	struct job *j = l->job;
	int s = (int)status;

	j->has_status = true;
	j->timed_out = l->limit == END_WALL_TIME;
	j->status = status;
	j->lost = WIFEXITED(s) && (unsigned int)WEXITSTATUS(s) ==
				      backend(j->session)->lost_status;
}

bool
executor_backend_lost(const struct lease *l)
{
	return l->job->lost;
}

/* --- a start ------------------------------------------------------------- */

int
executor_backend_check(const struct session *s, const struct spec *spec,
    struct err *e)
{
	struct sandbox_spec sandbox;
	int r = sandbox_spec_unpack(spec->sandbox, &sandbox, e);

	if (r < 0)
		return r;
	if (spec->network_proxy || spec->managed_network ||
	    sandbox.kind == SANDBOX_RESTRICTED ||
	    (sandbox.kind != SANDBOX_NULL && !sandbox.network_enabled &&
		!backend(s)->isolated))
		return err_set(e, EOPNOTSUPP,
		    "what the sandbox object asks for cannot be enforced by "
		    "the backend");
	return 0;
}

static int
fill(const struct session *s, const struct spec *spec, struct bytes env,
    struct backend_start *b, struct err *e)
{
	const struct argv_template_values v = {
	    .scalar = {[ARGV_TEMPLATE_CWD] = spec->cwd,
		[ARGV_TEMPLATE_ID] = bytes_of(b->job->id),
		[ARGV_TEMPLATE_TARGET] = bytes_of(backend(s)->target)},
	    .argv = spec->argv,
	    .env = env,
	    .tty = spec->tty,
	    .stdin_open = spec->tty || spec->pipe_stdin};
	struct bytes first;
	struct reader reader;
	int r = own_env(s, &b->env, e);

	if (r == 0)
		r = argv_template_expand(bytes_of(backend(s)->start), &v,
		    &b->argv, e);
	if (r < 0)
		return r;
	reader_init(&reader, b->argv.data, b->argv.len);
	if (!buf_get_string(&reader, &first, b->argv.len) || first.len == 0)
		return err_set(e, EINVAL,
		    "the backend did not provide a command");
	return 0;
}

int
executor_backend_start(struct executor *x, struct session *s,
    const struct spec *spec, struct bytes env, struct backend_start *b,
    struct err *e)
{
	int r;

	*b = (struct backend_start){.job = calloc(1, sizeof *b->job)};
	buf_init(&b->argv, ARGV_MAX);
	buf_init(&b->env, EXECUTOR_ENV_MAX);
	if (b->job == NULL)
		return err_set(e, ENOMEM, "out of memory");
	b->job->session = s;
	executor_next_id(x, b->job->id);
	if (spec->has_arg0)
		return err_set(e, EINVAL,
		    "arg0 cannot be given to a program of this backend");
	r = fill(s, spec, env, b, e);
	b->spec = (struct spec){.cwd = bytes_of(LOCAL_CWD),
	    .argv = view(&b->argv),
	    .tty = spec->tty,
	    .pipe_stdin = spec->pipe_stdin};
	return r;
}

void
backend_start_done(struct backend_start *b)
{
	free(b->job);
	buf_done(&b->argv);
	buf_done(&b->env);
}

void
executor_backend_launched(struct backend_start *b, struct lease *l)
{
	l->job = b->job;
	l->job->lease = l;
	b->job = NULL;
}

void
executor_backend_unlaunched(struct executor *x, struct backend_start *b)
{
	b->job->gone = true;
	(void)advance(x, b->job);
	b->job = NULL;
}

void
executor_backend_running(struct lease *l)
{
	l->job->started = true;
}

void
executor_backend_done(struct executor *x)
{
	struct lease *l;

	LIST_FOREACH (l, &x->leases, link) {
		struct job *j = l->command_of;

		if (j != NULL && --j->commands == 0 && j->lease == NULL)
			free(j);
	}
	LIST_FOREACH (l, &x->leases, link)
		free(l->job);
}
