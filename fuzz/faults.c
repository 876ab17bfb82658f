#include "fuzz/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Not an error: one byte at most is read or written. */
#define SHORT (-1)

static const int ways[FAULT_CALLS][6] = {
    [FAULT_ALLOC] = {ENOMEM},
    [FAULT_RECVMSG] = {EAGAIN, EINTR, ENOMEM, ECONNRESET},
    [FAULT_SENDMSG] = {EAGAIN, EINTR, ENOBUFS, EPIPE, EMFILE},
    [FAULT_READ] = {SHORT, EAGAIN, EINTR, EIO},
    [FAULT_WRITE] = {SHORT, EAGAIN, EINTR, EPIPE, ENOSPC},
    [FAULT_PREAD] = {SHORT, EINTR, EIO},
    [FAULT_MEMFD] = {EMFILE, ENOMEM},
    [FAULT_EPOLL] = {ENOMEM, ENOSPC},
};

static struct {
	enum fault_call call;
	unsigned int left; /* calls until the one that fails; 0: none does */
	int way;
	bool on, reached;
} fault;

uint8_t
fault_ways(enum fault_call call)
{
	uint8_t count = 0;

	while (count < 6 && ways[call][count] != 0)
		count++;
	return count;
}

void
fault_set(enum fault_call call, unsigned int n, uint8_t how)
{
	fault.call = call;
	fault.left = n;
	fault.way = ways[call][how % fault_ways(call)];
	fault.reached = false;
}

void
fault_read(struct reader *r)
{
	uint8_t how = fuzz_u8(r);
	unsigned int n = fuzz_u8(r);

	n = n << 8 | fuzz_u8(r);
	fault_set((enum fault_call)(how % FAULT_CALLS), n,
	    how / (uint8_t)FAULT_CALLS);
}

bool
fault_clear(void)
{
	fault.left = 0;
	return fault.reached;
}

void
fault_begin(void)
{
	fault.on = true;
}

void
fault_end(void)
{
	fault.on = false;
}

/* 0: as ever; SHORT; or errno is set. */
static int
now(enum fault_call call)
{
	if (!fault.on || fault.call != call || fault.left == 0 ||
	    --fault.left > 0)
		return 0;
	fault.reached = true;
	if (fault.way != SHORT)
		errno = fault.way;
	return fault.way;
}

/* The linker gives these their names. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
#define WRAP(type, name, call, failed, parameters, arguments)                  \
	type __real_##name parameters;                                         \
	type __wrap_##name parameters;                                         \
	type __wrap_##name parameters                                          \
	{                                                                      \
		return now(call) != 0 ? (failed) : __real_##name arguments;    \
	}
#define WRAP_SHORT(name, call, parameters, arguments, one)                     \
	ssize_t __real_##name parameters;                                      \
	ssize_t __wrap_##name parameters;                                      \
	ssize_t __wrap_##name parameters                                       \
	{                                                                      \
		int way = now(call);                                           \
                                                                               \
		if (way == SHORT && len > 0)                                   \
			return __real_##name one;                              \
		return way > 0 ? -1 : __real_##name arguments;                 \
	}

WRAP(void *, malloc, FAULT_ALLOC, NULL, (size_t size), (size))
WRAP(void *, calloc, FAULT_ALLOC, NULL, (size_t count, size_t size),
    (count, size))
WRAP(void *, realloc, FAULT_ALLOC, NULL, (void *old, size_t size), (old, size))
WRAP(ssize_t, recvmsg, FAULT_RECVMSG, -1, (int fd, struct msghdr *m, int flags),
    (fd, m, flags))
WRAP(ssize_t, sendmsg, FAULT_SENDMSG, -1,
    (int fd, const struct msghdr *m, int flags), (fd, m, flags))
WRAP(int, memfd_create, FAULT_MEMFD, -1, (const char *name, unsigned int flags),
    (name, flags))
WRAP_SHORT(read, FAULT_READ, (int fd, void *data, size_t len), (fd, data, len),
    (fd, data, 1))
WRAP_SHORT(write, FAULT_WRITE, (int fd, const void *data, size_t len),
    (fd, data, len), (fd, data, 1))
WRAP_SHORT(pread64, FAULT_PREAD, (int fd, void *data, size_t len, off_t at),
    (fd, data, len, at), (fd, data, 1, at))
int __real_epoll_ctl(int set, int op, int fd, struct epoll_event *e);
int __wrap_epoll_ctl(int set, int op, int fd, struct epoll_event *e);

/* To take one out needs nothing that could lack. */
int
__wrap_epoll_ctl(int set, int op, int fd, struct epoll_event *e)
{
	if (op != EPOLL_CTL_DEL && now(FAULT_EPOLL) != 0)
		return -1;
	return __real_epoll_ctl(set, op, fd, e);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */
