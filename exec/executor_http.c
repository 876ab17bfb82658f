/* sallyport-http: opened for net, and handed over once it is locked down. */
#include "exec/executor_http.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/log.h"
#include "exec/executor.h"
#include "exec/http_start.h"

/* --- one process --------------------------------------------------------- */

static void
answer_refused(struct executor *x, struct generation generation,
    uint32_t number, enum refuse_reason reason, const char *text)
{
	const struct msg_http_refused m = {.number = number,
	    .reason = (uint32_t)reason,
	    .text = bytes_of(text)};
	struct peer *p = executor_peer(x, generation);

	if (p != NULL)
		executor_sent(p,
		    channel_send_http_refused(p->channel, &m, NULL, 0));
}

/* Stop listening to it; its end, if it is not killed, becomes net's. */
static void
channel_done(struct http *h)
{
	source_forget(&h->ready);
	h->ready.fd = -1;
	channel_free(h->channel);
	h->channel = NULL;
}

static void
http_free(struct http *h)
{
	channel_done(h);
	fd_close(&h->net_end);
	source_close(&h->pidfd);
	free(h);
}

static void
http_kill(const struct http *h)
{
	(void)raw_pidfd_signal(h->pidfd.fd, SIGKILL);
}

static void
pidfd_ready(struct executor *x, struct source *source)
{
	struct http *h = source->owner;
	siginfo_t info = {0};

	(void)waitid(P_PIDFD, (id_t)h->pidfd.fd, &info, WEXITED | WNOHANG);
	if (info.si_code != CLD_EXITED || info.si_status != 0)
		log_info("http_gone session=%u generation=%u signal=%d",
		    h->session.v, h->generation.v,
		    info.si_code == CLD_EXITED ? 0 : info.si_status);
	if (h->number != 0)
		answer_refused(x, h->generation, h->number, REFUSE_SESSION,
		    "the http client could not be started");
	LIST_REMOVE(h, link);
	http_free(h);
}

bool
http_is_locked_down(const struct http *h, const struct msg_http_ready *m)
{
	bool root = h->uid != 0;

	return m->caps == 0 && m->no_new_privs == 1 && m->dumpable == 0 &&
	       m->seccomp == SECCOMP_MODE_FILTER && m->uid != 0 &&
	       (!root || (m->uid == h->uid && m->gid == h->gid));
}

static void
hand_over(struct executor *x, struct http *h)
{
	const struct msg_http_opened m = {.number = h->number};
	struct peer *p = executor_peer(x, h->generation);
	int fd = fd_take(&h->net_end);

	channel_done(h);
	h->number = 0;
	if (p != NULL)
		executor_sent(p,
		    channel_send_http_opened(p->channel, &m, &fd, 1));
	else
		fd_close(&fd);
}

static void
ready(struct executor *x, struct source *source)
{
	struct http *h = source->owner;
	struct err e = {0};
	struct msg m;
	int r = channel_recv(h->channel, &m, &e);
	bool good;

	if (r == -EAGAIN)
		return;
	/* At its end or broken; either way its pidfd will tell. */
	if (r <= 0) {
		channel_done(h);
		http_kill(h);
		return;
	}
	good = http_is_locked_down(h, &m.u.http_ready);
	msg_done(&m);
	if (good) {
		hand_over(x, h);
		return;
	}
	log_error("http_lockdown session=%u effect=\"it is ended\"",
	    h->session.v);
	channel_done(h);
	http_kill(h);
}

/* --- from net ------------------------------------------------------------ */

/* Put the configuration into the channel, where it will be found first. */
static int
send_config(const struct exec_config *config, struct channel *c)
{
	const struct http_plan *p = &config->http;
	const struct msg_http_config m = {.uid = p->uid,
	    .gid = p->gid,
	    .log_level = config->log_level,
	    .bare = config->bare,
	    .policy = {.data = p->policy, .len = p->policy_len}};
	int r = channel_send_http_config(c, &m, NULL, 0);

	return r == 0 && channel_pending(c) ? -EAGAIN : r;
}

/* h's two views of one end, and in *theirs the other end. */
static int
make_channel(const struct exec_config *c, struct http *h, int *theirs)
{
	int ends[2], own;
	int r = channel_pair(ends);

	if (r < 0)
		return r;
	*theirs = ends[1];
	h->net_end = ends[0];
	own = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return -errno;
	h->channel = channel_new(own, ROLE_EXEC, ROLE_HTTP);
	return h->channel == NULL ? -ENOMEM : send_config(c, h->channel);
}

static int
start(struct executor *x, const struct exec_config *c, struct http *h)
{
	scoped_fd theirs = -1;
	int r = make_channel(c, h, &theirs);

	if (r < 0)
		return r;
	r = http_start(c->http.binary_fd, theirs);
	if (r < 0)
		return r;
	h->pidfd.fd = r;
	h->ready.fd = channel_fd(h->channel);
	r = source_watch(x->epfd, &h->pidfd, EPOLLIN);
	if (r == 0)
		r = source_watch(x->epfd, &h->ready, EPOLLIN);
	if (r < 0)
		http_kill(h);
	return r;
}

static struct http *
find(const struct executor *x, struct generation generation, uint32_t session)
{
	struct http *h;

	LIST_FOREACH (h, &x->https, link)
		if (h->generation.v == generation.v && h->session.v == session)
			return h;
	return NULL;
}

/* As many as there are sessions, and as many that are being ended. */
static bool
are_too_many(const struct executor *x)
{
	unsigned int count = 0;
	struct http *h;

	LIST_FOREACH (h, &x->https, link)
		count++;
	return count >= x->slot_count;
}

static void
open_in(struct executor *x, struct session *s, uint32_t number)
{
	struct http *h = are_too_many(x) ? NULL : calloc(1, sizeof *h);
	int r = -ENOMEM;

	if (h != NULL) {
		h->generation = s->generation;
		h->session = s->id;
		h->number = number;
		h->uid = s->config->http.uid;
		h->gid = s->config->http.gid;
		h->net_end = -1;
		h->pidfd =
		    (struct source){.fd = -1, .ready = pidfd_ready, .owner = h};
		h->ready =
		    (struct source){.fd = -1, .ready = ready, .owner = h};
		r = start(x, s->config, h);
	}
	if (r == 0) {
		LIST_INSERT_HEAD(&x->https, h, link);
		return;
	}
	log_error("http_start session=%u errno=%d", s->id.v, -r);
	if (h != NULL)
		http_free(h);
	answer_refused(x, s->generation, number, REFUSE_BUSY,
	    "busy: no http client can be started now; try again later");
}

int
executor_on_http_open(struct executor *x, struct peer *p, const struct msg *msg,
    struct err *e)
{
	const struct msg_http_open *m = &msg->u.http_open;
	struct session *s = executor_session(x, p->generation, m->session);
	struct http *before = find(x, p->generation, m->session);

	if (s == NULL || m->number == 0)
		return err_set(e, EPROTO, "http in session %u", m->session);
	/* Net has given that one up. */
	if (before != NULL)
		http_kill(before);
	if (s->config->http.binary_fd < 0)
		answer_refused(x, p->generation, m->number, REFUSE_POLICY,
		    "http/request is not allowed by the policy of this server "
		    "(http.enabled decides)");
	else
		open_in(x, s, m->number);
	return 0;
}

int
executor_on_http_kill(struct executor *x, struct peer *p, const struct msg *msg,
    struct err *e)
{
	(void)e;
	executor_http_end(x, p->generation, msg->u.http_kill.session);
	return 0;
}

void
executor_http_end(struct executor *x, struct generation generation,
    uint32_t session)
{
	struct http *h;

	LIST_FOREACH (h, &x->https, link)
		if (h->generation.v == generation.v && h->session.v == session)
			http_kill(h);
}

void
executor_http_done(struct executor *x)
{
	struct http *h;

	while ((h = LIST_FIRST(&x->https)) != NULL) {
		http_kill(h);
		LIST_REMOVE(h, link);
		http_free(h);
	}
}
