#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/relay.h"
#include "cli/url.h"

/* Statuses that are not the command's own, as env(1) and timeout(1) use. */
enum {
	EXIT_FAILED = 125,	/* usage, connection, the server refused */
	EXIT_NOT_ALLOWED = 126, /* found, and cannot be run */
	EXIT_NOT_FOUND = 127,
};

#define PROCESS_ID "exec"

static const char help[] =
    "Usage: sallyport exec [--url URL] [OPTION]... -- COMMAND [ARGUMENT]...\n"
    "\n"
    "Run COMMAND through the server at URL, as if it ran here: its output and\n"
    "errors come out apart, its input is read from here to the end, Ctrl-C\n"
    "interrupts it (twice: ends it), and its exit status becomes ours.\n"
    "\n"
    "  --url URL      ws://HOST:PORT/PATH as the server printed it; without\n"
    "                 this option it is taken from SALLYPORT_URL, where other\n"
    "                 users of this machine cannot see it\n"
    "  --cwd DIR      directory on the server: absolute, a file: URI, or\n"
    "                 relative to the server's own directory, the default\n"
    "  --env K=V      set a variable of the command, repeatedly\n"
    "  --tty          run it on a terminal that follows the size of this one;\n"
    "                 TERM is passed on\n"
    "  --help         print this\n"
    "\n"
    "Exit status: that of COMMAND, 128+N if signal N ended it (1 with --tty);\n"
    "127 if it was not found, 126 if it could not be run; 125 if anything "
    "else\n"
    "went wrong before or between: usage, connection, refusal by the server.\n"
    "\n"
    "It waits until COMMAND has exited and nothing holds its output any more.\n"
    "What COMMAND leaves running ends with the session, soon after this.\n"
    "A server without process/closeStdin cannot pass on the end of input.\n"
    "\n"
    "Example: printf x | sallyport exec --url \"$URL\" -- wc -c\n";

struct options {
	const char *url;
	const char *cwd; /* NULL: the server's */
	json_t *env;	 /* owned */
	bool tty;
	char **argv; /* borrowed, NULL-terminated */
};

/* What the server said about itself. */
struct server {
	char *cwd; /* a file URI, owned */
	bool can_close_stdin, can_resize;
};

static int
add_env(json_t *env, const char *text, struct err *e)
{
	const char *equals = strchr(text, '=');

	if (equals == NULL || equals == text)
		return err_set(e, EINVAL, "--env: NAME=VALUE is wanted");
	if (!utf8_valid((const uint8_t *)text, strlen(text)))
		return err_set(e, EINVAL, "--env: not UTF-8");
	if (json_object_setn_new(env, text, (size_t)(equals - text),
		json_string(equals + 1)) < 0)
		return err_set(e, ENOMEM, "out of memory");
	return 0;
}

static int
parse_option(int option, struct options *o, struct err *e)
{
	switch (option) {
	case 'u':
		o->url = optarg;
		return 0;
	case 'c':
		o->cwd = optarg;
		return 0;
	case 'e':
		return add_env(o->env, optarg, e);
	case 't':
		o->tty = true;
		return 0;
	default:
		return err_set(e, EINVAL, "usage: see --help");
	}
}

/* Returns 1 when help was wanted. */
static int
parse_options(int argc, char **argv, struct options *o, struct err *e)
{
	static const struct option longs[] = {
	    {"url", required_argument, NULL, 'u'},
	    {"cwd", required_argument, NULL, 'c'},
	    {"env", required_argument, NULL, 'e'},
	    {"tty", no_argument, NULL, 't'},
	    {"help", no_argument, NULL, 'h'},
	    {0},
	};
	int option, r;

	o->url = getenv("SALLYPORT_URL");
	/* The plus sign: what follows the command's name is the command's. */
	while ((option = getopt_long(argc, argv, "+h", longs, NULL)) != -1) {
		if (option == 'h')
			return 1;
		r = parse_option(option, o, e);
		if (r < 0)
			return r;
	}
	o->argv = argv + optind;
	if (*o->argv == NULL)
		return err_set(e, EINVAL, "no command given; see --help");
	if (o->url == NULL)
		return err_set(e, EINVAL, "no --url given; see --help");
	return 0;
}

static json_t *
argv_json(char **argv, struct err *e)
{
	json_t *list = json_array();

	for (; *argv != NULL; argv++) {
		if (json_array_append_new(list, json_string(*argv)) == 0)
			continue;
		(void)err_set(e, EINVAL, "an argument is not UTF-8");
		json_decref(list);
		return NULL;
	}
	return list;
}

static bool
is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || strchr("-._~/", c) != NULL;
}

/* The URI of dir, which stands below base unless it is absolute. */
static int
cwd_uri(const char *base, const char *dir, struct buf *uri, struct err *e)
{
	int r = 0;

	if (dir == NULL)
		r = buf_printf(uri, "%s", base);
	else if (strncmp(dir, "file:", 5) == 0)
		r = buf_printf(uri, "%s", dir);
	else
		r = buf_printf(uri, "%s", *dir == '/' ? "file://" : base);
	if (dir == NULL || strncmp(dir, "file:", 5) == 0)
		return r < 0 ? err_errno(e, -r, "cwd") : 0;
	if (r == 0 && *dir != '/')
		r = buf_put_u8(uri, '/');
	for (; r == 0 && *dir != '\0'; dir++)
		r = is_plain((unsigned char)*dir)
			? buf_put(uri, dir, 1)
			: buf_printf(uri, "%%%02X",
			      (unsigned int)(uint8_t)*dir);
	return r < 0 ? err_errno(e, -r, "cwd") : 0;
}

static int
read_info(const json_t *info, struct server *s, struct err *e)
{
	const json_t *can = json_object_get(info, "capabilities");
	const char *cwd = json_string_value(json_object_get(info, "cwd"));

	if (cwd == NULL)
		return err_set(e, EPROTO, "environment/info: no cwd");
	s->can_close_stdin =
	    json_is_true(json_object_get(can, "processCloseStdin"));
	s->can_resize = json_is_true(json_object_get(can, "processResize"));
	s->cwd = strdup(cwd);
	return s->cwd == NULL ? err_set(e, ENOMEM, "out of memory") : 0;
}

/* initialize, initialized and, where its answer lacks it, environment/info. */
static int
shake_hands(struct client *c, struct server *s, struct err *e)
{
	json_t *result, *info;
	int r = client_call(c, "initialize",
	    json_pack("{s:s}", "clientName", "sallyport-exec"), &result, NULL,
	    e);

	if (r < 0)
		return r;
	info = json_incref(json_object_get(result, "environmentInfo"));
	json_decref(result);
	r = client_notify(c, "initialized", json_object(), e);
	if (r == 0 && info == NULL)
		r = client_call(c, "environment/info", json_null(), &info, NULL,
		    e);
	if (r == 0)
		r = read_info(info, s, e);
	json_decref(info);
	return r;
}

static json_t *
start_params(const struct options *o, const struct server *s, struct err *e)
{
	scoped_buf uri;
	json_t *argv = argv_json(o->argv, e);
	const char *term = getenv("TERM");

	buf_init(&uri, CLIENT_MESSAGE_MAX);
	if (argv == NULL)
		return NULL;
	if (cwd_uri(s->cwd, o->cwd, &uri, e) < 0) {
		json_decref(argv);
		return NULL;
	}
	if (o->tty && term != NULL && json_object_get(o->env, "TERM") == NULL)
		(void)json_object_set_new(o->env, "TERM", json_string(term));
	/* Inheriting all gives the command the PATH that the server's
	 * administrator chose. */
	return json_pack("{s:s,s:o,s:s%,s:O,s:b,s:b,s:n,"
			 "s:{s:s,s:b,s:[],s:{},s:[]}}",
	    "processId", PROCESS_ID, "argv", argv, "cwd",
	    (const char *)uri.data, uri.len, "env", o->env, "tty", o->tty,
	    "pipeStdin", !o->tty, "arg0", "envPolicy", "inherit", "all",
	    "ignoreDefaultExcludes", 1, "exclude", "set", "includeOnly");
}

/* The status that a shell has for a command that could not be started. */
static int
start_status(const json_t *error)
{
	const char *kind = json_string_value(
	    json_object_get(json_object_get(error, "data"), "kind"));

	if (kind != NULL && strcmp(kind, "spawnNotFound") == 0)
		return EXIT_NOT_FOUND;
	if (kind != NULL && strcmp(kind, "spawnPermissionDenied") == 0)
		return EXIT_NOT_ALLOWED;
	return EXIT_FAILED;
}

static int
start(struct client *c, const struct options *o, const struct server *s,
    int *status, struct err *e)
{
	json_t *params = start_params(o, s, e);
	json_t *result, *error = NULL;
	int r;

	if (params == NULL)
		return e->code != 0 ? -e->code : err_set(e, ENOMEM, "memory");
	r = client_call(c, "process/start", params, &result, &error, e);
	if (r < 0) {
		*status = start_status(error);
		json_decref(error);
		return r;
	}
	json_decref(result);
	return 0;
}

static int
run(struct client *c, int epoll_fd, const struct options *o, int *status,
    struct err *e)
{
	struct server s = {0};
	scoped_terminal terminal = TERMINAL_NONE;
	struct relay_opts relay = {
	    .client = c,
	    .epoll_fd = epoll_fd,
	    .process_id = PROCESS_ID,
	    .tty = o->tty,
	    .terminal = &terminal,
	};
	int r = shake_hands(c, &s, e);

	if (r == 0)
		r = start(c, o, &s, status, e);
	relay.can_close_stdin = s.can_close_stdin;
	relay.can_resize = s.can_resize;
	free(s.cwd);
	return r < 0 ? r : relay_run(&relay, status, e);
}

static int
connect_and_run(const struct options *o, int *status, struct err *e)
{
	scoped_fd epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct url url;
	struct client_opts opts = {.url = &url,
	    .watch_fd = epoll_fd,
	    .timeout_ms = CLIENT_TIMEOUT_MS};
	struct client *c;
	int r = url_parse(o->url, &url, e);

	if (r < 0)
		return r;
	if (epoll_fd < 0)
		return err_errno(e, errno, "epoll");
	r = client_open(&opts, &c, e);
	if (r < 0)
		return r;
	r = run(c, epoll_fd, o, status, e);
	client_free(c);
	return r;
}

int
command_exec(int argc, char **argv)
{
	struct options o = {.env = json_object()};
	int status = EXIT_FAILED;
	struct err e = {0};
	int r = parse_options(argc, argv, &o, &e);

	if (r == 0)
		r = connect_and_run(&o, &status, &e);
	json_decref(o.env);
	if (r == 1)
		return fputs(help, stdout) < 0 ? EXIT_FAILED : 0;
	if (r < 0)
		(void)fprintf(stderr, "sallyport exec: %s\n", e.text);
	return status;
}
