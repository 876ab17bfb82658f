#include "supervisor/role.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privsep/privdrop.h"

/* Above every number of role.h, so that moving one descriptor to its place
 * does not overwrite another. */
#define FD_ASIDE 32
#define FDS_MAX	 6

static const char *const argv0[] = {
    [ROLE_NET] = "sallyport-net",
    [ROLE_EXEC] = "sallyport-exec",
};

/* A role's whole environment. A sanitizer's run-time is told what we were
 * told; leaks are looked for elsewhere, as that needs ptrace. */
struct environment {
	char asan[512], ubsan[512];
	char *items[4];
};

void
role_init(struct role_process *p, enum role role)
{
	*p = (struct role_process){.role = role, .pidfd = -1};
	p->log.fd = -1;
}

static void
fill_environment(struct environment *env)
{
	static char tz[] = "TZ=UTC0";
	size_t n = 0;

	env->items[n++] = tz;
#ifdef SANITIZED
	const char *asan = getenv("ASAN_OPTIONS"),
		   *ubsan = getenv("UBSAN_OPTIONS");

	(void)snprintf(env->asan, sizeof env->asan,
	    "ASAN_OPTIONS=%s:detect_leaks=0", asan != NULL ? asan : "");
	(void)snprintf(env->ubsan, sizeof env->ubsan, "UBSAN_OPTIONS=%s",
	    ubsan != NULL ? ubsan : "");
	env->items[n++] = env->asan;
	env->items[n++] = env->ubsan;
#endif
	env->items[n] = NULL;
}

/* Handlers end with execve, what is ignored or blocked does not. */
static void
reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* fds[i] becomes descriptor i; all others but binary_fd are marked to close.
 * Returns the new number of binary_fd, or -1. */
static int
place_fds(const int *fds, int count, int binary_fd)
{
	int aside[FDS_MAX], binary;

	for (int i = 0; i < count; i++) {
		aside[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FD_ASIDE);
		if (aside[i] < 0)
			return -1;
	}
	binary = fcntl(binary_fd, F_DUPFD_CLOEXEC, FD_ASIDE);
	for (int i = 0; i < count; i++)
		if (dup2(aside[i], i) < 0)
			return -1;
	if (syscall(SYS_close_range, count, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -1;
	return binary;
}

static _Noreturn void
child(enum role role, const int *fds, int count, int binary_fd, pid_t parent,
    struct environment *env)
{
	char *argv[] = {strdup(argv0[role]), NULL};
	int binary;

	if (argv[0] == NULL || privdrop_end_with_parent(parent) < 0)
		_exit(127);
	reset_signals();
	(void)setsid();
	binary = place_fds(fds, count, binary_fd);
	if (binary >= 0)
		(void)syscall(SYS_execveat, binary, "", argv, env->items,
		    AT_EMPTY_PATH);
	log_error("start error=%s", strerrorname_np(errno));
	_exit(127);
}

/* Close all that p holds. */
static void
forget(struct role_process *p)
{
	channel_free(p->channel);
	rolelog_close(&p->log);
	fd_close(&p->pidfd);
	role_init(p, p->role);
}

/* Returns 0 or a negative errno; log_fd and channel_fd are the role's. */
static int
start(struct role_process *p, const struct role_start *how, int log_fd,
    int channel_fd)
{
	const int fds[FDS_MAX] = {how->null_fd, how->null_fd, log_fd,
	    channel_fd, how->extra[0], how->extra[1]};
	int count = ROLE_FD_EXEC + (int)how->extra_count;
	struct environment env;
	pid_t parent = getpid();

	fill_environment(&env);
	p->pid = fork();
	if (p->pid < 0)
		return -errno;
	if (p->pid == 0)
		child(p->role, fds, count, how->binary_fd, parent, &env);
	p->pidfd = pidfd_open(p->pid, 0);
	if (p->pidfd < 0) {
		int code = errno;

		(void)kill(p->pid, SIGKILL);
		(void)waitpid(p->pid, NULL, 0);
		return -code;
	}
	return 0;
}

int
role_start(struct role_process *p, const struct role_start *how, struct err *e)
{
	scoped_fd log_fd = -1, theirs = -1;
	int ends[2], r;

	r = rolelog_open(&p->log, p->role, &log_fd);
	if (r == 0)
		r = channel_pair(ends);
	if (r == 0) {
		theirs = ends[1];
		p->channel = channel_new(ends[0], ROLE_SUPERVISOR, p->role);
		r = p->channel == NULL ? -ENOMEM
				       : start(p, how, log_fd, theirs);
	}
	if (r < 0) {
		forget(p);
		return err_errno(e, -r, "start %s", role_name(p->role));
	}
	return 0;
}

void
role_kill(struct role_process *p)
{
	channel_free(p->channel);
	p->channel = NULL;
	p->ready = false;
	if (p->pidfd >= 0)
		(void)pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
}

bool
role_reap(struct role_process *p, int *status)
{
	siginfo_t info = {0};

	if (p->pid == 0 ||
	    waitid(P_PIDFD, (id_t)p->pidfd, &info, WEXITED | WNOHANG) < 0 ||
	    info.si_pid == 0)
		return false;
	*status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
					     : W_EXITCODE(0, info.si_status);
	forget(p);
	return true;
}

void
role_describe_end(int status, char text[ROLE_END_MAX])
{
	const char *name;

	if (!WIFSIGNALED(status)) {
		(void)snprintf(text, ROLE_END_MAX, "exited with status %d",
		    WEXITSTATUS(status));
		return;
	}
	name = sigabbrev_np(WTERMSIG(status));
	(void)snprintf(text, ROLE_END_MAX, "killed by SIG%s",
	    name != NULL ? name : "?");
}

bool
role_reap_orphans(const struct role_process *net,
    const struct role_process *exec)
{
	for (;;) {
		siginfo_t info = {0};
		int flags = WEXITED | WNOHANG;

		if (waitid(P_ALL, 0, &info, flags | WNOWAIT) < 0)
			return false; /* ECHILD */
		if (info.si_pid == 0 || info.si_pid == net->pid ||
		    info.si_pid == exec->pid)
			return true;
		(void)waitid(P_PID, (id_t)info.si_pid, &info, flags);
	}
}
