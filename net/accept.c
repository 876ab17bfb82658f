#include "net/accept.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/log.h"
#include "net/connection_audit.h"
#include "net/ws.h"

/* Sockets taken per event, so that a flood of them does not starve others. */
#define ACCEPTS_PER_EVENT 16
/* How long the listener rests when descriptors or memory ran out: it stays
 * readable all the while, and the loop would spin. */
#define ACCEPT_PAUSE_MS	  100

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static void
describe(const union address *a, char *out, size_t size)
{
	char ip[INET6_ADDRSTRLEN] = "?";

	if (a->any.sa_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &a->in6.sin6_addr, ip, sizeof ip);
		(void)snprintf(out, size, "[%s]:%u", ip,
		    ntohs(a->in6.sin6_port));
		return;
	}
	(void)inet_ntop(AF_INET, &a->in.sin_addr, ip, sizeof ip);
	(void)snprintf(out, size, "%s:%u", ip, ntohs(a->in.sin_port));
}

static void
pause_passed(struct timer *t)
{
	struct net *n = container_of(t, struct net, accept_timer);

	if (!n->draining && accept_start(n) < 0)
		net_stop(n, 1);
}

/* What accept4(2) said. True if it is worth to go on. */
static bool
accept_failed(struct net *n, int code)
{
	if (code == EAGAIN)
		return false;
	if (code == ECONNABORTED || code == EINTR)
		return true;
	log_warn("accept_failed errno=%d", code);
	accept_stop(n);
	timer_set(n->lws, &n->accept_timer, ACCEPT_PAUSE_MS, pause_passed);
	return false;
}

/* Take one socket. False if there is no more. */
static bool
accept_one(struct net *n)
{
	union address a = {0};
	socklen_t len = sizeof a;
	char peer[64];
	int fd = accept4(ROLE_FD_LISTENER, &a.any, &len,
	    SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return accept_failed(n, errno);
	describe(&a, peer, sizeof peer);
	if (n->connection_count >= n->config.limits.connections_max) {
		log_warn("connection_refused peer=%s limit=connections_max",
		    peer);
		connection_audit_limit(n, peer, "connections_max");
		(void)close(fd);
		return true;
	}
	ws_adopt(n, fd, peer);
	return true;
}

static void
accept_ready(struct watch *w, uint32_t events)
{
	struct net *n = container_of(w, struct net, listener_watch);

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_EVENT; i++)
		if (!accept_one(n))
			return;
}

int
accept_start(struct net *n)
{
	n->listener_watch.fd = ROLE_FD_LISTENER;
	n->listener_watch.fn = accept_ready;
	return poller_watch(n->poller, &n->listener_watch, EPOLLIN);
}

void
accept_stop(struct net *n)
{
	poller_forget(n->poller, &n->listener_watch);
}
