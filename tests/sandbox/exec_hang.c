#include "tests/sandbox/exec_hang.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define DEADLINE_MS 60000

const struct hang hang_rmdir = {SYS_unlinkat, 2, AT_REMOVEDIR};
const struct hang hang_make = {SYS_fchmodat, 2, 0755};
const struct hang hang_userns = {SYS_unshare, 0, CLONE_NEWUSER};
#ifdef SYS_mkdir
const struct hang hang_home = {SYS_mkdir, 1, 0700};
#else
const struct hang hang_home = {SYS_mkdirat, 2, 0700};
#endif

/* Arguments are compared by their low halves; both kinds of machines that the
 * tests know have those first. */
static int
load(const struct hang *h)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)h->number, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		(uint32_t)offsetof(struct seccomp_data, args) +
		    8 * h->argument),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, h->value, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {.len = sizeof code / sizeof code[0],
	    .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

void
hang_install(const struct hang *h, int socket)
{
	union {
		struct cmsghdr align;
		char raw[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr m = {.msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = load(h);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	if (fd < 0 || sendmsg(socket, &m, 0) != 1)
		_exit(1);
	(void)close(fd);
	(void)close(socket);
}

int
hang_take(int socket)
{
	union {
		struct cmsghdr align;
		char raw[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr m = {.msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof control};
	struct pollfd p = {.fd = socket, .events = POLLIN};
	int fd;

	assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
	assert_int_equal(recvmsg(socket, &m, MSG_CMSG_CLOEXEC), 1);
	assert_non_null(CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	(void)close(socket);
	return fd;
}

static _Noreturn void
answer(int listener, volatile int *refuse)
{
	for (;;) {
		struct seccomp_notif call = {0};
		struct seccomp_notif_resp resp = {0};

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			_exit(0);
		}
		resp.id = call.id;
		if (*refuse > 0) {
			(*refuse)--;
			resp.error = -EPERM;
		} else {
			resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		}
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
	}
}

pid_t
hang_answer(int listener, volatile int *refuse)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer(listener, refuse);
	}
	assert_true(pid > 0);
	return pid;
}

int
hang_wait(int listener)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};
	struct seccomp_notif call = {0};
	int pidfd;

	assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
	assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call), 0);
	pidfd = (int)syscall(SYS_pidfd_open, call.pid, 0);
	assert_true(pidfd >= 0);
	return pidfd;
}
