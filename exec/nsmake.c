#include "exec/nsmake.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "exec/raw.h"

/* What one of these processes answers; with errnum 0 a descriptor comes too. */
struct answer {
	int errnum;
};

static int
loopback_up(void)
{
	struct ifreq ifr = {.ifr_flags = IFF_UP | IFF_RUNNING};
	scoped_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	memcpy(ifr.ifr_name, "lo", 3);
	return ioctl(fd, SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
}

static int
open_ns(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The work of the process that makes a namespace: a descriptor of it. */
static int
make_user(void)
{
	if (unshare(CLONE_NEWUSER) < 0)
		return -errno;
	return open_ns("/proc/self/ns/user");
}

static int
make_loopback(void)
{
	int r;

	/* Two steps, so that the network belongs to the new user namespace,
	 * in which this process may bring an interface up. */
	if (unshare(CLONE_NEWUSER) < 0 && geteuid() != 0)
		return -errno;
	/* Root on a host that has no user namespaces keeps the capability that
	 * this takes: caps.c. */
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	r = loopback_up();
	return r < 0 ? r : open_ns("/proc/self/ns/net");
}

/* Answer on socket, then live until the other end is closed: an empty user
 * namespace gets its map while a process is in it. */
static _Noreturn void
maker_run(int socket, int (*make)(void))
{
	struct answer a = {0};
	int fd = make();
	char byte;

	if (fd < 0)
		a.errnum = -fd;
	if (raw_send(socket, &a, sizeof a, &fd, fd < 0 ? 0 : 1) < 0)
		_exit(1);
	while (read(socket, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

struct maker {
	pid_t pid;
	int socket;
};

static void
maker_done(struct maker *m)
{
	fd_close(&m->socket);
	if (m->pid > 0)
		(void)waitpid(m->pid, NULL, 0);
}

/* Start a maker and take the descriptor that it answers with. */
static int
maker_start(struct maker *m, int (*make)(void))
{
	struct answer a = {0};
	int pair[2], fd = -1, r;
	size_t count = 1;
	char peek;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	m->pid = raw_clone(0, NULL);
	if (m->pid == 0) {
		(void)close(pair[0]);
		maker_run(pair[1], make);
	}
	(void)close(pair[1]);
	m->socket = pair[0];
	if (m->pid < 0)
		return m->pid;
	/* Waits for the answer or the end, whichever comes. */
	(void)recv(m->socket, &peek, 1, MSG_PEEK);
	r = raw_recv(m->socket, &a, sizeof a, &fd, &count);
	if (r <= 0)
		return r < 0 ? r : -ECHILD;
	if (a.errnum != 0)
		return -a.errnum;
	return fd;
}

/*
 * The lines of a map from the ids of a file system to those of the mount:
 * identity, except that from becomes to. What to itself was on the file
 * system has no place then and shows as the overflow id.
 */
static void
map_text(char *out, size_t size, unsigned int from, unsigned int to)
{
	unsigned int low = from < to ? from : to, high = from < to ? to : from;
	/* Of the 2^32 ids the last means "none". */
	const struct {
		unsigned int first, count;
	} runs[] = {
	    {0, low},
	    {low + 1, high - low - 1},
	    {high + 1, UINT32_MAX - 1 - high},
	};
	size_t used = 0;

	if (from == to) {
		(void)snprintf(out, size, "0 0 %u", UINT32_MAX);
		return;
	}
	used = (size_t)snprintf(out, size, "%u %u 1\n", from, to);
	for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
		if (runs[i].count > 0)
			used += (size_t)snprintf(out + used, size - used,
			    "%u %u %u\n", runs[i].first, runs[i].first,
			    runs[i].count);
}

static int
write_map(pid_t pid, const char *file, unsigned int from, unsigned int to,
    struct err *e)
{
	char path[64], text[192];
	int r;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	map_text(text, sizeof text, from, to);
	r = raw_write_file(path, text);
	return r < 0 ? err_errno(e, -r, "write %s of a mount's map", file) : 0;
}

int
nsmake_idmap(uid_t owner, gid_t group, const struct identity *child,
    struct err *e)
{
	struct maker m = {.pid = -1, .socket = -1};
	scoped_fd fd = maker_start(&m, make_user);
	int r;

	if (fd < 0)
		r = err_errno(e, -fd, "user namespace of a mount");
	else
		r = write_map(m.pid, "uid_map", owner, child->uid, e);
	if (r == 0)
		r = write_map(m.pid, "gid_map", group, child->gid, e);
	maker_done(&m);
	return r < 0 ? r : fd_take(&fd);
}

int
nsmake_loopback(struct err *e)
{
	struct maker m = {.pid = -1, .socket = -1};
	int fd = maker_start(&m, make_loopback);

	maker_done(&m);
	return fd < 0 ? err_errno(e, -fd, "network namespace") : fd;
}
