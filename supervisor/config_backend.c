#include "supervisor/config_backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/limits.h"
#include "base/path.h"
#include "policy/argv_template.h"
#include "policy/profile.h"

#define NO_STATUS 256

/*
 * What belongs to a program is found by two things that its children inherit: a
 * container has no other tie to it, and killing the client of a daemon ends
 * nothing. One is the variable that it was started with. The other is a limit
 * that the kernel has not enforced since Linux 2.4, on the resident set, which
 * stays when a child clears its environment, is a session of its own and has no
 * parent left. Sent again until none is left, as one may fork meanwhile; what
 * is killed has no environment any more, and is a zombie at most.
 */
#define MARK "SALLYPORT_EXEC_ID={id}"
#define TAG  "ulimit -m {tag} 2>/dev/null; "
/* The first grep is one for all, and would take another's id that goes on. */
#define FOR_MARKED                                                             \
	"for f in $(grep -ls " MARK " /proc/[0-9]*/environ); do "              \
	"if tr '\\0' '\\n' <$f | grep -qx " MARK "; "                          \
	"then p=${{f#/proc/}; kill "
#define FOR_TAGGED                                                             \
	"for f in $(grep -ls 'resident set *'$(({tag} * 1024))' ' "            \
	"/proc/[0-9]*/limits); do p=${{f#/proc/}; p=${{p%/limits}; "           \
	"if ! grep -q '^State:.[ZX]' /proc/$p/status; then kill "
#define KILL_SCRIPT                                                            \
	"\"exec 2>/dev/null; i=0; n=1; while [ $n = 1 ] && [ $i -lt 1000 ]; "  \
	"do n=0; i=$(($i + 1)); " FOR_TAGGED                                   \
	"-9 $p && n=1; fi; done; " FOR_MARKED                                  \
	"-9 ${{p%/environ} && n=1; fi; done; done; [ $n = 0 ]\""
/* Each once. */
#define SIGNAL_SCRIPT                                                          \
	"\"exec 2>/dev/null; n=1; " FOR_TAGGED                                 \
	"-{signal} $p && n=0; fi; done; [ $n = 0 ] || " FOR_MARKED             \
	"-{signal} ${{p%/environ}; fi; done\""

/* What it was started with, and what it was connected to since. */
#define NETWORKS                                                               \
	"\"{{{{.HostConfig.NetworkMode}}"                                      \
	"{{{{range $name, $_ := .NetworkSettings.Networks}} "                  \
	"{{{{$name}}{{{{end}}\""

#define CONTAINER(program)                                                     \
	{                                                                      \
		.text = {[BACKEND_START] = program                             \
			 " exec {stdin:-i} {tty:-t} {target} sh -c "           \
			 "\"" TAG "{command}\"",                               \
		    [BACKEND_SIGNAL] =                                         \
			program " exec {target} sh -c " SIGNAL_SCRIPT,         \
		    [BACKEND_TERMINATE] =                                      \
			program " exec {target} sh -c " KILL_SCRIPT,           \
		    [BACKEND_INSPECT] = program                                \
		    " container inspect --format " NETWORKS " {target}"},      \
		.lost_status = 125, .target = true,                            \
	}

/*
 * BatchMode: a question would wait for ever. A shell stays before the program,
 * and outlives its Ctrl-C, as a program that a signal ends would be reported
 * like a lost connection.
 */
#define SSH "ssh -o BatchMode=yes "
#define SSH_START                                                              \
	SSH "{tty:-tt} {target} \"trap : INT QUIT; (" TAG "\" {command} "      \
	    "\"); exit $?\""

static const struct {
	const char *text[BACKEND_TEXTS];
	uint32_t lost_status; /* of its program's own failures */
	bool target;	      /* it needs one */
} types[BACKEND_TYPES] = {
    [BACKEND_NATIVE] = {.lost_status = NO_STATUS},
    [BACKEND_COMMAND] = {.lost_status = NO_STATUS},
    [BACKEND_DOCKER] = CONTAINER("docker"),
    [BACKEND_PODMAN] = CONTAINER("podman"),
    [BACKEND_SSH] =
	{
	    .text = {[BACKEND_START] = SSH_START,
		[BACKEND_SIGNAL] = SSH "{target} " SIGNAL_SCRIPT,
		[BACKEND_TERMINATE] = SSH "{target} " KILL_SCRIPT},
	    .lost_status = 255,
	    .target = true,
	},
};

void
config_backend_done(struct config_backend *b)
{
	free(b->target);
	free(b->bind);
	free(b->worker);
	for (size_t i = 0; i < BACKEND_TEXTS; i++)
		free(b->text[i]);
	list_clear(&b->sockets);
	*b = (struct config_backend){0};
}

int
config_backend_check_target(const char *text, struct err *e)
{
	if (text[0] == '-' || strpbrk(text, " \t") != NULL)
		return err_set(e, EINVAL,
		    "\"%.64s\" would not be taken for a target", text);
	return 0;
}

static int
check(const char *text, uint32_t allowed, struct err *e)
{
	uint32_t used;

	return argv_template_check(bytes_of(text), allowed, &used, e);
}

int
config_backend_check_start(const char *text, struct err *e)
{
	return check(text, BACKEND_START_NAMES, e);
}

int
config_backend_check_signal(const char *text, struct err *e)
{
	return check(text, BACKEND_SIGNAL_NAMES, e);
}

int
config_backend_check_terminate(const char *text, struct err *e)
{
	return check(text, BACKEND_TERMINATE_NAMES, e);
}

int
config_backend_check_finalize(const char *text, struct err *e)
{
	return check(text, BACKEND_FINALIZE_NAMES, e);
}

int
config_backend_check_prepare(const char *text, struct err *e)
{
	return check(text, BACKEND_PREPARE_NAMES, e);
}

int
config_backend_check_inspect(const char *text, struct err *e)
{
	return check(text, BACKEND_INSPECT_NAMES, e);
}

static int
check_path(const char *text, struct err *e)
{
	if (!path_is_canonical(bytes_of(text)))
		return err_set(e, EINVAL,
		    "\"%.64s\" is not an absolute path without . and ..", text);
	return 0;
}

int
config_backend_check_worker(const char *text, struct err *e)
{
	if (strlen(text) >= PATH_LEN_MAX)
		return err_set(e, EINVAL, "\"%.64s...\" is too long", text);
	return check_path(text, e);
}

/* The colon before the second path; NULL if there is none. */
static const char *
second_path(const char *text)
{
	return strstr(text, ":/");
}

static bool
is_bindable(struct bytes path)
{
	return path.len > 1 && path.len < PATH_LEN_MAX &&
	       path_is_canonical(path);
}

int
config_backend_check_bind(const char *text, struct err *e)
{
	const char *colon = second_path(text);
	struct bytes host, guest;

	if (colon == NULL)
		return err_set(e, EINVAL, "\"%.64s\" is not HOST:GUEST", text);
	host = (struct bytes){(const uint8_t *)text, (size_t)(colon - text)};
	guest = bytes_of(colon + 1);
	if (!is_bindable(host) || !is_bindable(guest))
		return err_set(e, EINVAL,
		    "\"%.64s\" is not two absolute paths without . and .., "
		    "neither of them /",
		    text);
	if (profile_is_in(host, guest) || profile_is_in(guest, host))
		return err_set(e, EINVAL,
		    "\"%.64s\": one path lies in the other; with the same one "
		    "use files = local",
		    text);
	if (profile_is_in(guest, bytes_of("/proc")) ||
	    profile_is_in(guest, bytes_of("/dev")))
		return err_set(e, EINVAL,
		    "\"%.64s\": nothing can be shown in /proc and /dev", text);
	return 0;
}

void
config_backend_bind(const struct config_backend *b, struct bytes *host,
    struct bytes *guest)
{
	const char *colon;

	*host = *guest = (struct bytes){0};
	if (b->files != BACKEND_FILES_BIND || b->bind == NULL)
		return;
	colon = second_path(b->bind);
	*host =
	    (struct bytes){(const uint8_t *)b->bind, (size_t)(colon - b->bind)};
	*guest = bytes_of(colon + 1);
}

int
config_backend_check_socket(const char *text, struct err *e)
{
	int r = check_path(text, e);

	if (r < 0)
		return r;
	if (strlen(text) >= sizeof((struct sockaddr_un){0}.sun_path))
		return err_set(e, EINVAL,
		    "\"%.64s...\" is longer than a socket's name can be", text);
	return 0;
}

const char *
config_backend_text(const struct config_backend *b, enum backend_text which)
{
	const char *own = b->text[which];
	const char *built_in = types[b->type].text[which];

	if (which == BACKEND_INSPECT && b->isolated != BACKEND_ISOLATED_AUTO)
		return "";
	if (own != NULL)
		return own;
	return built_in != NULL ? built_in : "";
}

uint32_t
config_backend_lost_status(const struct config_backend *b)
{
	return b->lost_status != NO_STATUS ? b->lost_status
					   : types[b->type].lost_status;
}

bool
config_backend_http_local(const struct config_backend *b)
{
	if (b->http == BACKEND_HTTP_AUTO)
		return b->type == BACKEND_NATIVE || b->type == BACKEND_COMMAND;
	return b->http == BACKEND_HTTP_LOCAL;
}

static int
check_files(const struct config_backend *b, struct err *e)
{
	/* File workers are who the commands are. */
	if ((b->files == BACKEND_FILES_LOCAL ||
		b->files == BACKEND_FILES_BIND) &&
	    b->uid != 0)
		return err_set(e, EINVAL,
		    "backend.uid: with files = local and files = bind clients "
		    "could read what is that user's, such as keys");
	if ((b->files == BACKEND_FILES_BIND) != (b->bind != NULL))
		return err_set(e, EINVAL,
		    "backend.bind: HOST:GUEST goes with files = bind, and that "
		    "with it");
	if (b->files == BACKEND_FILES_WORKER && b->worker == NULL)
		return err_set(e, EINVAL,
		    "backend.worker: is missing; name the file worker's "
		    "program there");
	if (b->worker != NULL && b->files < BACKEND_FILES_WORKER)
		return err_set(e, EINVAL,
		    "backend.worker: goes with files = worker and files = send "
		    "alone");
	return 0;
}

int
config_backend_check(const struct config_backend *b, struct err *e)
{
	if (b->type == BACKEND_NATIVE) {
		for (size_t i = 0; i < BACKEND_TEXTS; i++)
			if (b->text[i] != NULL)
				return err_set(e, EINVAL,
				    "backend.type: native has no commands");
		if (b->sockets.count > 0)
			return err_set(e, EINVAL,
			    "backend.socket: the type native has no commands "
			    "that could use it");
		return 0;
	}
	if (b->sockets.count > BACKEND_SOCKETS_MAX)
		return err_set(e, EINVAL,
		    "backend.socket: at most %d are accepted",
		    BACKEND_SOCKETS_MAX);
	if (types[b->type].target && b->target == NULL)
		return err_set(e, EINVAL,
		    "backend.target: is missing; name the container or host");
	if (config_backend_text(b, BACKEND_START)[0] == '\0')
		return err_set(e, EINVAL,
		    "backend.start: is missing; the type command has none of "
		    "its own");
	return check_files(b, e);
}
