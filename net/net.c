#include "net/net.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "net/accept.h"
#include "net/helper.h"
#include "net/http.h"
#include "net/process.h"
#include "net/ws.h"

void
net_stop(struct net *n, int status)
{
	n->stop = true;
	n->exit_status = status;
	ws_wake(n);
}

/* Wait for what a channel needs: messages always, room while it has a queue. */
static void
watch_channel(struct net *n, struct watch *w, struct channel *c)
{
	uint32_t events = EPOLLIN | (channel_pending(c) ? EPOLLOUT : 0u);

	w->fd = channel_fd(c);
	if (poller_watch(n->poller, w, events) < 0)
		net_stop(n, 1);
}

int
net_exec_sent(struct net *n, int r)
{
	bool local = r == -ENOBUFS || r == -EMSGSIZE || r == -ENOMEM ||
		     r == -EMFILE || r == -ENFILE;

	if (r < 0 && !local) {
		log_error("exec_channel_failed errno=%d", -r);
		net_stop(n, 1);
	}
	watch_channel(n, &n->exec_watch, n->exec);
	return r;
}

int
net_charge(struct net *n, uint64_t len)
{
	if (len > n->config.limits.message_budget - n->message_bytes)
		return -ENOBUFS;
	n->message_bytes += len;
	return 0;
}

void
net_release(struct net *n, uint64_t len)
{
	n->message_bytes -= len;
}

void
net_audit(struct net *n, const char *event, const char *const *pairs)
{
	tell_audit(&n->tell, n->supervisor, event, pairs);
	watch_channel(n, &n->supervisor_watch, n->supervisor);
}

void
net_drain_check(struct net *n)
{
	struct msg_net_drained m = {
	    .connections = (uint32_t)n->connection_count};

	if (!n->draining || n->connection_count > 0 || n->stop)
		return;
	if (channel_send_net_drained(n->supervisor, &m, NULL, 0) < 0)
		log_warn("drain_unreported");
	net_stop(n, 0);
}

static void
drain_passed(struct timer *t)
{
	struct net *n = container_of(t, struct net, drain_timer);

	log_warn("drain_timeout connections=%llu",
	    (unsigned long long)n->connection_count);
	net_stop(n, 0);
}

void
net_drain(struct net *n, uint32_t timeout_ms)
{
	struct connection *c;

	if (n->draining)
		return;
	n->draining = true;
	accept_stop(n);
	timer_clear(&n->accept_timer);
	timer_set(n->lws, &n->drain_timer, timeout_ms, drain_passed);
	TAILQ_FOREACH (c, &n->connections, link)
		connection_close(c, 1001, "shutdown");
	net_drain_check(n);
}

static void
from_supervisor(struct net *n, struct msg *m)
{
	switch ((int)m->type) {
	case MSG_NET_ACCEPT:
		if (!n->draining && accept_start(n) < 0)
			net_stop(n, 1);
		return;
	case MSG_NET_POLICY:
		if (config_take_policy(&n->config, &m->u.net_policy, NULL) < 0)
			net_stop(n, 1);
		return;
	case MSG_NET_DRAIN:
		net_drain(n, m->u.net_drain.timeout_ms);
		return;
	default:
		log_error("unexpected_message type=%d", (int)m->type);
		net_stop(n, 1);
	}
}

static void
from_exec(struct net *n, struct msg *m)
{
	switch ((int)m->type) {
	case MSG_SESSION_REFUSED:
		log_warn("session_refused session=%u text=%.*s",
		    m->u.session_refused.session,
		    (int)m->u.session_refused.text.len,
		    (const char *)m->u.session_refused.text.data);
		return;
	case MSG_PROCESS_STARTED:
		process_on_started(n, m);
		return;
	case MSG_PROCESS_REFUSED:
		process_on_refused(n, &m->u.process_refused);
		return;
	case MSG_PROCESS_FAILED:
		process_on_failed(n, &m->u.process_failed);
		return;
	case MSG_PROCESS_EXITED:
		process_on_exited(n, &m->u.process_exited);
		return;
	case MSG_WORKER_OPENED:
		helper_on_opened(n, m);
		return;
	case MSG_WORKER_REFUSED:
		helper_on_refused(n, &m->u.worker_refused);
		return;
	case MSG_HTTP_OPENED:
		http_on_opened(n, m);
		return;
	case MSG_HTTP_REFUSED:
		http_on_refused(n, &m->u.http_refused);
		return;
	case MSG_PROCESS_GONE:
		return; /* its streams tell all that a client needs */
	default:
		log_error("unexpected_message type=%d", (int)m->type);
		net_stop(n, 1);
	}
}

/* Records handled per event, so that one channel does not starve the rest. */
#define RECORDS_PER_EVENT 64

static void
serve_channel(struct net *n, struct watch *w, struct channel *c,
    void (*handle)(struct net *n, struct msg *m))
{
	struct err e = {0};
	struct msg m;
	int r = channel_flush(c);

	for (int i = 0; r >= 0 && i < RECORDS_PER_EVENT && !n->stop; i++) {
		r = channel_recv(c, &m, &e);
		if (r <= 0)
			break;
		handle(n, &m);
		msg_done(&m);
	}
	if (r < 0 && r != -EAGAIN)
		log_error("channel_broken peer=%s errno=%d %s",
		    role_name(channel_peer(c)), -r, e.text);
	if (r == 0 || (r < 0 && r != -EAGAIN))
		net_stop(n, 1);
	else
		watch_channel(n, w, c);
}

static void
supervisor_ready(struct watch *w, uint32_t events)
{
	struct net *n = container_of(w, struct net, supervisor_watch);

	(void)events;
	serve_channel(n, w, n->supervisor, from_supervisor);
}

static void
exec_ready(struct watch *w, uint32_t events)
{
	struct net *n = container_of(w, struct net, exec_watch);

	(void)events;
	serve_channel(n, w, n->exec, from_exec);
}

int
net_run(struct net *n)
{
	n->supervisor_watch.fn = supervisor_ready;
	n->exec_watch.fn = exec_ready;
	watch_channel(n, &n->supervisor_watch, n->supervisor);
	watch_channel(n, &n->exec_watch, n->exec);
	while (!n->stop)
		ws_turn(n);
	return n->exit_status;
}
