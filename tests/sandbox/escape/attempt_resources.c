/* Use up what others need. Each stops by itself at a bound that is a few times
 * the limit under which escape.test.mjs runs it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

#define RUN(name)                                                              \
	static void name(const struct attempt *a __attribute__((unused)),      \
	    const struct world *w __attribute__((unused)), struct result *r)

#define MIB	      (1024L * 1024)
#define PROCESSES_MAX 200
#define MEMORY_MAX    (256 * MIB)
#define DISK_MAX      (64 * MIB)
#define INODES_MAX    1000
#define FDS_MAX	      256
#define FILE_MAX      (16 * MIB)

/* How far it came, of how far it would have gone. */
static void
came(struct result *r, long got, long max, const char *unit)
{
	if (got >= max)
		attempt_say(r, ESCAPED, "%ld %s and no end", got, unit);
	else
		attempt_say(r, CONTAINED, "%ld %s, then %s", got, unit,
		    strerror(errno));
}

RUN(fork_bomb)
{
	static pid_t pids[PROCESSES_MAX];
	int n = 0, why;

	for (; n < PROCESSES_MAX; n++) {
		pids[n] = fork();
		if (pids[n] == 0) {
			(void)alarm(10);
			(void)pause();
			_exit(0);
		}
		if (pids[n] < 0)
			break;
	}
	why = errno;
	for (int i = 0; i < n; i++)
		(void)kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	errno = why;
	came(r, n, PROCESSES_MAX, "processes");
}

static void *
idle(void *arg)
{
	(void)sleep(10);
	return arg;
}

RUN(thread_bomb)
{
	pthread_attr_t small;
	pthread_t thread;
	int n = 0;

	(void)pthread_attr_init(&small);
	(void)pthread_attr_setstacksize(&small, 64 * 1024);
	while (n < PROCESSES_MAX &&
	       (errno = pthread_create(&thread, &small, idle, NULL)) == 0)
		n++;
	came(r, n, PROCESSES_MAX, "threads");
}

RUN(memory_bomb)
{
	long got = 0;

	for (; got < MEMORY_MAX; got += 4 * MIB) {
		char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			break;
		(void)memset(p, 1, 4 * MIB);
	}
	came(r, got / MIB, MEMORY_MAX / MIB, "MiB");
}

/* Fill one file up to max; how much went in. */
static long
fill(int fd, long max)
{
	static char block[256 * 1024];
	long got = 0;

	while (got < max) {
		ssize_t n = write(fd, block, sizeof block);

		if (n <= 0)
			break;
		got += n;
	}
	return got;
}

RUN(memfd_bomb)
{
	long got = 0, n = 1;

	(void)signal(SIGXFSZ, SIG_IGN);
	while (got < MEMORY_MAX && n > 0) {
		int fd = memfd_create("bomb", MFD_CLOEXEC);

		n = fd < 0 ? 0 : fill(fd, MEMORY_MAX - got);
		got += n;
	}
	came(r, got / MIB, MEMORY_MAX / MIB, "MiB");
}

RUN(file_size)
{
	long got;

	(void)signal(SIGXFSZ, SIG_IGN);
	(void)unlink("big");
	got = fill(open("big", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), FILE_MAX);
	(void)unlink("big");
	came(r, got / MIB, FILE_MAX / MIB, "MiB");
}

static void
fill_directory(struct result *r, const char *dir)
{
	char path[4200];
	long got = 0, n = 1;
	int why, files = 0;

	(void)signal(SIGXFSZ, SIG_IGN);
	for (; got < DISK_MAX && n > 0; files++) {
		int fd;

		(void)snprintf(path, sizeof path, "%s/fill-%d", dir, files);
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		n = fd < 0 ? 0 : fill(fd, DISK_MAX - got);
		got += n;
		(void)close(fd);
	}
	why = errno;
	while (--files >= 0) {
		(void)snprintf(path, sizeof path, "%s/fill-%d", dir, files);
		(void)unlink(path);
	}
	errno = why;
	came(r, got / MIB, DISK_MAX / MIB, "MiB");
}

RUN(fill_tmp)
{
	fill_directory(r, w->tmp);
}

RUN(fill_shm)
{
	fill_directory(r, w->outside ? w->tmp : "/dev/shm");
}

RUN(fill_inodes)
{
	char path[4200];
	int n = 0, why;

	for (; n < INODES_MAX; n++) {
		int fd;

		(void)snprintf(path, sizeof path, "%s/inode-%d", w->tmp, n);
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			break;
		(void)close(fd);
	}
	why = errno;
	for (int i = 0; i < n; i++) {
		(void)snprintf(path, sizeof path, "%s/inode-%d", w->tmp, i);
		(void)unlink(path);
	}
	errno = why;
	came(r, n, INODES_MAX, "files");
}

RUN(fd_flood)
{
	int n = 0;

	while (n < FDS_MAX && dup(STDOUT_FILENO) >= 0)
		n++;
	came(r, n, FDS_MAX, "descriptors");
}

/* Descriptors that lie in sockets count as well. */
RUN(fds_in_flight)
{
	char room[CMSG_SPACE(sizeof(int) * 16)] = {0}, byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = room,
	    .msg_controllen = sizeof room};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int pair[2], fds[16] = {0}, n = 0;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fds);
	(void)memcpy(CMSG_DATA(c), fds, sizeof fds);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
		return;
	while (n < FDS_MAX && sendmsg(pair[0], &m, 0) == 1)
		n += 16;
	came(r, n, FDS_MAX, "descriptors in a socket");
}

/* Take a limit back that was set; outside one is set first. */
RUN(raise_limit)
{
	static const int kinds[] = {RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_DATA,
	    RLIMIT_FSIZE};
	int i = 0;

	for (; i < 4; i++) {
		struct rlimit now;

		if (getrlimit((__rlimit_resource_t)kinds[i], &now) < 0)
			break;
		if (now.rlim_max == RLIM_INFINITY)
			continue;
		now.rlim_max++;
		if (setrlimit((__rlimit_resource_t)kinds[i], &now) == 0) {
			attempt_say(r, ESCAPED, "limit %d is raised", kinds[i]);
			return;
		}
	}
	attempt_say(r, w->outside ? CANNOT_TELL : CONTAINED,
	    "no limit can be raised");
}

const struct attempt attempts_resources[] = {
    {"fork-bomb", "rlimits: processes", IN_LIMITS, .run = fork_bomb},
    {"thread-bomb", "rlimits: processes", IN_LIMITS, .run = thread_bomb},
    {"memory-bomb", "rlimits: data", IN_LIMITS, .run = memory_bomb},
    {"memfd-bomb", "rlimits: file size, descriptors", IN_LIMITS,
	.run = memfd_bomb},
    {"file-size", "rlimits: file size", IN_LIMITS, .run = file_size},
    {"fill-tmp", "view: tmpfs size", IN_LIMITS, .run = fill_tmp},
    {"fill-shm", "view: tmpfs size", IN_LIMITS, .run = fill_shm},
    {"fill-inodes", "view: tmpfs inodes", IN_LIMITS, .run = fill_inodes},
    {"fd-flood", "rlimits: descriptors", IN_LIMITS, .run = fd_flood},
    {"fds-in-flight", "rlimits: descriptors", IN_LIMITS, .run = fds_in_flight},
    {"raise-limit", "capabilities", IN_LIMITS, .run = raise_limit},
    {0},
};
