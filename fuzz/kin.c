#include "fuzz/kin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/control.h"
#include "exec/http_start.h"
#include "exec/placeholder.h"
#include "exec/raw.h"
#include "exec/spawn.h"
#include "fuzz/faults.h"
#include "privsep/channel.h"

#define KIN_MAX 128

enum kind { KIN_CHILD, KIN_HELPER, KIN_HTTP, KIN_REMOVER };

struct one {
	enum kind kind;
	int pidfd; /* exec's: a number only, while it has not ended */
	int event; /* the same */
	int status, control, worker; /* -1: closed */
	struct channel *http;
	bool tty, pipe_stdin, bare;
	bool killed, ended;
};

static struct {
	struct one all[KIN_MAX];
	size_t count;
	uint8_t mood; /* what the next start or helper comes to */
} kin;

void
kin_begin(void)
{
	memset(&kin, 0, sizeof kin);
	/* Of a child that speaks to an exec which has given it up. */
	(void)signal(SIGPIPE, SIG_IGN);
}

static struct one *
one_new(enum kind kind, int *pidfd)
{
	struct one *k = &kin.all[kin.count];

	if (kin.count == KIN_MAX)
		return NULL;
	kin.count++;
	*pidfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*k = (struct one){.kind = kind,
	    .pidfd = *pidfd,
	    .event = dup(*pidfd),
	    .status = -1,
	    .control = -1,
	    .worker = -1};
	assert(*pidfd >= 0 && k->event >= 0);
	return k;
}

static void
one_end(struct one *k)
{
	const uint64_t one = 1;

	if (k->ended)
		return;
	k->ended = true;
	fd_close(&k->status);
	fd_close(&k->control);
	fd_close(&k->worker);
	channel_free(k->http);
	k->http = NULL;
	assert(write(k->event, &one, sizeof one) == sizeof one);
	fd_close(&k->event);
}

/* A bare one takes its orders, and ends with its socket. */
static bool
is_at_its_end(const struct one *k)
{
	struct control c;
	ssize_t n;

	do
		n = recv(k->control, &c, sizeof c, MSG_DONTWAIT);
	while (n > 0);
	return n == 0;
}

void
kin_reap(void)
{
	for (size_t i = 0; i < kin.count; i++) {
		struct one *k = &kin.all[i];

		if (k->bare && k->control >= 0 && is_at_its_end(k))
			k->killed = true;
		if (k->killed)
			one_end(k);
	}
}

void
kin_end(void)
{
	kin_reap();
	for (size_t i = 0; i < kin.count; i++)
		assert(kin.all[i].ended);
}

/* --- in the place of the real ones ---------------------------------------- */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
int __wrap_spawn(struct order *o, struct spawned *out);
int __wrap_template_begin(const struct exec_config *config,
    const struct identity ids[TEMPLATE_SETS], int *pidfd, int *socket);
int __wrap_template_take(int socket, struct template *t, struct err *e);
int __wrap_http_start(int binary_fd, int channel_fd);
int __wrap_placeholder_remove(struct placeholders *p,
    const struct exec_config *config, int *pidfd);
int __wrap_raw_pidfd_signal(int pidfd, int signum);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);

static int
kin_spawn(struct order *o, struct spawned *out)
{
	int status[2], control[2];
	struct one *k;

	/* What every child is to have. */
	assert(o->filter_count > 0 && o->plan != NULL);
	assert(o->worker_fd >= 0 || (o->argv[0] != NULL && o->cwd[0] == '/'));
	if (kin.mood % 16 == 15)
		return -EAGAIN;
	k = one_new(KIN_CHILD, &out->pidfd);
	if (k == NULL)
		return -EAGAIN;
	assert(pipe2(status, O_CLOEXEC | O_NONBLOCK) == 0);
	assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) ==
	       0);
	out->status = status[0];
	k->status = status[1];
	out->control = control[0];
	k->control = control[1];
	k->worker = o->worker_fd < 0 ? -1 : dup(o->worker_fd);
	k->tty = o->tty;
	k->pipe_stdin = o->pipe_stdin;
	k->bare = o->bare;
	return 0;
}

int
__wrap_template_begin(const struct exec_config *config,
    const struct identity ids[TEMPLATE_SETS], int *pidfd, int *socket)
{
	struct one *k;

	(void)config, (void)ids;
	if (kin.mood % 16 == 14)
		return -EMFILE;
	k = one_new(KIN_HELPER, pidfd);
	if (k == NULL)
		return -EAGAIN;
	*socket = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

int
__wrap_template_take(int socket, struct template *t, struct err *e)
{
	(void)socket;
	if (kin.mood % 8 == 5) {
		t->tell = kin.mood & 8;
		return err_set(e, EPERM, "no namespace");
	}
	for (size_t k = 0; k < TEMPLATE_SETS; k++)
		for (size_t i = 0; i < TEMPLATE_NS; i++)
			t->sets[k].ns[i] =
			    open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

static int
kin_http_start(int binary_fd, int channel_fd)
{
	struct one *k;
	int pidfd;

	assert(binary_fd >= 0);
	if (kin.mood % 16 == 13)
		return -EAGAIN;
	k = one_new(KIN_HTTP, &pidfd);
	if (k == NULL)
		return -EAGAIN;
	k->http = channel_new(dup(channel_fd), ROLE_HTTP, ROLE_EXEC);
	assert(k->http != NULL);
	return pidfd;
}

int
__wrap_placeholder_remove(struct placeholders *p,
    const struct exec_config *config, int *pidfd)
{
	struct one *k = one_new(KIN_REMOVER, pidfd);

	(void)p, (void)config;
	return k == NULL ? -EAGAIN : 0;
}

int
__wrap_raw_pidfd_signal(int pidfd, int signum)
{
	assert(signum == SIGKILL);
	for (size_t i = kin.count; i-- > 0;)
		if (kin.all[i].pidfd == pidfd && !kin.all[i].ended) {
			kin.all[i].killed = true;
			return 0;
		}
	return -ESRCH;
}

/* Who is waited for has ended, or was killed just now. */
static int
kin_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	(void)type, (void)options;
	*info = (siginfo_t){0};
	info->si_code = kin.mood & 16 ? CLD_EXITED : CLD_KILLED;
	for (size_t i = kin.count; i-- > 0;)
		if (kin.all[i].pidfd == (int)id && !kin.all[i].ended) {
			one_end(&kin.all[i]);
			return 0;
		}
	return 0;
}
int
__wrap_spawn(struct order *o, struct spawned *out)
{
	int r;

	fault_end();
	r = kin_spawn(o, out);
	fault_begin();
	return r;
}

int
__wrap_http_start(int binary_fd, int channel_fd)
{
	int r;

	fault_end();
	r = kin_http_start(binary_fd, channel_fd);
	fault_begin();
	return r;
}

int
__wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	int r;

	fault_end();
	r = kin_waitid(type, id, info, options);
	fault_begin();
	return r;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */

/* --- what they do ----------------------------------------------------------
 */

static void
tell_status(struct one *k, uint32_t stage, uint32_t errnum)
{
	const struct status_record s = {.stage = stage, .errnum = errnum};

	(void)!write(k->status, &s, sizeof s);
}

static void
tell(struct one *k, const struct control *c, size_t fd_count)
{
	int fds[RAW_FDS_MAX];

	for (size_t i = 0; i < fd_count; i++) {
		fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		assert(fds[i] >= 0);
	}
	(void)!raw_send(k->control, c, sizeof *c, fds, fd_count);
	for (size_t i = 0; i < fd_count; i++)
		(void)close(fds[i]);
}

/* The program runs. */
static void
run(struct one *k)
{
	const struct control c = {.type = CONTROL_STREAMS};

	if (k->worker < 0)
		tell(k, &c, k->pipe_stdin ? 3 : 2);
	tell_status(k, STAGE_EXEC, 0);
	fd_close(&k->status);
}

static void
child_event(struct one *k, struct reader *r)
{
	uint8_t how = fuzz_u8(r), a = fuzz_u8(r);
	struct control c = {.a = a, .b = 1};
	struct bytes raw;

	switch (how % 8) {
	case 0:
	case 1:
		run(k);
		return;
	case 2:
		tell_status(k, a, fuzz_u8(r));
		return;
	case 3:
		fd_close(&k->status);
		return;
	case 4:
		c.type = CONTROL_EXITED;
		tell(k, &c, 0);
		return;
	case 5:
		/* It was no init any more. */
		c.type = a % 6;
		c.a = fuzz_u8(r) % 4;
		tell(k, &c, fuzz_u8(r) % (RAW_FDS_MAX + 1));
		return;
	case 6:
		raw = fuzz_bytes(r, a % 40);
		(void)send(k->control, raw.data, raw.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	default:
		one_end(k);
		return;
	}
}

static void
http_event(struct one *k, struct reader *r)
{
	uint8_t how = fuzz_u8(r);
	struct msg_http_ready m = {.no_new_privs = 1, .seccomp = 2};
	struct bytes raw;

	switch (how % 4) {
	case 0:
		m.seccomp = how / 4 % 3;
		m.dumpable = how / 16 % 2;
		m.caps = how / 32;
		/* Exec may have closed it. */
		(void)!channel_send_http_ready(k->http, &m, NULL, 0);
		return;
	case 1:
		raw = fuzz_bytes(r, how / 4);
		(void)send(channel_fd(k->http), raw.data, raw.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	case 2:
		m.uid = geteuid();
		m.gid = getegid();
		(void)!channel_send_http_ready(k->http, &m, NULL, 0);
		return;
	default:
		one_end(k);
		return;
	}
}

void
kin_event(struct reader *r)
{
	uint8_t which = fuzz_u8(r);
	struct one *k;

	if (which >= 224) {
		kin.mood = fuzz_u8(r);
		return;
	}
	if (kin.count == 0)
		return;
	/* The last ones are the likeliest to be of interest. */
	k = &kin.all[kin.count - 1 - which % kin.count];
	if (k->ended)
		return;
	if (k->kind == KIN_CHILD && k->control >= 0)
		child_event(k, r);
	else if (k->kind == KIN_HTTP && k->http != NULL)
		http_event(k, r);
	else
		one_end(k);
}
