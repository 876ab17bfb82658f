/*
 * Reaches attach_app.c and attach_pipe.c: what `sallyport attach` makes of an
 * app-server that is its child. The input is a byte of flags, then what the
 * app-server says, in pieces that "\x1e" parts; then it ends. Nothing is
 * started: the program's two pipes end here.
 *
 * Asserts that a failure has one of the documented codes and words, that what
 * is said is JSON, line by line and in order, with the answers that requests
 * of the app-server get, that the URL, which is a secret, is told to nobody
 * but an app-server that has shaken hands, and that no descriptor is left
 * open.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "cli/attach_app.h"
#include "cli/client.h"
#include "fuzz/fuzz.h"

#define SECRET	   "ws://127.0.0.1:1/secret"
#define PIECES_MAX 100
#define SAID_MAX   (1024u * 1024u)

enum {
	FLAG_ASKED_TO_END = 1,
	FLAG_NOT_READING = 2, /* its input is closed */
	FLAG_CANNOT_START = 4,
	FLAG_NO_PIPE = 8,
};

static struct {
	uint8_t flags;
	unsigned int pipes;
	struct reader input;
	int theirs; /* the end that the app-server reads from */
} far;

/* --- the app-server --------------------------------------------------------
 */

/* The linker gives these their names. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);
int __wrap_posix_spawnp(pid_t *pid, const char *file,
    const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attr,
    char *const argv[], char *const envp[]);
int __wrap_pidfd_open(pid_t pid, unsigned int flags);

/* The child's input, then its output: there a piece is read as it was
 * written. */
int
__wrap_pipe2(int fds[2], int flags)
{
	int r;

	if (far.pipes++ == 0) {
		r = __real_pipe2(fds, flags);
		assert(r == 0);
		far.theirs = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
		assert(far.theirs >= 0);
		return r;
	}
	if (far.flags & FLAG_NO_PIPE) {
		errno = EMFILE;
		return -1;
	}
	r = __real_pipe2(fds, flags | O_DIRECT);
	assert(r == 0);
	assert(fcntl(fds[1], F_SETPIPE_SZ, 2 * PIECES_MAX * 4096) > 0);
	for (int i = 0; i < PIECES_MAX && far.input.left > 0; i++) {
		struct bytes piece = fuzz_until(&far.input, 0x1e);

		assert(
		    write(fds[1], piece.data, piece.len) == (ssize_t)piece.len);
	}
	return r;
}

int
__wrap_posix_spawnp(pid_t *pid, const char *file,
    const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attr,
    char *const argv[], char *const envp[])
{
	(void)files, (void)attr, (void)argv, (void)envp;
	assert(strcmp(file, "app-server") == 0);
	if (far.flags & FLAG_CANNOT_START)
		return ENOENT;
	if (far.flags & FLAG_NOT_READING) {
		(void)close(far.theirs);
		far.theirs = -1;
	}
	/* No child of ours, so that nobody is waited for. */
	*pid = getpid();
	return 0;
}

/* It has ended. */
int
__wrap_pidfd_open(pid_t pid, unsigned int flags)
{
	(void)flags;
	assert(pid == getpid());
	return eventfd(1, EFD_CLOEXEC);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */

/* --- what it was told ------------------------------------------------------
 */

struct told {
	json_int_t last_id;
	unsigned int initialized, refused;
};

static void
check_message(const json_t *message, struct told *told)
{
	const char *method =
	    json_string_value(json_object_get(message, "method"));
	const json_t *id = json_object_get(message, "id"),
		     *error = json_object_get(message, "error");

	assert(json_is_object(message));
	if (method == NULL) {
		/* Something that they asked. */
		assert(id != NULL && json_integer_value(json_object_get(error,
					 "code")) == -32601);
		told->refused++;
		return;
	}
	if (strcmp(method, "initialized") == 0) {
		assert(id == NULL && told->last_id == 1);
		told->initialized++;
		return;
	}
	assert(json_integer_value(id) == ++told->last_id);
	assert(strcmp(method,
		   told->last_id == 1 ? "initialize" : "environment/add") == 0);
}

/* Read what was said, and check it: the URL is in the second request. */
static void
check_told(bool shaken)
{
	scoped_buf all;
	struct told told = {0};
	struct reader lines;
	uint8_t part[4096];
	ssize_t n = 0;

	buf_init(&all, SAID_MAX);
	assert(fcntl(far.theirs, F_SETFL, O_NONBLOCK) == 0);
	while ((n = read(far.theirs, part, sizeof part)) > 0)
		assert(buf_put(&all, part, (size_t)n) == 0);
	reader_init(&lines, all.data, all.len);
	while (lines.left > 0) {
		struct bytes line = fuzz_until(&lines, '\n');
		json_t *message = json_loadb((const char *)line.data, line.len,
		    JSON_ALLOW_NUL, NULL);

		/* The last one may not have fitted. */
		if (message == NULL && lines.left == 0)
			break;
		check_message(message, &told);
		json_decref(message);
	}
	assert(told.initialized <= 1 && told.last_id <= (shaken ? 2 : 1));
}

/* --- the command -----------------------------------------------------------
 */

static bool
is_documented(int r)
{
	static const int codes[] = {EPROTONOSUPPORT, EREMOTEIO, ENOSYS, EPROTO,
	    ECONNRESET, EPIPE, EAGAIN, EINTR, ENOENT, EMFILE};

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (r == -codes[i])
			return true;
	return false;
}

static void
check_failure(int r, const struct err *e)
{
	if (r != 0)
		assert(is_documented(r) && e->code == -r && e->text[0] != '\0');
}

/* Returns whether hands were shaken. */
static bool
use(int watch_fd)
{
	static char name[] = "app-server";
	char *const argv[] = {name, NULL};
	const struct attach_target target = {.kind = ATTACH_STDIO};
	struct attach_app *a = NULL;
	struct err e = {0};
	int r;

	r = attach_app_open(&(struct attach_app_opts){.target = &target,
				.argv = argv,
				.watch_fd = watch_fd,
				.timeout_ms = 60000},
	    &a, &e);
	check_failure(r, &e);
	assert((r == 0) == (a != NULL));
	if (r < 0)
		return false;
	r = attach_app_add(a, "sallyport", SECRET, &e);
	check_failure(r, &e);
	while (r == 0) {
		r = attach_app_check(a, &e);
		check_failure(r, &e);
		if (r == 0)
			attach_app_wait(a);
	}
	attach_app_free(a);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before = fuzz_fds_open(), watch_fd = -1;
	bool shaken;

	if (size > FUZZ_LEN_MAX)
		return 0;
	json_object_seed(1);
	(void)signal(SIGPIPE, SIG_IGN);
	memset(&far, 0, sizeof far);
	reader_init(&far.input, data, size);
	far.flags = fuzz_u8(&far.input);
	if (far.flags & FLAG_ASKED_TO_END)
		watch_fd = eventfd(1, EFD_CLOEXEC);
	shaken = use(watch_fd);
	if (far.theirs >= 0) {
		check_told(shaken);
		(void)close(far.theirs);
	}
	if (watch_fd >= 0)
		(void)close(watch_fd);
	assert(fuzz_fds_open() == before);
	return 0;
}
