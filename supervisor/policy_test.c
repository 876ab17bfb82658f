/*
 * A server of its own, started as serve would start it, one command in it by
 * sallyport-tool, and somebody who watches that command from outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/binary.h"
#include "supervisor/policy_denied.h"
#include "supervisor/policy_find.h"

#define START_MS   20000 /* a server takes some tens, a loaded host more */
#define LOOK_MS	   2	 /* between looks for a process that stands still */
#define URL_MAX	   256
#define REPORT_MAX (1024u * 1024u)
#define ARGS_MAX   1024
#define EXIT_TEST  125 /* as of sallyport exec */

struct run {
	pid_t server, tool;
	int url_fd;
	char url[URL_MAX];
	struct trace trace;
	bool watching;
	int status; /* the tool's wait status */
};

static int
fail(const char *text)
{
	options_complain(text);
	return EXIT_TEST;
}

/* --- children ------------------------------------------------------------- */

/* In a fork: what ends with us, and is not interrupted with the command. */
static _Noreturn void
become(char **argv, pid_t parent, int out)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent ||
	    (out >= 0 && (setpgid(0, 0) < 0 || dup2(out, 1) < 0)))
		_exit(EXIT_TEST);
	(void)execv(argv[0], argv);
	perror(argv[0]);
	_exit(EXIT_TEST);
}

static int
add(char **argv, size_t *n, const char *word)
{
	if (*n + 1 >= ARGS_MAX)
		return -E2BIG;
	argv[*n] = strdup(word);
	return argv[(*n)++] == NULL ? -ENOMEM : 0;
}

/* What is given here wins over what was given before. */
static int
server_argv(const struct options *o, char **argv, struct err *e)
{
	static const char *const ours[] = {"server.listen=ws://127.0.0.1:0",
	    "server.compat=codex", "log.level=error"};
	char self[PATH_LEN_MAX];
	size_t n = 0;
	int r = binary_self(self, e);

	if (r == 0)
		r = add(argv, &n, self);
	if (r == 0)
		r = add(argv, &n, "serve");
	if (r == 0 && o->config_file != NULL)
		r = add(argv, &n, "--config");
	if (r == 0 && o->config_file != NULL)
		r = add(argv, &n, o->config_file);
	for (size_t i = 0; i < o->settings.count + 3 && r == 0; i++) {
		r = add(argv, &n, "--set");
		if (r == 0)
			r = add(argv, &n,
			    i < o->settings.count
				? o->settings.items[i]
				: ours[i - o->settings.count]);
	}
	argv[n] = NULL;
	return r < 0 && e->code == 0 ? err_errno(e, -r, "arguments") : r;
}

static int
start_server(struct run *run, const struct options *o, struct err *e)
{
	char **argv = calloc(ARGS_MAX, sizeof *argv);
	pid_t self = getpid();
	int ends[2], r = argv == NULL ? -ENOMEM : server_argv(o, argv, e);

	if (r == 0 && pipe2(ends, O_CLOEXEC) < 0)
		r = err_errno(e, errno, "pipe");
	if (r == 0) {
		run->server = fork();
		if (run->server == 0)
			become(argv, self, ends[1]);
		(void)close(ends[1]);
		run->url_fd = ends[0];
		r = run->server < 0 ? err_errno(e, errno, "fork") : 0;
	}
	for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
		free(argv[i]);
	free(argv);
	return r;
}

/* The one line that a server prints. */
static int
read_url(struct run *run, struct err *e)
{
	struct pollfd slot = {.fd = run->url_fd, .events = POLLIN};
	size_t used = 0;

	while (used < sizeof run->url - 1) {
		ssize_t n;

		if (poll(&slot, 1, START_MS) <= 0)
			return err_set(e, ETIMEDOUT,
			    "the server did not start");
		n = read(run->url_fd, run->url + used, 1);
		if (n != 1)
			return err_set(e, EPIPE, "the server did not start");
		if (run->url[used] == '\n')
			break;
		used++;
	}
	run->url[used] = '\0';
	return 0;
}

/* A shell that stands still until somebody watches, and then becomes the
 * command. */
static int
start_tool(struct run *run, char **command, struct err *e)
{
	static const char *const front[] = {"exec", "--", "/bin/sh", "-c",
	    "kill -STOP $$; exec \"$@\"", "sh"};
	char **argv = calloc(ARGS_MAX, sizeof *argv);
	pid_t self = getpid();
	struct binary tool;
	size_t n = 0;
	int r = binary_open(&tool, "cli", "sallyport-tool", e);

	if (argv == NULL)
		r = err_set(e, ENOMEM, "out of memory");
	if (r == 0)
		r = add(argv, &n, tool.path);
	for (size_t i = 0; i < sizeof front / sizeof front[0] && r == 0; i++)
		r = add(argv, &n, front[i]);
	for (; *command != NULL && r == 0; command++)
		r = add(argv, &n, *command);
	if (r == 0 && setenv("SALLYPORT_URL", run->url, 1) < 0)
		r = -errno;
	if (r == 0) {
		run->tool = fork();
		if (run->tool == 0)
			become(argv, self, -1);
		r = run->tool < 0 ? -errno : 0;
	}
	for (size_t i = 0; i < n; i++)
		free(argv[i]);
	free(argv);
	binary_close(&tool);
	return r < 0 && e->code == 0 ? err_errno(e, -r, "sallyport-tool") : r;
}

/* --- watching ------------------------------------------------------------- */

/* Nothing tells of a grandchild that stopped itself but looking. Returns 0
 * with *pid, which is 0 if the tool ended before. */
static int
wait_for_stop(struct run *run, pid_t *pid, struct err *e)
{
	for (int looks = 0; looks < START_MS / LOOK_MS; looks++) {
		pid_t ended = waitpid(run->tool, &run->status, WNOHANG);

		*pid = 0;
		if (ended == run->tool) {
			run->tool = 0;
			return 0;
		}
		*pid = policy_find_stopped(run->server);
		if (*pid > 0)
			return 0;
		(void)poll(NULL, 0, LOOK_MS);
	}
	return err_set(e, ETIMEDOUT, "the command did not start");
}

static int
watch(struct run *run, struct denied *d, struct err *e)
{
	const struct trace_watcher watcher = {.on_call = denied_on_call,
	    .on_killed = denied_on_killed,
	    .context = d};
	pid_t pid;
	int r = wait_for_stop(run, &pid, e);

	if (r < 0 || pid == 0)
		return r;
	r = trace_begin(&run->trace, pid, &watcher, e);
	run->watching = r == 0;
	return r;
}

/* Until the tool has ended, or, if it has, the server. */
static int
follow(struct run *run, struct err *e)
{
	int status;

	while (run->tool > 0 || run->server > 0) {
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return err_errno(e, errno, "wait");
		if (pid == run->tool) {
			run->tool = 0;
			run->status = status;
			(void)kill(run->server, SIGTERM);
		} else if (pid == run->server) {
			run->server = 0;
			if (run->tool > 0)
				(void)kill(run->tool, SIGTERM);
		} else {
			(void)trace_event(&run->trace, pid, status);
		}
	}
	return 0;
}

static int
run_all(struct run *run, const struct options *o, char **command,
    struct denied *d, struct err *e)
{
	int r = start_server(run, o, e);

	if (r == 0)
		r = read_url(run, e);
	if (r == 0)
		r = start_tool(run, command, e);
	if (r == 0)
		r = watch(run, d, e);
	if (r < 0) {
		if (run->tool > 0)
			(void)kill(run->tool, SIGTERM);
		if (run->server > 0)
			(void)kill(run->server, SIGTERM);
	} else if (run->tool == 0) {
		(void)kill(run->server, SIGTERM);
	}
	return follow(run, r < 0 ? NULL : e) < 0 || r < 0 ? -1 : 0;
}

/* --- telling -------------------------------------------------------------- */

static int
tell(const struct run *run, const struct denied *d)
{
	scoped_buf out;

	buf_init(&out, REPORT_MAX);
	if (denied_put(d, &out) < 0 ||
	    buf_printf(&out,
		"sallyport: %zu things were denied; what the command did not "
		"try is not known%s\n",
		d->count,
		run->trace.overflow ? ", and not all processes were watched"
				    : "") < 0)
		return fail("out of memory");
	(void)fwrite(out.data, 1, out.len, stderr);
	if (WIFSIGNALED(run->status))
		return 128 + WTERMSIG(run->status);
	return WEXITSTATUS(run->status);
}

static int
test(const struct config *c, const struct options *o, char **command)
{
	struct denied *d = calloc(1, sizeof *d);
	struct run run = {.url_fd = -1};
	struct err e = {0};
	int code;

	if (d == NULL)
		return fail("out of memory");
	/* The tool passes them on to the command. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	if (denied_init(d, c, &e) < 0 || run_all(&run, o, command, d, &e) < 0)
		code = fail(e.text);
	else
		code = tell(&run, d);
	fd_close(&run.url_fd);
	trace_done(&run.trace);
	denied_done(d);
	free(d);
	return code;
}

int
policy_test(int argc, char **argv)
{
	struct options o = {0};
	struct config c = {0};
	struct err e = {0};
	int code = EXIT_TEST, at = 0;

	if (options_parse(&o, argc, argv, true) == 0) {
		at = o.first + 1;
		at += at < argc && strcmp(argv[at], "--") == 0;
	}
	if (at == 0 || at >= argc)
		(void)fail("want policy test PROFILE -- COMMAND");
	else if (policy_source_find(argv[o.first]) != NULL ||
		 policy_is_text(argv[o.first]))
		(void)fail("a command runs under a profile or a preset");
	else if (policy_choose(&o, argv[o.first]) < 0)
		(void)fail("too many options");
	else if (options_load(&o, &c) < 0)
		code = EXIT_TEST;
	else if (policy_real_workspaces(&c, &e) < 0)
		(void)fail(e.text);
	else
		code = test(&c, &o, argv + at);
	config_done(&c);
	options_done(&o);
	return code;
}
