#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <jansson.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "cli/attach_app.h"
#include "cli/attach_lease.h"
#include "cli/attach_program.h"
#include "cli/command.h"

enum {
	EXIT_RELEASED = 0,
	EXIT_SYSTEM = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_HERE = 3,
	EXIT_APP = 4,
	EXIT_TOO_OLD = 5,
	EXIT_UNKNOWN = 6,
	EXIT_ANSWER = 7,
	EXIT_SERVER = 8,
	EXIT_ENDED = 9,
};

#define TIMEOUT_S_DEFAULT 30
#define TIMEOUT_S_MAX	  3600
#define RUNTIME_ID_MAX	  1024 /* bytes */
#define SERVER_ARGS_MAX	  512  /* items, the last NULL included */

static const char help[] =
    "Usage: sallyport attach --app-server WHERE --workspace DIR [OPTION]...\n"
    "                        [-- COMMAND [ARGUMENT]...]\n"
    "\n"
    "Start the server of a runtime id, or join it if it runs already, "
    "register\n"
    "it with a Codex app-server as an environment, and print what it is "
    "called\n"
    "as one line of JSON: environmentId, execServerUrl, cwd. The server is "
    "kept\n"
    "until standard input ends, or SIGINT, SIGTERM or SIGHUP; it ends when\n"
    "nobody keeps it any more.\n"
    "\n"
    "  --app-server WHERE   ws://HOST:PORT where HOST is localhost, ::1 or\n"
    "                       127.x; unix:PATH of its socket; or stdio:\n"
    "                       COMMAND is started and speaks lines of JSON\n"
    "  --runtime-id ID      whose server it is (default: the first DIR)\n"
    "  --timeout SECONDS    for the app-server to answer, and for the server\n"
    "                       to serve (default 30)\n"
    "  --workspace DIR, --preset NAME, --allow-network, --compat NAME,\n"
    "  --config FILE, --set SECTION.KEY=VALUE, --verbose\n"
    "                       as for sallyport serve; who joins gives the same\n"
    "  --help               this text\n"
    "\n"
    "Exit status: 0 given back as asked; 1 the system refused something;\n"
    "2 usage; 3 the app-server is not on this host; 4 it cannot be reached,\n"
    "breaks the protocol, or is too slow; 5 it is too old; 6 it does not know\n"
    "environment/add; 7 it answered with an error; 8 the server did not "
    "start,\n"
    "or runs with other options; 9 the server ended.\n"
    "\n"
    "Example: sallyport attach --app-server unix:/run/user/1000/codex.sock \\\n"
    "             --workspace /srv/project\n";

struct options {
	const char *app_server, *runtime_id;
	int timeout_ms;
	char *server[SERVER_ARGS_MAX]; /* path of sallyport, "serve", options;
					* each owned, NULL-terminated */
	size_t server_count;
	char *cwd;	/* the first workspace; owned */
	char **command; /* borrowed; empty: none */
};

/* --- options ------------------------------------------------------------ */

/* Takes value, which may be NULL for want of memory. */
static int
add_item(struct options *o, char *value, struct err *e)
{
	if (value == NULL)
		return err_set(e, ENOMEM, "out of memory");
	if (o->server_count == SERVER_ARGS_MAX - 1) {
		free(value);
		return err_set(e, E2BIG, "too many options");
	}
	o->server[o->server_count++] = value;
	return 0;
}

static int
add_option(struct options *o, const char *name, const char *value,
    struct err *e)
{
	char *text = NULL;

	if (value == NULL)
		return add_item(o, strdup(name), e);
	if (asprintf(&text, "%s=%s", name, value) < 0)
		text = NULL;
	return add_item(o, text, e);
}

/* The same file for whoever names it by another path, and for the keeper,
 * whose directory is another. */
static int
add_path(struct options *o, const char *name, const char *path, struct err *e)
{
	scoped_free char *real = realpath(path, NULL);

	if (real == NULL)
		return err_errno(e, errno, "%s %.100s", name, path);
	if (!utf8_valid((const uint8_t *)real, strlen(real)))
		return err_set(e, EINVAL, "%s: not UTF-8", name);
	if (o->cwd == NULL && strcmp(name, "--workspace") == 0) {
		o->cwd = strdup(real);
		if (o->cwd == NULL)
			return err_set(e, ENOMEM, "out of memory");
	}
	return add_option(o, name, real, e);
}

static int
parse_timeout(struct options *o, const char *text, struct err *e)
{
	uint64_t seconds;

	if (num_parse_u64(text, 1, TIMEOUT_S_MAX, &seconds) < 0)
		return err_set(e, EINVAL, "--timeout: 1 to %d seconds",
		    TIMEOUT_S_MAX);
	o->timeout_ms = (int)seconds * 1000;
	return 0;
}

static const struct option longs[] = {
    {"app-server", required_argument, NULL, 'a'},
    {"runtime-id", required_argument, NULL, 'r'},
    {"timeout", required_argument, NULL, 't'},
    {"help", no_argument, NULL, 'h'},
    {"workspace", required_argument, NULL, 'p'},
    {"config", required_argument, NULL, 'p'},
    {"preset", required_argument, NULL, 's'},
    {"compat", required_argument, NULL, 's'},
    {"set", required_argument, NULL, 's'},
    {"allow-network", no_argument, NULL, 's'},
    {"verbose", no_argument, NULL, 's'},
    {0},
};

static int
on_option(struct options *o, int option, int index, struct err *e)
{
	char name[32];

	(void)snprintf(name, sizeof name, "--%s", longs[index].name);
	switch (option) {
	case 'a':
		o->app_server = optarg;
		return 0;
	case 'r':
		o->runtime_id = optarg;
		return 0;
	case 't':
		return parse_timeout(o, optarg, e);
	case 'p':
		return add_path(o, name, optarg, e);
	case 's':
		return add_option(o, name, optarg, e);
	default:
		return err_set(e, EINVAL, "usage: see --help");
	}
}

static int
check_options(struct options *o, struct err *e)
{
	if (o->app_server == NULL)
		return err_set(e, EINVAL, "no --app-server; see --help");
	if (o->cwd == NULL)
		return err_set(e, EINVAL, "no --workspace; see --help");
	if (o->runtime_id == NULL)
		o->runtime_id = o->cwd;
	if (*o->runtime_id == '\0' || strlen(o->runtime_id) > RUNTIME_ID_MAX)
		return err_set(e, EINVAL, "--runtime-id: 1 to %d bytes",
		    RUNTIME_ID_MAX);
	return 0;
}

/* Returns 1 when help was wanted. */
static int
parse_options(int argc, char **argv, struct options *o, struct err *e)
{
	char program[PATH_LEN_MAX];
	int option, index = 0;
	int r = attach_program_find(program, e);

	if (r == 0)
		r = add_item(o, strdup(program), e);
	if (r == 0)
		r = add_item(o, strdup("serve"), e);
	/* The plus sign: what follows the command's name is the command's. */
	while (r == 0 &&
	       (option = getopt_long(argc, argv, "+h", longs, &index)) != -1) {
		if (option == 'h')
			return 1;
		r = on_option(o, option, index, e);
	}
	o->command = argv + optind;
	return r < 0 ? r : check_options(o, e);
}

static void
options_done(struct options *o)
{
	for (size_t i = 0; i < o->server_count; i++)
		free(o->server[i]);
	free(o->cwd);
}

/* A command is given exactly if it is to be started. */
static int
parse_target(const struct options *o, struct attach_target *t, struct err *e)
{
	int r = attach_target_parse(o->app_server, t, e);

	if (r < 0)
		return r;
	if (t->kind == ATTACH_STDIO && *o->command == NULL)
		return err_set(e, EINVAL, "stdio needs a command after --");
	if (t->kind != ATTACH_STDIO && *o->command != NULL)
		return err_set(e, EINVAL, "a command is for stdio alone");
	return 0;
}

/* --- holding the lease -------------------------------------------------- */

enum { WATCH_STDIN, WATCH_SIGNALS, WATCH_LEASE };

struct session {
	const struct options *options;
	struct attach_target target;
	struct attach_app *app;
	struct attach_lease lease;
	int epoll_fd, signal_fd;
};

/* Returns 0; -EPERM for a file that is always at its end or its data. */
static int
watch(int epoll_fd, int fd, uint32_t which)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = which};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static int
open_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* What comes on standard input says nothing, its end does. */
static bool
stdin_ended(void)
{
	char dropped[4096];
	ssize_t n = read(STDIN_FILENO, dropped, sizeof dropped);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Returns 1 when the lease is to be given back. */
static int
hold_turn(struct session *s, int *status, struct err *e)
{
	struct epoll_event ev[3];
	int n, r = 0;

	attach_app_wait(s->app);
	n = epoll_wait(s->epoll_fd, ev, 3, 0);
	for (int i = 0; i < n && r == 0; i++) {
		*status = EXIT_ENDED;
		if (ev[i].data.u32 == WATCH_LEASE)
			r = attach_lease_read(&s->lease, e);
		else if (ev[i].data.u32 == WATCH_SIGNALS || stdin_ended())
			r = 1;
	}
	if (r != 0)
		return r;
	*status = EXIT_APP;
	return attach_app_check(s->app, e);
}

static int
hold(struct session *s, int *status, struct err *e)
{
	int r;

	if (watch(s->epoll_fd, s->lease.fd, WATCH_LEASE) < 0)
		return err_errno(e, errno, "cannot watch a descriptor");
	r = watch(s->epoll_fd, STDIN_FILENO, WATCH_STDIN);
	/* A file or /dev/null has no end that could be waited for. */
	if (r == -EPERM)
		r = 1;
	while (r == 0)
		r = hold_turn(s, status, e);
	if (r < 0)
		return r;
	*status = EXIT_RELEASED;
	return 0;
}

/* --- the sequence ------------------------------------------------------- */

static int
app_status(int error)
{
	switch (error) {
	case -EPERM:
		return EXIT_NOT_HERE;
	case -EPROTONOSUPPORT:
		return EXIT_TOO_OLD;
	case -ENOSYS:
		return EXIT_UNKNOWN;
	case -EREMOTEIO:
		return EXIT_ANSWER;
	default:
		return EXIT_APP;
	}
}

static int
print_line(const struct options *o, const char *id, const char *url,
    struct err *e)
{
	json_t *line = json_pack("{s:s,s:s,s:s}", "environmentId", id,
	    "execServerUrl", url, "cwd", o->cwd);
	int r = line == NULL ? -1 : json_dumpf(line, stdout, JSON_COMPACT);

	json_decref(line);
	if (r < 0 || putchar('\n') == EOF || fflush(stdout) == EOF)
		return err_set(e, EIO, "standard output cannot be written");
	return 0;
}

static int
register_server(struct session *s, int *status, struct err *e)
{
	char key[ATTACH_KEY_SIZE], id[64];
	int r;

	attach_lease_key(s->options->runtime_id, key);
	(void)snprintf(id, sizeof id, "sallyport-sandbox-%s", key);
	r = attach_app_add(s->app, id, s->lease.url, e);
	if (r < 0) {
		*status = app_status(r);
		return r;
	}
	*status = EXIT_SYSTEM;
	return print_line(s->options, id, s->lease.url, e);
}

/* The app-server first: while it cannot be used no server is started. */
static int
run(struct session *s, int *status, struct err *e)
{
	const struct options *o = s->options;
	const struct attach_app_opts app = {.target = &s->target,
	    .argv = o->command,
	    .watch_fd = s->epoll_fd,
	    .timeout_ms = o->timeout_ms};
	const struct attach_lease_opts lease = {.runtime_id = o->runtime_id,
	    .server_argv = o->server,
	    .end_fd = s->epoll_fd,
	    .timeout_ms = o->timeout_ms};
	int r = attach_app_open(&app, &s->app, e);

	if (r < 0) {
		*status = app_status(r);
		return r;
	}
	r = attach_lease_open(&s->lease, &lease, e);
	if (r < 0) {
		*status = r == -ECANCELED || r == -ETIMEDOUT ? EXIT_SERVER
							     : EXIT_SYSTEM;
		return r;
	}
	r = register_server(s, status, e);
	return r < 0 ? r : hold(s, status, e);
}

/* From here on a signal ends us in an orderly way: what is waited for before
 * the lease is held is given up. */
static int
watch_signals(struct session *s, struct err *e)
{
	s->signal_fd = open_signals();
	if (s->signal_fd < 0 ||
	    watch(s->epoll_fd, s->signal_fd, WATCH_SIGNALS) < 0)
		return err_errno(e, errno, "signals");
	return 0;
}

static int
attach(const struct options *o, int *status, struct err *e)
{
	struct session s = {.options = o, .lease.fd = -1, .signal_fd = -1};
	int r = parse_target(o, &s.target, e);

	if (r < 0) {
		*status = r == -EACCES ? EXIT_NOT_HERE : EXIT_USAGE;
		return r;
	}
	s.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s.epoll_fd < 0)
		return err_errno(e, errno, "epoll");
	r = watch_signals(&s, e);
	if (r == 0)
		r = run(&s, status, e);
	if (r == -EINTR)
		*status = EXIT_RELEASED;
	attach_lease_release(&s.lease);
	attach_app_free(s.app);
	fd_close(&s.signal_fd);
	fd_close(&s.epoll_fd);
	return r;
}

/* Some of it is the app-server's text, which is not to move the cursor. */
static void
complain(char *text)
{
	for (char *c = text; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	(void)fprintf(stderr, "sallyport attach: %s\n", text);
}

int
command_attach(int argc, char **argv)
{
	struct options o = {.timeout_ms = TIMEOUT_S_DEFAULT * 1000};
	int status = EXIT_SYSTEM;
	struct err e = {0};
	int r = parse_options(argc, argv, &o, &e);

	if (r < 0)
		status = EXIT_USAGE;
	else if (r == 1)
		status = fputs(help, stdout) < 0 ? EXIT_SYSTEM : 0;
	else
		r = attach(&o, &status, &e);
	options_done(&o);
	if (r < 0)
		complain(e.text);
	return status;
}
