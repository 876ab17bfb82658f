/* The commands that reach a backend's programs, each a lease of its own. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "exec/backend_job.h"
#include "exec/executor_env.h"
#include "exec/executor_plan.h"
#include "policy/argv_template.h"
#include "policy/env.h"

/* Where a command runs; the program's directory is not of this host. */
#define LOCAL_CWD "/"

static const char *const names[COMMANDS] = {
    [COMMAND_PREPARE] = "prepare",
    [COMMAND_SIGNAL] = "signal",
    [COMMAND_TERMINATE] = "terminate",
    [COMMAND_FINALIZE] = "finalize",
    [COMMAND_INSPECT] = "inspect",
};

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

const char *
backend_command_name(enum command which)
{
	return names[which];
}

/* The administrator's base and nothing of a client's: what a program may have
 * there could turn the command's own head. */
int
backend_command_env(const struct session *s, struct buf *out, struct err *e)
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
	const char *target = j->session->config->backend.target;
	bool failed = !j->started || j->lost;
	struct argv_template_values v = {
	    .scalar = {[ARGV_TEMPLATE_ID] = bytes_of(j->id),
		[ARGV_TEMPLATE_TAG] = bytes_of(j->tag),
		[ARGV_TEMPLATE_TARGET] = bytes_of(target),
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
launch(struct executor *x, struct job *j, const char *text, bool quiet,
    struct lease **out, struct err *e)
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

	buf_init(&argv, BACKEND_ARGV_MAX);
	r = backend_command_env(j->session, &env, e);
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
				   .quiet = quiet});
	if (r == 0)
		r = executor_launch(x, j->session, 0, &store.order, out);
	if (r == 0)
		executor_sockets_asked(x, j->session, from, *out);
	order_done(&store);
	plan_done(&plan);
	return r < 0 ? err_errno(e, -r, "start") : 0;
}

/* Of these a person wants to know what they said. */
static bool
is_heard(enum command which)
{
	return which == COMMAND_PREPARE || which == COMMAND_INSPECT;
}

static int
start(struct executor *x, struct job *j, enum command which, const char *text,
    struct lease **out, struct err *e)
{
	struct captures *said = NULL;
	int r;

	if (is_heard(which)) {
		said = captures_new();
		if (said == NULL)
			return err_set(e, ENOMEM, "out of memory");
	}
	r = launch(x, j, text, said == NULL, out, e);
	if (r < 0)
		captures_free(said);
	else
		(*out)->said = said;
	return r;
}

bool
backend_command_run(struct executor *x, struct job *j, enum command which)
{
	const struct exec_config *c = j->session->config;
	const char *const texts[COMMANDS] = {
	    [COMMAND_PREPARE] = c->backend.prepare,
	    [COMMAND_SIGNAL] = c->backend.signal,
	    [COMMAND_TERMINATE] = c->backend.terminate,
	    [COMMAND_FINALIZE] = c->backend.finalize,
	    [COMMAND_INSPECT] = c->backend.inspect,
	};
	struct lease *l;
	struct err e = {0};
	int r;

	if (texts[which][0] == '\0')
		return false;
	r = start(x, j, which, texts[which], &l, &e);
	if (r < 0) {
		log_error("backend_command_failed command=%s id=%s %s",
		    names[which], j->id, e.text);
		return false;
	}
	l->command_of = j;
	l->deadline_ms = clock_ms() + (int64_t)c->limits.backend_timeout;
	l->number = which;
	x->command_count++;
	j->session->command_count++;
	j->commands++;
	return true;
}

void
backend_command_describe(const struct command_end *end, char *text, size_t size)
{
	int s = (int)end->status;

	if (end->late)
		(void)snprintf(text, size,
		    "took longer than limits.backend_timeout");
	else if (end->unstarted)
		(void)snprintf(text, size, "could not be started");
	else if (WIFEXITED(s))
		(void)snprintf(text, size, "ended with status %d",
		    WEXITSTATUS(s));
	else
		(void)snprintf(text, size, "was ended by signal %d",
		    WTERMSIG(s));
}
