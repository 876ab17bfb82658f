/* Other processes: find, signal, read and change them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

#define RUN(name)                                                              \
	static void name(const struct attempt *a __attribute__((unused)),      \
	    const struct world *w __attribute__((unused)), struct result *r)

typedef long (*try_fn)(pid_t pid);

/* On a process of the host and, inside, on the namespace's first one, which
 * the same user runs. */
static void
against(const struct world *w, struct result *r, try_fn try, const char *what)
{
	if (!attempt_tried(r, try(w->pid), what) && !w->outside)
		(void)attempt_tried(r, try(1), what);
}

static long
read_file(pid_t pid, const char *name, int flags)
{
	char path[64], byte;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = flags == O_RDONLY ? read(fd, &byte, 1) : 1;
	(void)close(fd);
	return n > 0 ? 0 : -1;
}

static long
try_kill(pid_t pid)
{
	return pid == 1 ? -1 : kill(pid, SIGUSR1);
}

static long
try_tgkill(pid_t pid)
{
	return pid == 1 ? -1 : syscall(SYS_tgkill, pid, pid, SIGUSR1);
}

static long
try_queue(pid_t pid)
{
	const union sigval value = {.sival_int = 1};

	return pid == 1 ? -1 : sigqueue(pid, SIGUSR1, value);
}

static long
try_pidfd_signal(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 || pid == 1)
		return -1;
	return syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0);
}

static long
try_pidfd_getfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -1 : syscall(SYS_pidfd_getfd, fd, 0, 0);
}

static long
try_attach(pid_t pid)
{
	long got = ptrace(PTRACE_SEIZE, pid, NULL, NULL);

	if (got == 0)
		(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return got;
}

/* Any mapped address of the other: EFAULT has passed the check of rights. */
static long
vm(long nr, pid_t pid)
{
	char byte = 0;
	struct iovec own = {&byte, 1}, other = {NULL, 1};
	long got = syscall(nr, pid, &own, 1, &other, 1, 0);

	return got < 0 && errno == EFAULT ? 0 : got;
}

static long
try_vm_read(pid_t pid)
{
	return vm(SYS_process_vm_readv, pid);
}

static long
try_vm_write(pid_t pid)
{
	return vm(SYS_process_vm_writev, pid);
}

static long
try_mem(pid_t pid)
{
	return read_file(pid, "mem", O_RDWR);
}

static long
try_environ(pid_t pid)
{
	return read_file(pid, "environ", O_RDONLY);
}

static long
try_maps(pid_t pid)
{
	return read_file(pid, "maps", O_RDONLY);
}

static long
try_fd(pid_t pid)
{
	return read_file(pid, "fd/0", O_PATH);
}

static long
try_exe(pid_t pid)
{
	return read_file(pid, "exe", O_PATH);
}

static long
try_oom(pid_t pid)
{
	return read_file(pid, "oom_score_adj", O_WRONLY);
}

static long
try_kcmp(pid_t pid)
{
	return syscall(SYS_kcmp, pid, pid, 1, 0, 0);
}

static long
try_prlimit(pid_t pid)
{
	struct rlimit64 old;

	return syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, NULL, &old);
}

/* The number with something else in the register's unused half. */
static long
try_prlimit_dirty(pid_t pid)
{
	struct rlimit64 old;
	long number = (long)(0xdead00000000ul | (unsigned int)pid);

	return syscall(SYS_prlimit64, number, RLIMIT_NOFILE, NULL, &old);
}

static long
try_affinity(pid_t pid)
{
	cpu_set_t set;

	if (pid == 1 || sched_getaffinity(pid, sizeof set, &set) < 0)
		return -1;
	return sched_setaffinity(pid, sizeof set, &set);
}

static long
try_priority(pid_t pid)
{
	return pid == 1 ? -1 : setpriority(PRIO_PROCESS, (id_t)pid, 1);
}

static long
try_move_pages(pid_t pid)
{
	return syscall(SYS_move_pages, pid, 0, NULL, NULL, NULL, 0);
}

static long
try_namespace(pid_t pid)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/ns/uts", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : setns(fd, 0);
}

#define AGAINST(name, what)                                                    \
	RUN(run_##name)                                                        \
	{                                                                      \
		against(w, r, try_##name, what);                               \
	}

AGAINST(kill, "kill")
AGAINST(tgkill, "tgkill")
AGAINST(queue, "sigqueue")
AGAINST(pidfd_signal, "pidfd_send_signal")
AGAINST(pidfd_getfd, "pidfd_getfd")
AGAINST(attach, "ptrace")
AGAINST(vm_read, "process_vm_readv")
AGAINST(vm_write, "process_vm_writev")
AGAINST(mem, "/proc/PID/mem")
AGAINST(environ, "/proc/PID/environ")
AGAINST(maps, "/proc/PID/maps")
AGAINST(fd, "/proc/PID/fd")
AGAINST(exe, "/proc/PID/exe")
AGAINST(oom, "/proc/PID/oom_score_adj")
AGAINST(kcmp, "kcmp")
AGAINST(prlimit, "prlimit")
AGAINST(prlimit_dirty, "prlimit")
AGAINST(affinity, "sched_setaffinity")
AGAINST(priority, "setpriority")
AGAINST(move_pages, "move_pages")
AGAINST(namespace, "setns")

/* A process of the host, or of another session, by a word in its arguments. */
RUN(see)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int seen = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char path[300], line[1024];
		ssize_t n;
		int fd;

		if (atoi(e->d_name) <= 0)
			continue;
		seen++;
		(void)snprintf(path, sizeof path, "/proc/%s/cmdline",
		    e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, line, sizeof line);
		(void)close(fd);
		if (n > 0 &&
		    memmem(line, (size_t)n, w->word, strlen(w->word)) != NULL) {
			attempt_say(r, ESCAPED, "process %s", e->d_name);
			return;
		}
	}
	attempt_say(r, CONTAINED, "not among %d processes", seen);
}

RUN(shared_memory)
{
	if (w->shm < 0) {
		attempt_say(r, CANNOT_TELL, "none was made");
		return;
	}
	(void)attempt_tried(r, shmat(w->shm, NULL, 0) == (void *)-1 ? -1 : 0,
	    "shmat");
}

RUN(trace_child)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? errno : 0);
	(void)waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	(void)attempt_tried(r, errno == 0 ? 0 : -1, "PTRACE_TRACEME");
}

const struct attempt attempts_processes[] = {
    {"see-processes", "pid namespace", IN_ALL, .run = see},
    {"kill", "pid namespace", IN_ALL, .run = run_kill},
    {"tgkill", "pid namespace", IN_ALL, .run = run_tgkill},
    {"sigqueue", "pid namespace", IN_ALL, .run = run_queue},
    {"pidfd-signal", "pid namespace", IN_ALL, .run = run_pidfd_signal},
    {"pidfd-getfd", "seccomp", IN_ALL, .run = run_pidfd_getfd},
    {"ptrace", "seccomp", IN_ALL, .run = run_attach},
    {"ptrace-child", "seccomp", IN_ALL, .run = trace_child},
    {"vm-read", "seccomp", IN_ALL, .run = run_vm_read},
    {"vm-write", "seccomp", IN_ALL, .run = run_vm_write},
    {"proc-mem", "pid namespace, dumpable", IN_ALL, .run = run_mem},
    {"proc-environ", "pid namespace, dumpable", IN_ALL, .run = run_environ},
    {"proc-maps", "pid namespace, dumpable", IN_ALL, .run = run_maps},
    {"proc-fd", "pid namespace, dumpable", IN_ALL, .run = run_fd},
    {"proc-exe", "pid namespace, dumpable", IN_ALL, .run = run_exe},
    {"proc-oom", "pid namespace, dumpable", IN_ALL, .run = run_oom},
    {"shared-memory", "ipc namespace", IN_ALL, .run = shared_memory},
    {"kcmp", "seccomp", IN_ALL, .run = run_kcmp},
    {"prlimit", "pid namespace, seccomp", IN_ALL, .run = run_prlimit},
    {"prlimit-dirty-bits", "pid namespace, seccomp", IN_ALL,
	.run = run_prlimit_dirty},
    {"affinity", "pid namespace", IN_ALL, .run = run_affinity},
    {"priority", "pid namespace", IN_ALL, .run = run_priority},
    {"move-pages", "seccomp", IN_ALL, .run = run_move_pages},
    {"proc-namespace", "seccomp", IN_ALL, .run = run_namespace},
    {0},
};
