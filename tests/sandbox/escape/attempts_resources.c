/* More than a child's share. Bounds are far above what the test allows. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

#define PROCESSES 400
#define FILES	  5000
#define MEMORY	  (2048l << 20)
#define SCRATCH	  (100l << 20)
#define LARGE	  (256l << 20)
#define INODES	  100000

static enum outcome
many_processes(void)
{
	int made = 0, fds[2];

	if (pipe(fds) < 0)
		return NOTHING_TO_TRY;
	for (; made < PROCESSES; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			char c;

			(void)close(fds[1]);
			_exit(read(fds[0], &c, 1) < 0);
		}
	}
	(void)close(fds[1]);
	while (wait(NULL) > 0)
		;
	return escaped_if(made == PROCESSES);
}

static enum outcome
many_descriptors(void)
{
	int made = 0;

	while (made < FILES && dup(0) >= 0)
		made++;
	return escaped_if(made == FILES);
}

/* Address space alone: nothing is touched. */
static enum outcome
much_memory(void)
{
	void *p = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return escaped_if(p != MAP_FAILED);
}

static bool
fills(const char *path, long size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int r = posix_fallocate(fd, 0, size);

	(void)unlink(path);
	(void)close(fd);
	return r == 0;
}

static enum outcome
fill_tmp(void)
{
	return escaped_if(fills("/tmp/fill", SCRATCH));
}

static enum outcome
fill_shm(void)
{
	return escaped_if(fills("/dev/shm/fill", SCRATCH));
}

static enum outcome
large_file(void)
{
	struct rlimit r;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &r) < 0)
		return NOTHING_TO_TRY;
	return escaped_if(truncate("mine", LARGE) == 0);
}

static enum outcome
many_inodes(void)
{
	char path[64];
	int made = 0;

	for (; made < INODES; made++) {
		int fd;

		(void)snprintf(path, sizeof path, "/tmp/inode-%d", made);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			break;
		(void)close(fd);
	}
	for (int i = 0; i < made; i++) {
		(void)snprintf(path, sizeof path, "/tmp/inode-%d", i);
		(void)unlink(path);
	}
	return escaped_if(made == INODES);
}

static enum outcome
raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NPROC, &r) < 0)
		return NOTHING_TO_TRY;
	if (r.rlim_max == RLIM_INFINITY)
		return ESCAPED;
	r.rlim_max++;
	return escaped_if(setrlimit(RLIMIT_NPROC, &r) == 0);
}

static enum outcome
dump_core(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_CORE, &r) < 0)
		return NOTHING_TO_TRY;
	return escaped_if(r.rlim_max != 0);
}

const struct attempt attempts_resources[] = {
    {"many processes", many_processes},
    {"many descriptors", many_descriptors},
    {"much memory", much_memory},
    {"fill /tmp", fill_tmp},
    {"fill /dev/shm", fill_shm},
    {"a large file", large_file},
    {"many inodes", many_inodes},
    {"raise a limit", raise_limit},
    {"dump core", dump_core},
    {NULL, NULL},
};
