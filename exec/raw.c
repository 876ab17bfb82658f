#include "exec/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The older call, which says the same but for its order of arguments. */
static long
clone_before_3(uint64_t flags, int *pidfd)
{
	return syscall(SYS_clone, flags | SIGCHLD, NULL, pidfd, NULL, 0);
}

static struct clone_args
clone_args_of(uint64_t flags, int *pidfd)
{
	struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};

	if (pidfd != NULL) {
		args.flags |= CLONE_PIDFD;
		args.pidfd = (uint64_t)(uintptr_t)pidfd;
	}
	return args;
}

pid_t
raw_clone_into(uint64_t flags, int *pidfd, int cgroup)
{
	struct clone_args args = clone_args_of(flags, pidfd);
	long pid;

	args.flags |= CLONE_INTO_CGROUP;
	args.cgroup = (uint64_t)(unsigned int)cgroup;
	pid = syscall(SYS_clone3, &args, sizeof args);
	return pid < 0 ? -errno : (pid_t)pid;
}

pid_t
raw_clone(uint64_t flags, int *pidfd)
{
	struct clone_args args = clone_args_of(flags, pidfd);
	long pid = syscall(SYS_clone3, &args, sizeof args);

	/* Container runtimes let nobody use a call whose flags they cannot
	 * see, and say that it is not there. */
	if (pid < 0 && errno == ENOSYS)
		pid = clone_before_3(args.flags, pidfd);
	return pid < 0 ? -errno : (pid_t)pid;
}

int
raw_end_with_peer(int socket)
{
	struct pollfd p = {.fd = socket};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || poll(&p, 1, 0) < 0)
		return -errno;
	return (p.revents & POLLHUP) == 0 ? 0 : -ESRCH;
}

int
raw_pidfd_signal(int pidfd, int signum)
{
	long r = syscall(SYS_pidfd_send_signal, pidfd, signum, NULL, 0);

	return r < 0 ? -errno : 0;
}

static void
sort(int *v, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		int x = v[i];
		size_t j = i;

		for (; j > 0 && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

static int
close_from_to(unsigned int first, unsigned int last)
{
	if (first > last)
		return 0;
	return syscall(SYS_close_range, first, last, 0) < 0 ? -errno : 0;
}

int
raw_close_except(int *keep, size_t count)
{
	unsigned int next = 3;

	sort(keep, count);
	for (size_t i = 0; i < count; i++) {
		unsigned int fd = (unsigned int)keep[i];
		int r;

		if (keep[i] < 0 || fd < next)
			continue;
		r = fd > next ? close_from_to(next, fd - 1) : 0;
		if (r < 0)
			return r;
		next = fd + 1;
	}
	return close_from_to(next, ~0U);
}

int
raw_write_file(const char *path, const char *text)
{
	return raw_write_file_at(AT_FDCWD, path, text);
}

int
raw_write_file_at(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;
	int r;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	r = n < 0 ? -errno : n != (ssize_t)len ? -EIO : 0;
	(void)close(fd);
	return r;
}

int
raw_number_path(char *out, size_t size, const char *prefix, unsigned int n,
    const char *suffix)
{
	size_t before = strlen(prefix), after = strlen(suffix), digits = 1;

	for (unsigned int rest = n / 10; rest > 0; rest /= 10)
		digits++;
	if (size < before + digits + after + 1)
		return -ENAMETOOLONG;
	memcpy(out, prefix, before);
	for (size_t i = digits; i > 0; i--, n /= 10)
		out[before + i - 1] = (char)('0' + n % 10);
	memcpy(out + before + digits, suffix, after + 1);
	return 0;
}

int
raw_send(int socket, const void *data, size_t len, const int *fds, size_t count)
{
	union {
		struct cmsghdr align;
		char raw[CMSG_SPACE(RAW_FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data,
	    .iov_len = len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};

	if (count > RAW_FDS_MAX)
		return -EINVAL;
	if (count > 0) {
		struct cmsghdr *m;

		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(count * sizeof fds[0]);
		m = CMSG_FIRSTHDR(&h);
		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(count * sizeof fds[0]);
		memcpy(CMSG_DATA(m), fds, count * sizeof fds[0]);
	}
	if (sendmsg(socket, &h, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

/* The descriptors of a received record; false if there is no room for them:
 * the alignment of the control buffer lets one more come, which is closed. */
static int
collect(struct msghdr *h, int *fds, size_t room, size_t *count)
{
	struct cmsghdr *m = CMSG_FIRSTHDR(h);
	size_t n;
	int fd;

	*count = 0;
	if (m == NULL)
		return 1;
	if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (m->cmsg_len - CMSG_LEN(0)) / sizeof fds[0];
	for (size_t i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(m) + i * sizeof fd, sizeof fd);
		if (i < room)
			fds[(*count)++] = fd;
		else
			(void)close(fd);
	}
	return n <= room;
}

int
raw_recv(int socket, void *data, size_t len, int *fds, size_t *count)
{
	union {
		struct cmsghdr align;
		char raw[CMSG_SPACE(RAW_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = data, .iov_len = len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t room = *count > RAW_FDS_MAX ? RAW_FDS_MAX : *count;
	ssize_t n;
	int whole;

	*count = 0;
	if (room > 0) {
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(room * sizeof fds[0]);
	}
	n = recvmsg(socket, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	whole = collect(&h, fds, room, count);
	if (n == 0 && *count == 0)
		return 0;
	if (whole && (size_t)n == len &&
	    (h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0)
		return 1;
	for (size_t i = 0; i < *count; i++)
		(void)close(fds[i]);
	*count = 0;
	return -EPROTO;
}

void
raw_status(int status_fd, enum stage stage, int errnum)
{
	struct status_record s = {.stage = (uint32_t)stage,
	    .errnum = (uint32_t)errnum};

	/* A pipe takes these few bytes whole; if exec is gone, so are we. */
	(void)!write(status_fd, &s, sizeof s);
}

void
raw_fail(int status_fd, enum stage stage, int errnum)
{
	raw_status(status_fd, stage, errnum);
	_exit(127);
}
