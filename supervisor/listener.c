#include "supervisor/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

/* Connections that wait for accept, also while net is being replaced. */
#define BACKLOG 1024

/* Returns -code with e naming the address. */
static int
refuse(const struct listen_url *u, int code, const char *step, struct err *e)
{
	scoped_buf host;

	buf_init(&host, 64);
	if (listen_url_put_host(u, &host) < 0)
		buf_clear(&host);
	return err_errno(e, code, "listen on %.*s: %s", (int)host.len,
	    (char *)host.data, step);
}

int
listener_open(struct listen_url *u, struct err *e)
{
	int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	struct listen_url got = {.len = sizeof got.addr};
	struct sockaddr *addr = (struct sockaddr *)&u->addr;
	scoped_fd fd = socket(u->addr.ss_family, type, 0);
	const int on = 1;

	if (fd < 0)
		return refuse(u, errno, "socket", e);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
		return refuse(u, errno, "SO_REUSEADDR", e);
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
		return refuse(u, errno, "TCP_NODELAY", e);
	if (u->addr.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
		return refuse(u, errno, "IPV6_V6ONLY", e);
	if (bind(fd, addr, u->len) < 0)
		return refuse(u, errno, "bind", e);
	if (listen(fd, BACKLOG) < 0)
		return refuse(u, errno, "listen", e);
	if (getsockname(fd, (struct sockaddr *)&got.addr, &got.len) < 0)
		return refuse(u, errno, "getsockname", e);
	*u = got;
	return fd_take(&fd);
}
