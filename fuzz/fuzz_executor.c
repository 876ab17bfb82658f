/*
 * Reaches executor_run and what it calls, up to the clone: messages of hostile
 * nets, of every type, with descriptors of wrong kinds and counts, those of
 * the supervisor, and what children, helpers and http clients say and do. They
 * are replaced (kin.c), and so is the time. The input is a byte of flags (1:
 * the host gives no namespaces; 2: the preset is open; 4: strict; 8: programs
 * have a time; 16: one call fails, of which three bytes tell the kind and the
 * number) and a sequence of events.
 *
 * Asserts that net hears of a request once at most, of a lease what msg.def
 * says and in its order; that the loop does not spin; and in the end that
 * nothing that was started is left, and no descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "exec/executor.h"
#include "fuzz/faults.h"
#include "fuzz/kin.h"
#include "privsep/pack.h"

#define NETS_MAX   3
#define LEASES_MAX 128
#define EVENTS_MAX 96
#define TURNS_MAX  20000
#define WORKSPACE  "/usr"

struct net {
	struct channel *channel; /* NULL: none */
	unsigned int asked[256], answered[256];
};

/* What a lease has come to, as nets know it. */
enum known { KNOWN_NOTHING, KNOWN_STARTED, KNOWN_EXITED, KNOWN_GONE };

static struct {
	struct channel *supervisor;
	struct net nets[NETS_MAX];
	uint32_t generation;
	enum known leases[LEASES_MAX];
	struct reader input;
	unsigned int turns, events;
	int ending; /* steps of the end that were taken */
	int64_t now_ms;
} far;

/* --- what nets hear ------------------------------------------------------- */

static void
answered(struct net *n, uint32_t number)
{
	assert(number < 256);
	assert(++n->answered[number] <= n->asked[number]);
}

static void
lease_is(uint32_t lease, enum known before, enum known now)
{
	assert(lease > 0 && lease < LEASES_MAX);
	assert(far.leases[lease] == before);
	far.leases[lease] = now;
}

static void
take(struct net *n, const struct msg *m)
{
	switch ((int)m->type) {
	case MSG_PROCESS_STARTED:
		answered(n, m->u.process_started.number);
		lease_is(m->u.process_started.lease, KNOWN_NOTHING,
		    KNOWN_STARTED);
		assert(m->fd_count == (m->u.process_started.has_stdin &&
						  !m->u.process_started.tty
					      ? 3
					      : 2));
		return;
	case MSG_PROCESS_REFUSED:
		answered(n, m->u.process_refused.number);
		return;
	case MSG_PROCESS_FAILED:
		answered(n, m->u.process_failed.number);
		return;
	case MSG_PROCESS_EXITED:
		lease_is(m->u.process_exited.lease, KNOWN_STARTED,
		    KNOWN_EXITED);
		return;
	case MSG_PROCESS_GONE:
		lease_is(m->u.process_gone.lease, KNOWN_EXITED, KNOWN_GONE);
		return;
	case MSG_WORKER_OPENED:
		answered(n, m->u.worker_opened.number);
		return;
	case MSG_WORKER_REFUSED:
		answered(n, m->u.worker_refused.number);
		return;
	case MSG_HTTP_OPENED:
		answered(n, m->u.http_opened.number);
		return;
	case MSG_HTTP_REFUSED:
		answered(n, m->u.http_refused.number);
		return;
	default:
		assert(m->type == MSG_SESSION_REFUSED);
		return;
	}
}

static void
hear(void)
{
	struct err e = {0};
	struct msg m;

	for (size_t i = 0; i < NETS_MAX; i++) {
		struct net *n = &far.nets[i];
		int r = 1;

		while (n->channel != NULL && r == 1) {
			r = channel_recv(n->channel, &m, &e);
			assert(r == 1 || r == 0 || r == -EAGAIN ||
			       r == -ECONNRESET);
			if (r == 1) {
				take(n, &m);
				msg_done(&m);
			} else if (r != -EAGAIN) {
				channel_free(n->channel);
				n->channel = NULL;
			}
		}
	}
	while (
	    far.supervisor != NULL && channel_recv(far.supervisor, &m, &e) == 1)
		msg_done(&m);
}

/* --- what nets say -------------------------------------------------------- */

static void
send_start(struct net *n, struct reader *r)
{
	uint8_t how = fuzz_u8(r);
	scoped_buf argv, spec;
	struct msg_process_start m = {.number = fuzz_u8(r),
	    .session = fuzz_u8(r) % 8};
	struct spec s = {.cwd = bytes_of(how & 1 ? "/" : WORKSPACE),
	    .tty = how & 2,
	    .pipe_stdin = (how & 4) && !(how & 2),
	    .managed_network = how >= 250,
	    .has_policy = how & 8,
	    .inherit = how / 16 % 3,
	    .sandbox = fuzz_bytes(r, how >= 240 ? 40 : 0)};

	buf_init(&argv, 4096);
	buf_init(&spec, PROCESS_SPEC_MAX);
	assert(buf_put_cstring(&argv, how & 128 ? "a" : "/a") == 0);
	s.argv = fuzz_view(&argv);
	assert(spec_pack(&s, &spec) == 0);
	m.spec = fuzz_view(&spec);
	n->asked[m.number]++;
	(void)!channel_send_process_start(n->channel, &m, NULL, 0);
}

/* A message with fields as they come and any number of descriptors. */
static void
send_any(struct net *n, struct reader *r)
{
	union {
		struct cmsghdr align;
		char raw[CMSG_SPACE(4 * sizeof(int))];
	} control = {0};
	struct bytes record;
	uint8_t how = fuzz_u8(r);
	size_t count = how % 5;
	struct iovec iov;
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	record = fuzz_bytes(r, how / 5);
	iov = (struct iovec){.iov_base = (void *)(uintptr_t)record.data,
	    .iov_len = record.len};
	if (count > 0) {
		struct cmsghdr *c;

		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		for (size_t i = 0; i < count; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &null,
			    sizeof null);
	}
	(void)sendmsg(channel_fd(n->channel), &h, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)close(null);
}

static void
net_event(struct net *n, struct reader *r)
{
	uint8_t how = fuzz_u8(r);
	uint32_t session = fuzz_u8(r) % 8, a = fuzz_u8(r);
	int sent = 0;

#define SEND(name, ...)                                                        \
	channel_send_##name(n->channel, &(struct msg_##name){__VA_ARGS__},     \
	    NULL, 0)
	switch (how % 14) {
	case 0:
		sent = SEND(session_open, .session = session);
		break;
	case 1:
		sent = SEND(session_close, .session = session);
		break;
	case 2:
	case 3:
	case 4:
		send_start(n, r);
		break;
	case 5:
		sent = SEND(process_signal, .session = session, .lease = a,
		    .signum = how > 200 ? 9 : 2);
		break;
	case 6:
		sent = SEND(process_terminate, .session = session, .lease = a);
		break;
	case 7:
		sent = SEND(process_resize, .session = session, .lease = a,
		    .rows = fuzz_u8(r), .cols = how > 200 ? 65536 : 80);
		break;
	case 8:
		n->asked[a]++;
		sent = SEND(worker_open, .number = a, .session = session,
		    .sandbox = fuzz_bytes(r, how > 200 ? 40 : 0));
		break;
	case 9:
		sent = SEND(worker_kill, .session = session, .lease = a);
		break;
	case 10:
		n->asked[a]++;
		sent = SEND(http_open, .number = a, .session = session);
		break;
	case 11:
		sent = SEND(http_kill, .session = session);
		break;
	case 12:
		send_any(n, r);
		break;
	default:
		channel_free(n->channel);
		n->channel = NULL;
		break;
	}
	/* Exec may have ended it. */
	assert(sent == 0 || sent == -EPIPE || sent == -ECONNRESET);
}

static void
attach(struct net *n, uint32_t generation)
{
	struct msg_net_attach m = {.generation = generation};
	int ends[2];

	assert(channel_pair(ends) == 0);
	*n = (struct net){.channel = channel_new(ends[0], ROLE_NET, ROLE_EXEC)};
	assert(n->channel != NULL);
	assert(channel_send_net_attach(far.supervisor, &m, &ends[1], 1) == 0);
}

static void
event(struct reader *r)
{
	uint8_t op = fuzz_u8(r);
	struct net *n = &far.nets[op % NETS_MAX];
	struct msg_net_gone gone = {.generation = fuzz_u8(r) % 4u};

	if (op < 130 && n->channel == NULL)
		attach(n, ++far.generation);
	else if (op < 130)
		net_event(n, r);
	else if (op < 230)
		kin_event(r);
	else if (op < 245)
		far.now_ms += 500 * (op - 229);
	else if (op < 250)
		kin_reap();
	else if (op < 253)
		assert(
		    channel_send_net_gone(far.supervisor, &gone, NULL, 0) == 0);
	else
		far.input.left = 0;
}

/* It is told to stop, then all that was killed ends, then it is left alone. */
static void
end(void)
{
	struct msg_exec_stop m = {.timeout_ms = 1000};

	far.now_ms += 400;
	switch (far.ending++) {
	case 0:
		assert(
		    channel_send_exec_stop(far.supervisor, &m, NULL, 0) == 0);
		return;
	case 1:
		kin_reap();
		return;
	case 8:
		channel_free(far.supervisor);
		far.supervisor = NULL;
		return;
	default:
		kin_reap();
		return;
	}
}

/* --- in the place of the C library's ---------------------------------------
 */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
int __real_epoll_wait(int epfd, struct epoll_event *events, int max,
    int timeout);
int __wrap_epoll_wait(int epfd, struct epoll_event *events, int max,
    int timeout);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

static int
next(int epfd, struct epoll_event *events, int max, int timeout)
{
	int n;

	assert(far.turns++ < TURNS_MAX);
	hear();
	n = __real_epoll_wait(epfd, events, max, 0);
	if (n != 0 || timeout == 0)
		return n;
	if (far.input.left > 0 && far.events++ < EVENTS_MAX)
		event(&far.input);
	else
		end();
	return __real_epoll_wait(epfd, events, max, 0);
}

int
__wrap_epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	int n;

	fault_end();
	n = next(epfd, events, max, timeout);
	fault_begin();
	return n;
}

int
__wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(far.now_ms / 1000);
	ts->tv_nsec = (long)(far.now_ms % 1000) * 1000000;
	return 0;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */

/* --- exec ------------------------------------------------------------------
 */

static struct exec_config *
configure(uint8_t flags)
{
	scoped_buf limits, paths, base, env;
	struct limits l;
	struct env_config c = {0};
	struct err e = {0};
	struct exec_config *config = config_new();
	struct msg m = {.type = MSG_EXEC_CONFIG, .fd_count = 1};
	struct msg_exec_config *q = &m.u.exec_config;

	buf_init(&limits, 4096);
	buf_init(&paths, 4096);
	buf_init(&base, 4096);
	buf_init(&env, 65536);
	limits_init(&l);
	l.sessions_max = 3;
	l.processes_max = 6;
	l.session_processes_max = 4;
	l.session_workers_max = 2;
	l.child_wall_time = flags & 8 ? 2000 : 0;
	assert(limits_pack(&l, &limits) == 0);
	assert(buf_put_cstring(&paths, WORKSPACE) == 0);
	assert(env_list_put(env_base_default, &base) == 0);
	c.base = fuzz_view(&base);
	assert(env_config_pack(&c, &env) == 0);
	*q = (struct msg_exec_config){.preset = flags & 2   ? PRESET_OPEN
						: flags & 4 ? PRESET_STRICT
							    : PRESET_WORKSPACE,
	    .network = flags & 2 ? NETWORK_ENABLED : NETWORK_RESTRICTED,
	    .flags =
		EXEC_FLAG_ALLOW_ROOT | (flags & 1 ? EXEC_FLAG_DEGRADED : 0u),
	    .log_level = LOG_ERROR,
	    .uid_base = 0x7a000000,
	    .umask = 022,
	    .limits = fuzz_view(&limits),
	    .workspaces = fuzz_view(&paths),
	    .env = fuzz_view(&env)};
	m.fds[0] = open(WORKSPACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert(config != NULL && m.fds[0] >= 0);
	assert(config_take(config, &m, &e) == 0);
	msg_done(&m);
	config->bare = flags & 1;
	config->http.binary_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return config;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe probe = {.landlock_abi = 7, .netns = true, .userns = true};
	struct cgroup_tree cgroups = {0};
	int before, ends[2], r;
	struct err e = {0};
	struct exec_config *config;
	struct channel *supervisor;
	uint8_t flags;

	if (size > FUZZ_LEN_MAX)
		return 0;
	log_set_level(LOG_ERROR);
	before = fuzz_fds_open();
	memset(&far, 0, sizeof far);
	kin_begin();
	reader_init(&far.input, data, size);
	flags = fuzz_u8(&far.input);
	config = configure(flags);
	probe.bare = flags & 1;
	probe.own_proc = !probe.bare;
	cgroup_tree_init(&cgroups);
	assert(channel_pair(ends) == 0);
	far.supervisor = channel_new(ends[0], ROLE_SUPERVISOR, ROLE_EXEC);
	supervisor = channel_new(ends[1], ROLE_EXEC, ROLE_SUPERVISOR);
	assert(far.supervisor != NULL && supervisor != NULL);
	if (flags & 16)
		fault_read(&far.input);
	fault_begin();
	r = executor_run(config, &probe, &cgroups, supervisor, &e);
	fault_end();
	/* Out of something, it ends as a whole. */
	assert(r == 0 || r == -EPIPE || (fault_clear() && r < 0));
	config_drop(config);
	hear();
	channel_free(far.supervisor);
	for (size_t i = 0; i < NETS_MAX; i++)
		channel_free(far.nets[i].channel);
	kin_end();
	assert(fuzz_fds_open() == before);
	return 0;
}
