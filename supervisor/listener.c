#include "supervisor/listener.h"

#include <errno.h>
#include <netinet/in.h>

/* Connections that wait for accept, also while net is being replaced. */
#define BACKLOG 1024

int
listener_open(struct listen_url *u, struct err *e)
{
	int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	struct listen_url got = {.len = sizeof got.addr};
	struct sockaddr *addr = (struct sockaddr *)&u->addr;
	scoped_fd fd = socket(u->addr.ss_family, type, 0);
	const int on = 1;

	if (fd < 0)
		return err_errno(e, errno, "listen: socket");
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
		return err_errno(e, errno, "listen: SO_REUSEADDR");
	if (u->addr.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
		return err_errno(e, errno, "listen: IPV6_V6ONLY");
	if (bind(fd, addr, u->len) < 0)
		return err_errno(e, errno, "listen: bind");
	if (listen(fd, BACKLOG) < 0)
		return err_errno(e, errno, "listen");
	if (getsockname(fd, (struct sockaddr *)&got.addr, &got.len) < 0)
		return err_errno(e, errno, "listen: getsockname");
	*u = got;
	return fd_take(&fd);
}
