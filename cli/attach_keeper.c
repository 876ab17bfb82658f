#include "cli/attach_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "cli/attach_record.h"
#include "cli/attach_server.h"
#include "cli/command.h"

/* The server outlives its last lease by this, so that whoever comes while one
 * is given back finds it as it was. */
#define LINGER_MS 150
/* While somebody else holds the lock that is needed to end. */
#define RETRY_MS  10

enum peer_state {
	PEER_FREE,
	PEER_NEW, /* has not asked for anything yet */
	PEER_HOLDING,
	PEER_LEAVING, /* waits for the answer to its release */
};

struct peer {
	enum peer_state state;
	int fd;
	bool told; /* the URL */
};

struct keeper {
	const char *key, *digest;
	char *const *server_argv;
	struct peer peers[ATTACH_LEASES_MAX];
	struct attach_server server;
	int64_t idle_at_ms; /* since when nobody holds a lease; 0: they do */
	bool done;
};

/* --- peers -------------------------------------------------------------- */

static void
peer_drop(struct peer *p)
{
	fd_close(&p->fd);
	p->state = PEER_FREE;
	p->told = false;
}

static bool
peer_send(struct peer *p, enum attach_record type, const char *text, size_t len)
{
	char record[ATTACH_RECORD_MAX];
	ssize_t n;

	if (len > sizeof record - 1)
		len = sizeof record - 1;
	record[0] = (char)type;
	memcpy(record + 1, text, len);
	n = send(p->fd, record, 1 + len, MSG_DONTWAIT | MSG_NOSIGNAL);
	explicit_bzero(record, 1 + len);
	return n >= 0;
}

static void
peer_end(struct peer *p, enum attach_record type, const char *text)
{
	(void)peer_send(p, type, text, strlen(text));
	peer_drop(p);
}

static unsigned int
count(const struct keeper *k, enum peer_state state)
{
	unsigned int n = 0;

	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++)
		n += k->peers[i].state == state;
	return n;
}

static struct peer *
free_peer(struct keeper *k)
{
	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++)
		if (k->peers[i].state == PEER_FREE)
			return &k->peers[i];
	return NULL;
}

/* Returns whether one came. */
static bool
accept_peer(struct keeper *k)
{
	struct peer extra, *p = free_peer(k);
	int fd = accept4(KEEPER_LISTENER_FD, NULL, NULL,
	    SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return false;
	extra = (struct peer){.state = PEER_NEW, .fd = fd};
	if (!attach_runtime_is_own(fd))
		peer_drop(&extra);
	else if (p == NULL)
		peer_end(&extra, ATTACH_REFUSED, "too many leases");
	else
		*p = extra;
	return true;
}

static void
on_acquire(struct keeper *k, struct peer *p, const char *text, size_t len)
{
	if (p->state != PEER_NEW || len != strlen(k->digest)) {
		peer_drop(p);
		return;
	}
	if (memcmp(text, k->digest, len) != 0) {
		peer_end(p, ATTACH_REFUSED,
		    "the server of this runtime id has other options");
		return;
	}
	p->state = PEER_HOLDING;
}

static void
read_peer(struct keeper *k, struct peer *p)
{
	char record[ATTACH_RECORD_MAX];
	ssize_t n = recv(p->fd, record, sizeof record, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		peer_drop(p);
	else if (record[0] == ATTACH_ACQUIRE)
		on_acquire(k, p, record + 1, (size_t)n - 1);
	else if (record[0] == ATTACH_RELEASE && p->state == PEER_HOLDING)
		p->state = PEER_LEAVING;
	else
		peer_drop(p);
}

/* --- the server --------------------------------------------------------- */

/* A reader that is too slow loses lines, and holds up nobody. */
static void
put_log(void *user, const char *line, size_t len)
{
	struct keeper *k = user;

	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++)
		if (k->peers[i].state >= PEER_HOLDING)
			(void)peer_send(&k->peers[i], ATTACH_LOG, line, len);
}

static void
fail_all(struct keeper *k, const char *reason)
{
	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++) {
		struct peer *p = &k->peers[i];

		if (p->state == PEER_HOLDING)
			peer_end(p, p->told ? ATTACH_ENDED : ATTACH_REFUSED,
			    reason);
	}
}

static void
on_server_death(struct keeper *k)
{
	bool stopping = k->server.stopping;
	struct err how = {0};

	while (k->server.log_fd >= 0 &&
	       attach_server_read_log(&k->server, put_log, k))
		;
	if (attach_server_reap(&k->server, &how) && !stopping)
		fail_all(k, how.text);
}

static void
start_server(struct keeper *k)
{
	struct err e = {0};

	if (attach_server_start(&k->server, k->server_argv, &e) < 0)
		fail_all(k, e.text);
}

/* Who cannot take its record at once has stopped reading before its first. */
static void
tell_url(struct keeper *k)
{
	const struct attach_server *s = &k->server;

	if (!s->serving || s->stopping)
		return;
	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++) {
		struct peer *p = &k->peers[i];

		if (p->state != PEER_HOLDING || p->told)
			continue;
		p->told = true;
		if (!peer_send(p, ATTACH_SERVING, s->url, strlen(s->url)))
			peer_drop(p);
	}
}

static void
answer_leaving(struct keeper *k)
{
	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++)
		if (k->peers[i].state == PEER_LEAVING)
			peer_end(&k->peers[i], ATTACH_RELEASED, "");
}

/* --- what follows ------------------------------------------------------- */

/*
 * End, unless somebody is about to come: a newcomer holds the lock from its
 * look for us until its request is in our queue. Returns when to try again.
 */
static int
try_end(struct keeper *k)
{
	scoped_fd lock_fd = -1;
	struct err e;

	if (attach_runtime_lock(KEEPER_DIR_FD, k->key, 0, &lock_fd, &e) ==
	    -EAGAIN)
		return RETRY_MS;
	while (accept_peer(k))
		;
	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++)
		if (k->peers[i].state == PEER_NEW)
			read_peer(k, &k->peers[i]);
	if (count(k, PEER_HOLDING) > 0)
		return 0;
	attach_runtime_remove(KEEPER_DIR_FD, k->key);
	answer_leaving(k);
	k->done = true;
	return 0;
}

static int
until_stop(struct keeper *k, int64_t now)
{
	if (k->idle_at_ms == 0)
		k->idle_at_ms = now;
	if (now - k->idle_at_ms < LINGER_MS)
		return (int)(k->idle_at_ms + LINGER_MS - now);
	attach_server_stop(&k->server, now);
	return 0;
}

/* Act on the state as it is. Returns after how many milliseconds to do so
 * again if nothing happens; -1: never. */
static int
decide(struct keeper *k)
{
	int64_t now = clock_ms();
	unsigned int holders = count(k, PEER_HOLDING);

	if (holders > 0)
		k->idle_at_ms = 0;
	if (holders > 0)
		answer_leaving(k);
	if (k->server.stopping) {
		attach_server_on_time(&k->server, now);
		return (int)(k->server.signal_at_ms - now);
	}
	if (holders == 0 && k->server.pid == 0)
		return try_end(k);
	if (holders == 0)
		return until_stop(k, now);
	if (k->server.pid == 0)
		start_server(k);
	tell_url(k);
	return k->server.pid == 0 ? 0 : -1;
}

enum { SLOT_LISTENER, SLOT_PID, SLOT_URL, SLOT_LOG, SLOT_PEERS };

static void
attend(struct keeper *k, const struct pollfd *slots)
{
	if (slots[SLOT_LOG].revents != 0)
		(void)attach_server_read_log(&k->server, put_log, k);
	if (slots[SLOT_URL].revents != 0)
		attach_server_read_url(&k->server);
	if (slots[SLOT_PID].revents != 0)
		on_server_death(k);
	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++)
		if (slots[SLOT_PEERS + i].revents != 0)
			read_peer(k, &k->peers[i]);
	if (slots[SLOT_LISTENER].revents != 0)
		(void)accept_peer(k);
}

static void
turn(struct keeper *k, int timeout_ms)
{
	struct pollfd slots[SLOT_PEERS + ATTACH_LEASES_MAX];

	slots[SLOT_LISTENER] = (struct pollfd){KEEPER_LISTENER_FD, POLLIN, 0};
	slots[SLOT_PID] = (struct pollfd){k->server.pid_fd, POLLIN, 0};
	slots[SLOT_URL] = (struct pollfd){k->server.url_fd, POLLIN, 0};
	slots[SLOT_LOG] = (struct pollfd){k->server.log_fd, POLLIN, 0};
	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++)
		slots[SLOT_PEERS + i] =
		    (struct pollfd){k->peers[i].fd, POLLIN, 0};
	if (poll(slots, SLOT_PEERS + ATTACH_LEASES_MAX, timeout_ms) > 0)
		attend(k, slots);
}

/* Keep nothing of the command that started us: neither its terminal nor its
 * pipes, whose other end would wait for us to close them. */
static int
leave_stdio(void)
{
	int fd = open("/dev/null", O_RDWR);

	if (fd < 0)
		return -errno;
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (dup2(fd, i) < 0)
			return -errno;
	if (fd > STDERR_FILENO)
		(void)close(fd);
	return 0;
}

int
command_attach_keeper(int argc, char **argv)
{
	struct keeper k = {0};
	int timeout_ms;

	if (argc < 4 || leave_stdio() < 0 || chdir("/") < 0)
		return 1;
	for (int fd = KEEPER_DIR_FD; fd < KEEPER_FDS_END; fd++)
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			return 1;
	k.key = argv[1];
	k.digest = argv[2];
	k.server_argv = argv + 3;
	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++)
		k.peers[i].fd = -1;
	attach_server_init(&k.server);
	/* The lock is held by whoever started us until it is in our queue. */
	while (!k.done) {
		timeout_ms = decide(&k);
		if (!k.done)
			turn(&k, timeout_ms);
	}
	/* Those that have not said yet what they want. */
	for (size_t i = 0; i < ATTACH_LEASES_MAX; i++)
		if (k.peers[i].state != PEER_FREE)
			peer_drop(&k.peers[i]);
	return 0;
}
