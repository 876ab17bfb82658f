#include "exec/executor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "exec/executor_backend.h"
#include "exec/executor_limits.h"

struct peer *
executor_peer(const struct executor *x, struct generation generation)
{
	struct peer *p;

	LIST_FOREACH (p, &x->peers, link)
		if (p->generation.v == generation.v)
			return p->broken ? NULL : p;
	return NULL;
}

void
executor_sent(struct peer *p, int r)
{
	if (r < 0 && !p->broken) {
		log_warn("net_unreachable generation=%u errno=%d",
		    p->generation.v, -r);
		p->broken = true;
	}
}

void
executor_audit(struct executor *x, const char *event, const char *const *pairs)
{
	tell_audit(&x->tell, x->supervisor, event, pairs);
}

/* --- nets ---------------------------------------------------------------- */

/* End all that belongs to a net, and its channel. */
static void
peer_end(struct executor *x, struct peer *p)
{
	for (size_t i = 0; i < x->slot_count; i++) {
		struct session *s = x->sessions[i];

		if (s != NULL && s->generation.v == p->generation.v)
			executor_session_end(x, s);
	}
	log_info("net_ended generation=%u", p->generation.v);
	LIST_REMOVE(p, link);
	if (source_watch(x->epfd, &p->source, 0) < 0)
		log_warn("unwatch_failed generation=%u", p->generation.v);
	channel_free(p->channel);
	free(p);
}

static executor_handler *const handlers[MSG_TYPES] = {
    [MSG_SESSION_OPEN] = executor_on_session_open,
    [MSG_SESSION_CLOSE] = executor_on_session_close,
    [MSG_PROCESS_START] = executor_on_process_start,
    [MSG_PROCESS_SIGNAL] = executor_on_process_signal,
    [MSG_PROCESS_CANCEL] = executor_on_process_cancel,
    [MSG_PROCESS_TERMINATE] = executor_on_process_terminate,
    [MSG_PROCESS_RESIZE] = executor_on_process_resize,
    [MSG_WORKER_OPEN] = executor_on_worker_open,
    [MSG_WORKER_KILL] = executor_on_worker_kill,
    [MSG_HTTP_OPEN] = executor_on_http_open,
    [MSG_HTTP_KILL] = executor_on_http_kill,
};

static int
peer_dispatch(struct executor *x, struct peer *p, const struct msg *m,
    struct err *e)
{
	executor_handler *handler = handlers[m->type];

	if (handler == NULL)
		return err_set(e, EPROTO, "message %d", (int)m->type);
	return handler(x, p, m, e);
}

static void
peer_ready(struct executor *x, struct source *source)
{
	struct peer *p = source->owner;
	struct err e = {0};
	struct msg m;
	int r = channel_flush(p->channel);

	if (r == 0)
		r = channel_recv(p->channel, &m, &e);
	if (r == 1) {
		r = peer_dispatch(x, p, &m, &e);
		msg_done(&m);
		r = r < 0 ? r : -EAGAIN;
	}
	if (r == -EAGAIN)
		return;
	if (r < 0)
		log_error("net_channel generation=%u errno=%d %s",
		    p->generation.v, -r, e.text);
	peer_end(x, p);
}

static int
on_net_attach(struct executor *x, struct msg *m, struct err *e)
{
	struct generation g = {m->u.net_attach.generation};
	struct peer *p;

	if (x->stopping || executor_peer(x, g) != NULL)
		return err_set(e, EPROTO, "generation %u again", g.v);
	p = calloc(1, sizeof *p);
	if (p == NULL)
		return err_set(e, ENOMEM, "net_attach");
	p->generation = g;
	p->channel = channel_new(msg_take_fd(m, 0), ROLE_EXEC, ROLE_NET);
	if (p->channel == NULL) {
		free(p);
		return err_set(e, ENOMEM, "net_attach");
	}
	p->source = (struct source){.fd = channel_fd(p->channel),
	    .ready = peer_ready,
	    .owner = p};
	LIST_INSERT_HEAD(&x->peers, p, link);
	return source_watch(x->epfd, &p->source, EPOLLIN);
}

/* --- supervisor ---------------------------------------------------------- */

static void
stop(struct executor *x, uint32_t timeout_ms)
{
	if (x->stopping)
		return;
	x->stopping = true;
	x->stop_deadline_ms = clock_ms() + timeout_ms;
	x->stop_leases = x->lease_count;
	while (!LIST_EMPTY(&x->peers))
		peer_end(x, LIST_FIRST(&x->peers));
	for (size_t i = 0; i < x->slot_count; i++)
		if (x->sessions[i] != NULL &&
		    executor_session_is_own(x->sessions[i]))
			executor_session_end(x, x->sessions[i]);
}

static void
on_net_gone(struct executor *x, const struct msg *m)
{
	struct generation g = {m->u.net_gone.generation};
	struct peer *p = executor_peer(x, g);

	if (p != NULL)
		peer_end(x, p);
}

static int
supervisor_dispatch(struct executor *x, struct msg *m, struct err *e)
{
	if (m->type == MSG_NET_ATTACH)
		return on_net_attach(x, m, e);
	if (m->type == MSG_EXEC_CONFIG || m->type == MSG_EXEC_POLICY ||
	    m->type == MSG_EXEC_BACKEND || m->type == MSG_EXEC_HTTP)
		return executor_on_new_config(x, m, e);
	if (m->type == MSG_EXEC_APPLY)
		return executor_on_exec_apply(x, m, e);
	if (m->type == MSG_NET_GONE)
		on_net_gone(x, m);
	else if (m->type == MSG_EXEC_STOP)
		stop(x, m->u.exec_stop.timeout_ms);
	else
		return err_set(e, EPROTO, "message %d", (int)m->type);
	return 0;
}

static void
supervisor_ready(struct executor *x, struct source *source)
{
	struct err e = {0};
	struct msg m;
	int r = channel_flush(x->supervisor);

	(void)source;
	if (r == 0)
		r = channel_recv(x->supervisor, &m, &e);
	if (r == 1) {
		r = supervisor_dispatch(x, &m, &e);
		msg_done(&m);
		r = r < 0 ? r : -EAGAIN;
	}
	if (r == -EAGAIN)
		return;
	if (r < 0)
		log_error("supervisor_channel errno=%d %s", -r, e.text);
	x->done = true;
}

/* --- loop ---------------------------------------------------------------- */

/* Wait for room in a channel only while something is queued for it; end the
 * nets that could not be told something. */
static int
settle_channels(struct executor *x)
{
	struct peer *p, *next;
	uint32_t out;
	int r;

	for (p = LIST_FIRST(&x->peers); p != NULL; p = next) {
		next = LIST_NEXT(p, link);
		if (p->broken) {
			peer_end(x, p);
			continue;
		}
		out = channel_pending(p->channel) ? EPOLLOUT : 0;
		r = source_watch(x->epfd, &p->source, EPOLLIN | out);
		if (r < 0)
			return r;
	}
	out = channel_pending(x->supervisor) ? EPOLLOUT : 0;
	return source_watch(x->epfd, &x->supervisor_source, EPOLLIN | out);
}

/* Times where -1 is none. */
static void
earlier(int64_t *at, int64_t candidate)
{
	if (candidate >= 0 && (*at < 0 || candidate < *at))
		*at = candidate;
}

/* Milliseconds until something is due, -1 if nothing is. */
static int
next_timeout(struct executor *x)
{
	int64_t now = clock_ms(), due = -1;

	earlier(&due, executor_session_deadlines(x, now));
	earlier(&due, executor_placeholder_deadline(x, now));
	earlier(&due, executor_limits_deadlines(x, now));
	if (x->stopping)
		earlier(&due, x->stop_deadline_ms);
	if (due < 0)
		return -1;
	return due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
}

static int
loop(struct executor *x)
{
	while (!x->done) {
		struct epoll_event ev;
		int timeout = next_timeout(x), n, r;

		if (x->stopping &&
		    ((x->lease_count == 0 && !x->removing) || timeout == 0))
			return 0;
		/* One at a time: its handler may free what others belong to. */
		n = epoll_wait(x->epfd, &ev, 1, timeout);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 1) {
			struct source *s = ev.data.ptr;

			s->ready(x, s);
		}
		r = settle_channels(x);
		if (r < 0)
			return r;
	}
	return -EPIPE;
}

void
executor_next_id(const struct executor *x, char out[EXECUTOR_ID_MAX])
{
	(void)snprintf(out, EXECUTOR_ID_MAX, "%s-%u", x->unique,
	    x->last_lease + 1);
}

static int
make_unique(char out[33])
{
	unsigned char random[16];

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return -EIO;
	for (size_t i = 0; i < sizeof random; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int
executor_init(struct executor *x, struct channel *supervisor)
{
	LIST_INIT(&x->peers);
	LIST_INIT(&x->leases);
	sockets_init(&x->sockets);
	LIST_INIT(&x->https);
	x->supervisor = supervisor;
	x->supervisor_source = (struct source){.fd = channel_fd(supervisor),
	    .ready = supervisor_ready};
	x->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (x->epfd < 0)
		return -errno;
	x->slot_count = EXECUTOR_SLOTS(x->config->limits.sessions_max);
	x->sessions = calloc(x->slot_count, sizeof x->sessions[0]);
	if (x->sessions == NULL)
		return -ENOMEM;
	return make_unique(x->unique);
}

/* Kill what is left and let everything go. */
static void
executor_done(struct executor *x)
{
	struct lease *l;

	while (!LIST_EMPTY(&x->peers))
		peer_end(x, LIST_FIRST(&x->peers));
	executor_backend_done(x);
	while ((l = LIST_FIRST(&x->leases)) != NULL) {
		lease_kill(l);
		LIST_REMOVE(l, link);
		(void)placeholder_release(&l->hold);
		lease_free(l);
	}
	placeholder_done(&x->placeholders);
	sockets_done(&x->sockets);
	if (x->removing)
		source_close(&x->remover);
	executor_http_done(x);
	for (size_t i = 0; x->sessions != NULL && i < x->slot_count; i++)
		session_free(x->sessions[i]);
	free(x->sessions);
	/* Before the channel: at its end the supervisor kills us. */
	cgroup_tree_close(x->cgroups);
	config_drop(x->next);
	config_drop(x->config);
	channel_free(x->supervisor);
	fd_close(&x->epfd);
}

static void
tell_stopped(struct executor *x)
{
	const struct msg_exec_stopped m = {.leases = x->stop_leases};

	if (x->lease_count > 0)
		log_warn("stop_timeout leases=%u", x->lease_count);
	if (channel_send_exec_stopped(x->supervisor, &m, NULL, 0) < 0)
		log_warn("stopped_unheard");
}

int
executor_run(struct exec_config *config, const struct probe *probe,
    struct cgroup_tree *cgroups, struct channel *supervisor, struct err *e)
{
	struct executor x = {.config = config_hold(config),
	    .probe = probe,
	    .cgroups = cgroups,
	    .epfd = -1};
	int r = executor_init(&x, supervisor);

	oom_open(&x.oom);
	if (r == 0)
		executor_inspect(&x);
	if (r == 0)
		r = settle_channels(&x);
	if (r == 0)
		r = loop(&x);
	if (r == 0)
		tell_stopped(&x);
	oom_close(&x.oom);
	executor_done(&x);
	return r < 0 ? err_errno(e, -r, "loop") : 0;
}
