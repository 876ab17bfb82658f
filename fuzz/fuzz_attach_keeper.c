/*
 * Reaches attach_keeper.c, attach_server.c and attach_runtime.c as the keeper
 * has them, and attach_lease_read and attach_lease_release: whoever may speak
 * on a control socket. The input is the events around a keeper, each a byte
 * and what it needs; when they have ended its peers go. No server is started:
 * its output, its log and its end are events, and the clock is the input's.
 *
 * Asserts that the keeper ends soon after its last lease and not before, with
 * its files removed, that there is one server at a time, which is asked to
 * stop before it is killed, that only who has named the server's options is
 * told its URL and its log, that what a keeper says is understood by a lease,
 * and that no descriptor is left open.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach_keeper.h"
#include "cli/attach_lease.h"
#include "cli/attach_record.h"
#include "cli/attach_server.h"
#include "fuzz/fuzz.h"

#define KEY	  "0123456789abcdef"
#define DIGEST	  "digest"
#define PEERS	  8
#define PID	  1000000000 /* of the server: nobody's */
#define TURNS_MAX 20000
/* A keeper without leases and events. */
#define END_MS	  2000

struct far_peer {
	int fd; /* -1: there is none */
	bool asked, told;
};

static struct {
	struct reader input;
	struct far_peer peers[PEERS];
	int64_t now_ms, quiet_since_ms;
	int dir;
	/* The server */
	bool running, ended;
	int status;
	unsigned int signals;
	int pid_fd, url_fd, log_fd; /* its ends; -1: closed */
	unsigned int turns;
} far;

/* --- the server ------------------------------------------------------------
 */

static void
server_say(int *fd, struct bytes text)
{
	if (*fd >= 0)
		(void)!write(*fd, text.data, text.len);
}

static void
server_end(int status)
{
	if (!far.running || far.ended)
		return;
	far.ended = true;
	far.status = status;
	assert(eventfd_write(far.pid_fd, 1) == 0);
	fd_close(&far.url_fd);
	fd_close(&far.log_fd);
}

static int
pipe_of(int *theirs)
{
	int fds[2];

	assert(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
	*theirs = fds[1];
	return fds[0];
}

/* The linker gives these their names. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
int __wrap_attach_server_start(struct attach_server *s, char *const *argv,
    struct err *e);
int __wrap_pidfd_send_signal(int fd, int signal, siginfo_t *info,
    unsigned int flags);
pid_t __wrap_waitpid(pid_t pid, int *status, int flags);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_chdir(const char *path);
int __wrap_dup2(int fd, int to);
int __real_dup2(int fd, int to);
int __wrap_poll(struct pollfd *slots, nfds_t count, int timeout_ms);
int __real_poll(struct pollfd *slots, nfds_t count, int timeout_ms);

int
__wrap_attach_server_start(struct attach_server *s, char *const *argv,
    struct err *e)
{
	assert(strcmp(argv[0], "sallyport") == 0);
	assert(!far.running);
	attach_server_init(s);
	if (fuzz_u8(&far.input) == 0xff)
		return err_set(e, EAGAIN, "no more processes");
	far.running = true;
	far.ended = false;
	far.signals = 0;
	s->pid = PID;
	s->pid_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	far.pid_fd = fcntl(s->pid_fd, F_DUPFD_CLOEXEC, 0);
	assert(s->pid_fd >= 0 && far.pid_fd >= 0);
	s->url_fd = pipe_of(&far.url_fd);
	s->log_fd = pipe_of(&far.log_fd);
	return 0;
}

int
__wrap_pidfd_send_signal(int fd, int signal, siginfo_t *info,
    unsigned int flags)
{
	(void)fd, (void)info, (void)flags;
	assert(far.running);
	/* First the request, then what nobody refuses. */
	assert(signal == (far.signals < 2 ? SIGTERM : SIGKILL));
	far.signals++;
	if (signal == SIGKILL)
		server_end(SIGKILL);
	return 0;
}

pid_t
__wrap_waitpid(pid_t pid, int *status, int flags)
{
	assert(pid == PID && flags == WNOHANG && far.running);
	if (!far.ended)
		return 0;
	*status = far.status;
	far.running = false;
	fd_close(&far.pid_fd);
	return pid;
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	*out = (struct timespec){.tv_sec = far.now_ms / 1000,
	    .tv_nsec = far.now_ms % 1000 * 1000000};
	return 0;
}

/* The engine has inputs to read from where it is, */
int
__wrap_chdir(const char *path)
{
	assert(strcmp(path, "/") == 0);
	return 0;
}

/* and writes to descriptor 2. */
int
__wrap_dup2(int fd, int to)
{
	return to <= STDERR_FILENO ? to : __real_dup2(fd, to);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */

/* --- peers -----------------------------------------------------------------
 */

static void
peer_come(struct far_peer *p)
{
	struct err e = {0};

	if (p->fd >= 0)
		return;
	assert(attach_runtime_connect(far.dir, KEY, &p->fd, &e) == 0);
	p->asked = p->told = false;
}

static void
peer_say(struct far_peer *p, struct bytes record)
{
	if (p->fd < 0)
		return;
	(void)send(p->fd, record.data, record.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (record.len > 0 && record.data[0] == ATTACH_ACQUIRE &&
	    bytes_is((struct bytes){record.data + 1, record.len - 1}, DIGEST))
		p->asked = true;
}

static void
check_record(struct far_peer *p, const char *record, size_t len)
{
	switch ((enum attach_record)record[0]) {
	case ATTACH_SERVING:
		assert(p->asked && !p->told && len <= ATTACH_URL_MAX);
		p->told = true;
		break;
	case ATTACH_LOG:
		assert(p->asked);
		break;
	case ATTACH_ENDED:
		assert(p->told && len > 1);
		break;
	case ATTACH_REFUSED:
		assert(!p->told && len > 1);
		break;
	case ATTACH_RELEASED:
		assert(p->asked && len == 1);
		break;
	case ATTACH_ACQUIRE:
	case ATTACH_RELEASE:
		abort();
	}
}

/* As a lease does, from a copy of what came. */
static void
check_lease(const char *record, size_t len)
{
	struct attach_lease l;
	struct err e = {0};
	int ends[2], r;

	assert(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	assert(send(ends[1], record, len, MSG_NOSIGNAL) == (ssize_t)len);
	l = (struct attach_lease){.fd = ends[0]};
	r = attach_lease_read(&l, &e);
	/* A keeper's own words are passed on. */
	assert(r == 0 || e.text[0] != '\0' || len < 2 || record[1] == '\0');
	assert(strlen(l.url) < sizeof l.url);
	(void)close(ends[1]);
	attach_lease_release(&l);
	assert(l.fd == -1 && l.url[0] == '\0');
}

static void
peer_hear(struct far_peer *p)
{
	char record[ATTACH_RECORD_MAX + 1];
	ssize_t n;

	while (p->fd >= 0) {
		n = recv(p->fd, record, sizeof record, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			fd_close(&p->fd);
			return;
		}
		assert((size_t)n <= ATTACH_RECORD_MAX);
		check_record(p, record, (size_t)n);
		/* What is printed goes to the engine's own error output. */
		if (record[0] != ATTACH_LOG)
			check_lease(record, (size_t)n);
	}
}

static void
peers_go(void)
{
	for (size_t i = 0; i < PEERS; i++) {
		peer_hear(&far.peers[i]);
		fd_close(&far.peers[i].fd);
	}
}

/* --- events ----------------------------------------------------------------
 */

static struct bytes
text_of(struct reader *r)
{
	return fuzz_bytes(r, fuzz_u8(r));
}

static void
event(struct reader *r)
{
	uint8_t what = fuzz_u8(r);
	struct far_peer *p = &far.peers[what >> 4 & (PEERS - 1)];
	static const char acquire[] = "A" DIGEST, release[] = "R";

	switch (what & 15) {
	case 0:
		peer_come(p);
		break;
	case 1:
		peer_say(p, bytes_of(acquire));
		break;
	case 2:
		peer_say(p, bytes_of(release));
		break;
	case 3:
		peer_say(p, text_of(r));
		break;
	case 4:
		peer_hear(p);
		break;
	case 5:
		fd_close(&p->fd);
		break;
	case 6:
		server_say(&far.url_fd, text_of(r));
		break;
	case 7:
		server_say(&far.url_fd, bytes_of("ws://127.0.0.1:1/x\n"));
		break;
	case 8:
		server_say(&far.log_fd, text_of(r));
		break;
	case 9:
		fd_close(&far.url_fd);
		break;
	case 10:
		fd_close(&far.log_fd);
		break;
	case 11:
		server_end(fuzz_u8(r) << 8);
		break;
	case 12:
		server_end(SIGSEGV);
		break;
	case 13:
		check_lease((const char *)r->at, r->left < 64 ? r->left : 64);
		break;
	default:
		far.now_ms += fuzz_u8(r);
		break;
	}
	far.quiet_since_ms = far.now_ms;
}

/* Others wait in it too, and for nothing that takes time. */
int
__wrap_poll(struct pollfd *slots, nfds_t count, int timeout_ms)
{
	int r;

	assert(far.turns++ < TURNS_MAX);
	if (count < ATTACH_LEASES_MAX)
		return __real_poll(slots, count, 0);
	r = __real_poll(slots, count, 0);
	if (r > 0)
		return r;
	if (far.input.left > 0) {
		event(&far.input);
		return __real_poll(slots, count, 0);
	}
	peers_go();
	r = __real_poll(slots, count, 0);
	if (r > 0)
		return r;
	/* Nothing happens any more: it must not wait for ever. */
	assert(timeout_ms >= 0);
	far.now_ms += timeout_ms > 0 ? timeout_ms : 1;
	assert(far.now_ms - far.quiet_since_ms < END_MS);
	return 0;
}

/* --- the keeper ------------------------------------------------------------
 */

static void
run_keeper(void)
{
	char name[] = "attach-keeper", key[] = KEY, digest[] = DIGEST,
	     server[] = "sallyport", serve[] = "serve";
	char *argv[] = {name, key, digest, server, serve, NULL};

	assert(command_attach_keeper(5, argv) == 0);
}

static void
use(void)
{
	int listener = -1;
	struct err e = {0};
	struct stat st;

	assert(attach_runtime_listen(far.dir, KEY, &listener, &e) == 0);
	assert(__real_dup2(far.dir, KEEPER_DIR_FD) == KEEPER_DIR_FD);
	assert(__real_dup2(listener, KEEPER_LISTENER_FD) == KEEPER_LISTENER_FD);
	(void)close(listener);
	/* Whoever starts a keeper has asked it for a lease by then. */
	peer_come(&far.peers[0]);
	peer_say(&far.peers[0], bytes_of("A" DIGEST));
	run_keeper();
	assert(!far.running);
	assert(fstatat(far.dir, "attach-" KEY ".sock", &st, 0) < 0);
	assert(fstatat(far.dir, "attach-" KEY ".lock", &st, 0) < 0);
	(void)close(KEEPER_DIR_FD);
	(void)close(KEEPER_LISTENER_FD);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/tmp/fuzz-keeper-XXXXXX";
	int before;

	if (size > FUZZ_LEN_MAX)
		return 0;
	(void)signal(SIGPIPE, SIG_IGN);
	assert(mkdtemp(path) != NULL);
	/* The keeper's two are nobody else's meanwhile. */
	assert(__real_dup2(STDIN_FILENO, KEEPER_DIR_FD) == KEEPER_DIR_FD);
	assert(__real_dup2(STDIN_FILENO, KEEPER_LISTENER_FD) ==
	       KEEPER_LISTENER_FD);
	before = fuzz_fds_open();
	memset(&far, 0, sizeof far);
	for (size_t i = 0; i < PEERS; i++)
		far.peers[i].fd = -1;
	far.pid_fd = far.url_fd = far.log_fd = -1;
	far.now_ms = 1000000;
	reader_init(&far.input, data, size);
	far.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert(far.dir >= 0);
	use();
	peers_go();
	(void)close(far.dir);
	/* Nothing is left in it. */
	assert(rmdir(path) == 0);
	assert(__real_dup2(STDIN_FILENO, KEEPER_DIR_FD) == KEEPER_DIR_FD);
	assert(__real_dup2(STDIN_FILENO, KEEPER_LISTENER_FD) ==
	       KEEPER_LISTENER_FD);
	assert(fuzz_fds_open() == before);
	return 0;
}
