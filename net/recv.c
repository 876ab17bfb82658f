/*
 * The recv(2) that libwebsockets calls: socket_watch.h. <sys/socket.h> is not
 * included, since its fortified inline of the same name would collide.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/socket_watch.h"

__attribute__((visibility("default"))) ssize_t recv(int fd, void *buf,
    size_t len, int flags);

ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	ssize_t n = syscall(SYS_recvfrom, fd, buf, len, flags, NULL, NULL);
	size_t pass;

	if (n <= 0)
		return n;
	pass = socket_watch_filter(fd, buf, (size_t)n);
	if (pass > 0)
		return (ssize_t)pass;
	/* The rest is read and thrown away while the close frame is on its
	 * way: closing with bytes unread would reset the connection. */
	errno = EAGAIN;
	return -1;
}
