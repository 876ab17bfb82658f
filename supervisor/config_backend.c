#include "supervisor/config_backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/limits.h"
#include "base/path.h"
#include "policy/argv_template.h"

#define NO_STATUS 256

/*
 * What belongs to a program is found by the variable that it was started with,
 * which its children inherit: a container has no other tie to it, and killing
 * the client of a daemon ends nothing. Sent again until none is left, as one
 * may fork meanwhile; what is killed has no environment any more.
 */
#define MARK "SALLYPORT_EXEC_ID={id}"
/* The first grep is one for all, and would take another's id that goes on. */
#define FOR_MARKED                                                             \
	"for f in $(grep -ls " MARK " /proc/[0-9]*/environ); do "              \
	"if tr '\\0' '\\n' <$f | grep -qx " MARK "; "                          \
	"then p=${{f#/proc/}; kill "
#define KILL_SCRIPT                                                            \
	"\"exec 2>/dev/null; i=0; n=1; while [ $n = 1 ] && [ $i -lt 1000 ]; "  \
	"do n=0; i=$(($i + 1)); " FOR_MARKED                                   \
	"-9 ${{p%/environ} && n=1; fi; done; done; [ $n = 0 ]\""
#define SIGNAL_SCRIPT                                                          \
	"\"exec 2>/dev/null; " FOR_MARKED "-{signal} ${{p%/environ}; fi; "     \
	"done\""

#define CONTAINER(program)                                                     \
	{                                                                      \
		.text = {[BACKEND_START] = program                             \
			 " exec {stdin:-i} {tty:-t} {env:-e} -w {cwd} "        \
			 "{target} {argv}",                                    \
		    [BACKEND_SIGNAL] =                                         \
			program " exec {target} sh -c " SIGNAL_SCRIPT,         \
		    [BACKEND_TERMINATE] =                                      \
			program " exec {target} sh -c " KILL_SCRIPT},          \
		.lost_status = 125, .target = true,                            \
	}

/*
 * BatchMode: a question would wait for ever. A shell stays before the program,
 * and outlives its Ctrl-C, as a program that a signal ends would be reported
 * like a lost connection.
 */
#define SSH "ssh -o BatchMode=yes "
#define SSH_START                                                              \
	SSH "{tty:-tt} {target} \"trap : INT QUIT; (\" {command} "             \
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
config_backend_check_socket(const char *text, struct err *e)
{
	if (!path_is_canonical(bytes_of(text)))
		return err_set(e, EINVAL,
		    "\"%.64s\" is not an absolute path without . and ..", text);
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
	/* File workers are who the commands are. */
	if (b->local_files && b->uid != 0)
		return err_set(e, EINVAL,
		    "backend.uid: with files = local clients could read what "
		    "is that user's, such as keys");
	return 0;
}
