#include "cli/attach_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "cli/attach_keeper.h"
#include "cli/attach_record.h"

/* A keeper has its server gone within one second. */
#define RELEASE_MS	3000
/* Keepers that end between our look for them and their answer. */
#define TRIES_MAX	10
/* Bytes of the server's command line. */
#define SERVER_ARGS_MAX (256u * 1024u)
#define SERVER_ARGC_MAX 1024

void
attach_lease_key(const char *runtime_id, char key[ATTACH_KEY_SIZE])
{
	char hex[SHA256_HEX_SIZE];

	sha256_hex(bytes_of(runtime_id), hex);
	memcpy(key, hex, ATTACH_KEY_SIZE - 1);
	key[ATTACH_KEY_SIZE - 1] = '\0';
}

/* Of the options in their order; the path of the executable is none. */
static int
digest_of(char *const *argv, char digest[SHA256_HEX_SIZE])
{
	scoped_buf all;
	int r = 0;

	buf_init(&all, SERVER_ARGS_MAX);
	for (argv++; r == 0 && *argv != NULL; argv++)
		r = buf_put(&all, *argv, strlen(*argv) + 1);
	if (r == 0)
		sha256_hex((struct bytes){all.data, all.len}, digest);
	return r;
}

/* --- making a keeper ---------------------------------------------------- */

/* Descriptors that must not be in each other's way when they are moved. */
static int
high_copy(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, KEEPER_FDS_END);
}

static int
prepare(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr, int dir_fd,
    int listener_fd)
{
	sigset_t none, ignored;
	int r;

	(void)sigemptyset(&none);
	(void)sigemptyset(&ignored);
	(void)sigaddset(&ignored, SIGPIPE);
	r = posix_spawn_file_actions_adddup2(files, dir_fd, KEEPER_DIR_FD);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(files, listener_fd,
		    KEEPER_LISTENER_FD);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(files,
		    KEEPER_FDS_END);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &ignored);
	/* A session of its own: Ctrl-C and the end of our terminal are not
	 * meant for the server of others. */
	if (r == 0)
		r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID |
						       POSIX_SPAWN_SETSIGMASK |
						       POSIX_SPAWN_SETSIGDEF);
	return -r;
}

static int
spawn_keeper(char **argv, int dir_fd, int listener_fd, struct err *e)
{
	scoped_fd dir = high_copy(dir_fd);
	scoped_fd listener = high_copy(listener_fd);
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	pid_t pid;
	int r;

	if (dir < 0 || listener < 0)
		return err_errno(e, errno, "keeper");
	if (posix_spawn_file_actions_init(&files) != 0)
		return err_set(e, ENOMEM, "out of memory");
	if (posix_spawnattr_init(&attr) != 0) {
		(void)posix_spawn_file_actions_destroy(&files);
		return err_set(e, ENOMEM, "out of memory");
	}
	r = prepare(&files, &attr, dir, listener);
	if (r == 0)
		r = -posix_spawn(&pid, "/proc/self/exe", &files, &attr, argv,
		    environ);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&attr);
	return r < 0 ? err_errno(e, -r, "keeper") : 0;
}

/* The caller holds the lock. */
static int
make_keeper(int dir_fd, char *key, char *digest, char *const *server_argv,
    struct err *e)
{
	char name[] = "sallyport-tool", command[] = "attach-keeper";
	char *argv[SERVER_ARGC_MAX + 5] = {name, command, key, digest};
	scoped_fd listener = -1;
	int r = attach_runtime_listen(dir_fd, key, &listener, e);

	if (r < 0)
		return r;
	for (size_t i = 0; server_argv[i] != NULL; i++) {
		if (i == SERVER_ARGC_MAX)
			return err_set(e, E2BIG, "too many options");
		argv[4 + i] = server_argv[i];
	}
	return spawn_keeper(argv, dir_fd, listener, e);
}

/* --- records ------------------------------------------------------------ */

/* A log line of the server. Whoever does not read our standard error loses
 * lines: we must not wait for it. */
static void
print_log(const char *line, size_t len)
{
	struct pollfd room = {STDERR_FILENO, POLLOUT, 0};

	if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0)
		(void)!write(STDERR_FILENO, line, len);
}

static int
on_record(struct attach_lease *l, const char *record, size_t len, struct err *e)
{
	const char *text = record + 1;
	int text_len = (int)len - 1;

	switch ((enum attach_record)record[0]) {
	case ATTACH_LOG:
		print_log(text, len - 1);
		return 0;
	case ATTACH_SERVING:
		if (len > sizeof l->url)
			return err_set(e, EPROTO, "keeper: bad record");
		memcpy(l->url, text, len - 1);
		l->url[len - 1] = '\0';
		return 0;
	case ATTACH_REFUSED:
		return err_set(e, ECANCELED, "%.*s", text_len, text);
	case ATTACH_ENDED:
		return err_set(e, EPIPE, "%.*s", text_len, text);
	case ATTACH_RELEASED:
	case ATTACH_ACQUIRE:
	case ATTACH_RELEASE:
		break;
	}
	return err_set(e, EPROTO, "keeper: bad record");
}

/* Returns 0; -EAGAIN; -ECONNRESET at the end; or what on_record says. */
static int
read_record(struct attach_lease *l, struct err *e)
{
	char record[ATTACH_RECORD_MAX];
	ssize_t n = recv(l->fd, record, sizeof record, MSG_DONTWAIT);
	int r;

	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n <= 0)
		return -ECONNRESET;
	r = on_record(l, record, (size_t)n, e);
	explicit_bzero(record, (size_t)n);
	return r;
}

/* Returns 0; -ETIMEDOUT; -EINTR if end_fd, which may be -1, is readable. */
static int
wait_readable(int fd, int end_fd, int64_t deadline)
{
	struct pollfd slots[] = {{fd, POLLIN, 0}, {end_fd, POLLIN, 0}};
	int64_t left = deadline - clock_ms();

	if (poll(slots, 2, left > 0 ? (int)left : 0) < 1)
		return -ETIMEDOUT;
	return slots[1].revents != 0 ? -EINTR : 0;
}

/* --- the lease ---------------------------------------------------------- */

static bool
send_record(int fd, enum attach_record type, const char *text)
{
	char record[ATTACH_RECORD_MAX];
	size_t len = strlen(text);

	if (len > sizeof record - 1)
		return false;
	record[0] = (char)type;
	memcpy(record + 1, text, len);
	return send(fd, record, 1 + len, MSG_NOSIGNAL) >= 0;
}

/* Find the keeper or make one, and put our request into its queue, all under
 * the lock: a keeper does not end meanwhile, nor is a second one made. */
static int
ask(struct attach_lease *l, int dir_fd, char *key, char *digest,
    const struct attach_lease_opts *o, struct err *e)
{
	scoped_fd lock_fd = -1;
	int r = attach_runtime_lock(dir_fd, key, o->timeout_ms, &lock_fd, e);

	if (r < 0)
		return r;
	r = attach_runtime_connect(dir_fd, key, &l->fd, e);
	if (r == -ECONNREFUSED || r == -ENOENT) {
		r = make_keeper(dir_fd, key, digest, o->server_argv, e);
		if (r == 0)
			r = attach_runtime_connect(dir_fd, key, &l->fd, e);
	}
	if (r == 0 && !send_record(l->fd, ATTACH_ACQUIRE, digest))
		r = -ECONNRESET;
	return r;
}

/* Until the URL is there. */
static int
wait_serving(struct attach_lease *l, int end_fd, int64_t deadline,
    struct err *e)
{
	int r = 0;

	while (r == 0 && l->url[0] == '\0') {
		r = wait_readable(l->fd, end_fd, deadline);
		if (r == -EINTR)
			return err_set(e, EINTR, "asked to end");
		if (r < 0)
			return err_set(e, ETIMEDOUT,
			    "the server did not serve in time");
		r = read_record(l, e);
		if (r == -EAGAIN)
			r = 0;
	}
	return r;
}

int
attach_lease_open(struct attach_lease *l, const struct attach_lease_opts *o,
    struct err *e)
{
	char key[ATTACH_KEY_SIZE], digest[SHA256_HEX_SIZE];
	int64_t deadline = clock_ms() + o->timeout_ms;
	struct attach_lease got = {.fd = -1};
	scoped_fd dir_fd = -1;
	int r = attach_runtime_open(&dir_fd, e);

	if (r == 0 && digest_of(o->server_argv, digest) < 0)
		r = err_set(e, E2BIG, "too many options");
	if (r < 0)
		return r;
	attach_lease_key(o->runtime_id, key);
	r = -ECONNRESET;
	/* A keeper that was killed meanwhile is replaced. */
	for (int i = 0; r == -ECONNRESET && i < TRIES_MAX; i++) {
		fd_close(&got.fd);
		r = ask(&got, dir_fd, key, digest, o, e);
		if (r == 0)
			r = wait_serving(&got, o->end_fd, deadline, e);
	}
	if (r == -ECONNRESET)
		r = err_set(e, ECONNRESET, "the keeper does not stay");
	if (r < 0)
		fd_close(&got.fd);
	else
		*l = got;
	return r;
}

int
attach_lease_read(struct attach_lease *l, struct err *e)
{
	int r;

	do
		r = read_record(l, e);
	while (r == 0);
	if (r == -EAGAIN)
		return 0;
	if (r == -ECONNRESET)
		return err_set(e, EPIPE, "the server's keeper is gone");
	return r;
}

/* The answer, which is no record that on_record takes, and the end of the
 * connection mean the same. */
void
attach_lease_release(struct attach_lease *l)
{
	int64_t deadline = clock_ms() + RELEASE_MS;
	struct err e;
	int r = 0;

	if (l->fd < 0)
		return;
	if (send_record(l->fd, ATTACH_RELEASE, ""))
		while ((r == 0 || r == -EAGAIN) &&
		       wait_readable(l->fd, -1, deadline) == 0)
			r = read_record(l, &e);
	fd_close(&l->fd);
	explicit_bzero(l->url, sizeof l->url);
}
