#include "exec/executor_backend.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "exec/backend_job.h"
#include "exec/executor_env.h"
#include "policy/argv_template.h"
#include "privsep/sandbox_spec.h"

/*
 * A program that is ended at once may come to be only after terminate has
 * looked for it, as long as start is at work: so it is tried that often, with
 * that time for start to end, before start is killed.
 */
#define TERMINATE_TRIES	   3
#define TERMINATE_GRACE_MS 200
/* Where a command runs; the program's directory is not of this host. */
#define LOCAL_CWD	   "/"

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

/*
 * A limit that a program's children have from it whatever they do to their
 * environment. In KiB, so that it fits in a signed number of bytes; and far
 * beyond what anybody would set it to.
 */
static int
make_tag(char out[24])
{
	const uint64_t least = (uint64_t)1 << 51;
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		return -EIO;
	(void)snprintf(out, 24, "%llu",
	    (unsigned long long)(least + random % least));
	return 0;
}

struct job *
backend_job_new(struct executor *x, struct session *s)
{
	struct job *j = calloc(1, sizeof *j);

	if (j == NULL || make_tag(j->tag) < 0) {
		free(j);
		return NULL;
	}
	j->session = s;
	executor_next_id(x, j->id);
	return j;
}

/* --- the end of a job ---------------------------------------------------- */

bool
backend_job_advance(struct executor *x, struct job *j)
{
	struct lease *l = j->lease;

	if (j->started && !j->swept) {
		j->swept = true;
		if (backend_command_run(x, j, COMMAND_TERMINATE))
			return true;
	}
	/* A file worker is nobody's program. */
	if (!j->finalized && (l == NULL || !l->worker)) {
		j->finalized = true;
		if (backend_command_run(x, j, COMMAND_FINALIZE))
			return true;
	}
	backend_job_free(j);
	if (l != NULL)
		l->job = NULL;
	return false;
}

/* Start is there still: terminate, or kill it. */
static void
end_start(struct executor *x, struct job *j)
{
	if (j->tries++ == TERMINATE_TRIES ||
	    !backend_command_run(x, j, COMMAND_TERMINATE))
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
	return j->commands > 0 || backend_job_advance(x, j);
}

/* What became of l, of which nothing is left. */
static void
read_end(struct lease *l, struct command_end *end)
{
	*end = (struct command_end){.unstarted = l->state == LEASE_FAILED,
	    .late = l->limit == END_WALL_TIME};
	if (!lease_read_exit(l, &end->status))
		end->status = SIGKILL;
	if (l->said == NULL)
		return;
	captures_finish(l->said);
	capture_words(&l->said->err, end->words);
}

/* Start is there still, and a command is gone that was to reach its program. */
static void
go_on(struct job *j, enum command which, bool failed)
{
	if (which != COMMAND_TERMINATE)
		return;
	if (failed)
		lease_kill(j->lease);
	else
		j->lease->deadline_ms = clock_ms() + TERMINATE_GRACE_MS;
}

void
executor_backend_command_gone(struct executor *x, struct lease *l)
{
	struct job *j = l->command_of;
	enum command which = (enum command)l->number;
	struct lease *of = j->lease;
	struct command_end end;

	read_end(l, &end);
	j->commands--;
	if (which == COMMAND_PREPARE) {
		backend_prepared(x, j, &end);
		return;
	}
	if (which == COMMAND_INSPECT) {
		backend_inspected(x, j, &l->said->out, &end);
		return;
	}
	if (which == COMMAND_SIGNAL)
		j->signaling = false;
	if (end.status != 0)
		log_warn("backend_command_failed command=%s id=%s status=%u",
		    backend_command_name(which), j->id, end.status);
	if (!j->gone)
		go_on(j, which, end.status != 0);
	else if (j->commands == 0 && !backend_job_advance(x, j) && of != NULL)
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
	j->signaling = backend_command_run(x, j, COMMAND_SIGNAL);
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
		[ARGV_TEMPLATE_TAG] = bytes_of(b->job->tag),
		[ARGV_TEMPLATE_TARGET] = bytes_of(backend(s)->target)},
	    .argv = spec->argv,
	    .env = env,
	    .tty = spec->tty,
	    .stdin_open = spec->tty || spec->pipe_stdin};
	struct bytes first;
	struct reader reader;
	int r = backend_command_env(s, &b->env, e);

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

	*b = (struct backend_start){.job = backend_job_new(x, s)};
	buf_init(&b->argv, BACKEND_ARGV_MAX);
	buf_init(&b->env, EXECUTOR_ENV_MAX);
	if (b->job == NULL)
		return err_set(e, ENOMEM, "out of memory");
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
	if (b->job != NULL)
		backend_job_free(b->job);
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
	(void)backend_job_advance(x, b->job);
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
			backend_job_free(j);
	}
	LIST_FOREACH (l, &x->leases, link)
		if (l->job != NULL)
			backend_job_free(l->job);
}
