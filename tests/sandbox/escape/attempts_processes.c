/* Other processes. HOST_PID is one of the host that belongs to the test. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

static pid_t
host_pid(void)
{
	return (pid_t)strtol(attempt_told("HOST_PID"), NULL, 10);
}

static enum outcome
signal_host(void)
{
	return escaped_if(kill(host_pid(), 0) == 0 || errno == EPERM);
}

static enum outcome
pidfd_of_host(void)
{
	return escaped_if(syscall(SYS_pidfd_open, host_pid(), 0) >= 0);
}

/* Its parent is init, or the test. */
static enum outcome
kill_init(void)
{
	if (getppid() != 1)
		return NOTHING_TO_TRY;
	(void)kill(1, SIGKILL);
	(void)kill(1, SIGSEGV);
	(void)usleep(50000);
	return escaped_if(getppid() != 1);
}

static enum outcome
environment_of_parent(void)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
	return escaped_if(open(path, O_RDONLY | O_CLOEXEC) >= 0);
}

static enum outcome
memory_of_parent(void)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
	return escaped_if(open(path, O_RDWR | O_CLOEXEC) >= 0);
}

static enum outcome
trace_parent(void)
{
	return escaped_if(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0);
}

static enum outcome
trace_me(void)
{
	return escaped_if(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
}

static enum outcome
read_memory(void)
{
	char byte, here = 'x';
	struct iovec to = {&byte, 1}, from = {&here, 1};

	return escaped_if(process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1);
}

static enum outcome
write_memory(void)
{
	char byte = 'y', here = 'x';
	struct iovec from = {&byte, 1}, to = {&here, 1};

	return escaped_if(
	    process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 1);
}

static enum outcome
steal_descriptor(void)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return escaped_if(syscall(SYS_pidfd_getfd, self, 0, 0) >= 0);
}

static enum outcome
compare_processes(void)
{
	pid_t p = getpid();

	return escaped_if(syscall(SYS_kcmp, p, p, 0, 0, 0) >= 0);
}

static enum outcome
become_root(void)
{
	if (geteuid() == 0)
		return ESCAPED;
	return escaped_if(setuid(0) == 0 || setresuid(0, 0, 0) == 0);
}

static enum outcome
join_groups(void)
{
	const gid_t groups[] = {0, 6};
	/* Dropping them all is no gain. */
	return escaped_if(syscall(SYS_setgroups, 2, groups) == 0);
}

static enum outcome
raise_priority(void)
{
	return escaped_if(nice(-5) != -1);
}

static enum outcome
lower_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	return escaped_if(write(fd, "-500", 4) == 4);
}

static enum outcome
program_by_setuid_bit(void)
{
	return escaped_if(access("/usr/bin/su", X_OK) == 0 &&
			  system("/usr/bin/su -c true root "
				 "</dev/null >/dev/null 2>&1") == 0);
}

const struct attempt attempts_processes[] = {
    {"see a process of the host", signal_host},
    {"a pidfd of the host", pidfd_of_host},
    {"kill init", kill_init},
    {"the environment of init", environment_of_parent},
    {"the memory of init", memory_of_parent},
    {"ptrace init", trace_parent},
    {"ptrace", trace_me},
    {"process_vm_readv", read_memory},
    {"process_vm_writev", write_memory},
    {"pidfd_getfd", steal_descriptor},
    {"kcmp", compare_processes},
    {"become root", become_root},
    {"join groups", join_groups},
    {"raise the priority", raise_priority},
    {"lower oom_score_adj", lower_oom_score},
    {"a setuid program", program_by_setuid_bit},
    {NULL, NULL},
};
