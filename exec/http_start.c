#include "exec/http_start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/syscall.h>

#include "exec/raw.h"
#include "privsep/privdrop.h"

#define CHANNEL_FD 3

/* Descriptors 0 to 2 are exec's own: /dev/null twice, and the log. */
static _Noreturn void
run(int binary_fd, int channel_fd, pid_t parent, char *const *argv,
    char *const *envp)
{
	sigset_t none;
	int binary;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (privdrop_end_with_parent(parent) < 0 || setsid() < 0)
		_exit(127);
	binary = fcntl(binary_fd, F_DUPFD_CLOEXEC, CHANNEL_FD + 1);
	if (binary < 0)
		_exit(127);
	if (channel_fd == CHANNEL_FD ? fcntl(channel_fd, F_SETFD, 0) < 0
				     : dup2(channel_fd, CHANNEL_FD) < 0)
		_exit(127);
	if (syscall(SYS_close_range, CHANNEL_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC) <
	    0)
		_exit(127);
	(void)syscall(SYS_execveat, binary, "", argv, envp, AT_EMPTY_PATH);
	_exit(127);
}

int
http_start(int binary_fd, int channel_fd)
{
	static char name[] = "sallyport-http", tz[] = "TZ=UTC0";
	char *const argv[] = {name, NULL};
#ifdef SANITIZED
	/* Looking for leaks at the end takes ptrace. */
	static char asan[] = "ASAN_OPTIONS=detect_leaks=0";
	char *const envp[] = {tz, asan, NULL};
#else
	char *const envp[] = {tz, NULL};
#endif
	int pidfd;
	pid_t parent = getpid(), pid = raw_clone(0, &pidfd);

	if (pid == 0)
		run(binary_fd, channel_fd, parent, argv, envp);
	return pid < 0 ? pid : pidfd;
}
