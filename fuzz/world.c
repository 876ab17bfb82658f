#include "fuzz/world.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/log.h"
#include "fuzz/faults.h"
#include "fuzz/fuzz.h"
#include "net/ws.h"
#include "privsep/pack.h"

/* Turns of net's loop that settling may take: more than any input needs, and
 * one that waits for room that never comes ends here. */
#define TURNS_MAX   256
/* Turns in which nothing was ready, after which nothing more will happen. */
#define TURNS_QUIET 3

static struct {
	struct net net;
	struct channel *exec, *supervisor;
	bool running; /* our clock counts */
	uint64_t now_us;
	int ready;    /* of the last poll */
	int fds_open; /* before the world began */
} world;

/* --- what libwebsockets calls ----------------------------------------------
 */

__attribute__((visibility("default"))) int
clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!world.running || id != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec = (time_t)(world.now_us / 1000000);
	ts->tv_nsec = (long)(world.now_us % 1000000) * 1000;
	return 0;
}

/* Never waits. */
__attribute__((visibility("default"))) int
poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec none = {0};

	if (!world.running)
		none.tv_sec = timeout_ms / 1000;
	world.ready = (int)syscall(SYS_ppoll, fds, count, &none, NULL, 0);
	return world.ready;
}

/* --- its beginning -------------------------------------------------------- */

static void
set_limits(struct limits *l)
{
	limits_init(l);
	l->connections_max = 8;
	l->sessions_max = 3;
	l->detached_sessions_max = 2;
	l->session_processes_max = 3;
	l->processes_max = 4;
	l->finished_max = 3;
	l->finished_output = MIB;
	l->pending_requests_max = 8;
	l->message_budget = MIB;
	l->queue_max = 65536;
	l->queued_write_max = 131072;
	l->workers_max = 2;
}

static void
configure(struct net *n)
{
	struct msg_net_config m = {.host = bytes_of("127.0.0.1:1"),
	    .log_level = LOG_ERROR,
	    .features = NET_FEATURE_SHELL_BASH | NET_FEATURE_ATOMIC_WRITES |
			NET_FEATURE_HTTP_ENV,
	    .path = bytes_of(WORLD_PATH),
	    .cwd = bytes_of("/w"),
	    .shell = bytes_of("/bin/bash"),
	    .home = bytes_of("/home"),
	    .tmp = bytes_of("/tmp"),
	    .policy = bytes_of("p")};
	struct limits limits;
	struct err e = {0};
	scoped_buf packed;

	set_limits(&limits);
	buf_init(&packed, 4096);
	assert(limits_pack(&limits, &packed) == 0);
	m.limits = fuzz_view(&packed);
	assert(config_take(&n->config, &m, &e) == 0);
}

/* What outlives an input: the library's context and the configuration. */
static void
make(struct net *n)
{
	json_object_seed(1);
	TAILQ_INIT(&n->connections);
	TAILQ_INIT(&n->sessions);
	TAILQ_INIT(&n->finished);
	configure(n);
	n->poller = poller_new();
	assert(n->poller != NULL && ws_init(n) == 0);
}

static struct channel *
channel_to(enum role peer, struct channel **far)
{
	struct channel *c;
	int ends[2];

	assert(channel_pair(ends) == 0);
	c = channel_new(ends[0], ROLE_NET, peer);
	*far = channel_new(ends[1], peer, ROLE_NET);
	assert(c != NULL && *far != NULL);
	return c;
}

struct net *
world_begin(enum compat compat)
{
	struct net *n = &world.net;

	if (n->lws == NULL) {
		world.now_us = 1000000;
		world.running = true;
		make(n);
	}
	world.running = true;
	world.fds_open = fuzz_fds_open();
	n->config.compat = compat_row(compat);
	n->last_connection = 0;
	n->last_session = n->last_number = 0;
	n->draining = false;
	n->exec = channel_to(ROLE_EXEC, &world.exec);
	n->supervisor = channel_to(ROLE_SUPERVISOR, &world.supervisor);
	/* Waits for both channels; what serves is world_settle. */
	n->stop = true;
	assert(net_run(n) == n->exit_status);
	n->stop = false;
	n->exit_status = 0;
	return n;
}

int
world_connect(void)
{
	int ends[2];

	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		   0, ends) == 0);
	ws_adopt(&world.net, ends[0], "far");
	return ends[1];
}

struct channel *
world_exec(void)
{
	return world.exec;
}

void
world_close_exec(void)
{
	channel_free(world.exec);
	world.exec = NULL;
}

struct channel *
world_supervisor(void)
{
	return world.supervisor;
}

/* --- its course ------------------------------------------------------------
 */

/* Audit lines are taken; that they are well-formed the channel has seen. */
static void
drain_supervisor(void)
{
	struct err e = {0};
	struct msg m;
	int r;

	while ((r = channel_recv(world.supervisor, &m, &e)) == 1)
		msg_done(&m);
	assert(r == -EAGAIN);
}

void
world_settle(void)
{
	int quiet = 0;

	for (int i = 0; i < TURNS_MAX && quiet < TURNS_QUIET; i++) {
		world.now_us += 10;
		world.ready = 0;
		if (world.net.stop)
			return;
		fault_begin();
		assert(lws_service(world.net.lws, -1) >= 0);
		fault_end();
		quiet = world.ready > 0 ? 0 : quiet + 1;
		drain_supervisor();
	}
}

void
world_sleep(uint64_t ms)
{
	world.now_us += ms * 1000;
	world_settle();
}

/* --- its end ---------------------------------------------------------------
 */

static void
check_nothing_left(const struct net *n)
{
	assert(TAILQ_EMPTY(&n->connections) && n->connection_count == 0);
	assert(TAILQ_EMPTY(&n->sessions) && n->session_count == 0);
	assert(n->detached_count == 0);
	assert(n->process_count == 0);
	assert(TAILQ_EMPTY(&n->finished) && n->finished_count == 0);
	assert(n->finished_bytes == 0);
	assert(n->file_answers == 0);
	assert(n->message_bytes == 0);
	assert(n->config.policy->users == 1);
}

void
world_end(void)
{
	struct net *n = &world.net;

	/* A net that stopped would end here; see what it holds even so. */
	n->stop = false;
	for (int i = 0;
	     i < 8 && (n->connection_count > 0 || n->session_count > 0); i++) {
		world_sleep(n->config.limits.session_retention + 1);
		n->stop = false;
	}
	check_nothing_left(n);
	timer_clear(&n->drain_timer);
	timer_clear(&n->accept_timer);
	poller_forget(n->poller, &n->exec_watch);
	poller_forget(n->poller, &n->supervisor_watch);
	channel_free(n->exec);
	channel_free(n->supervisor);
	channel_free(world.exec);
	channel_free(world.supervisor);
	n->exec = n->supervisor = world.exec = world.supervisor = NULL;
	world.running = false;
	assert(fuzz_fds_open() == world.fds_open);
}
