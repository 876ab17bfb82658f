/* The session's sallyport-http: its opening, its channel and its end. */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "net/http.h"

static void channel_ready(struct watch *watch, uint32_t events);

static void
watch_channel(struct http_client *h)
{
	struct net *n = h->session->net;
	uint32_t out = channel_pending(h->channel) ? EPOLLOUT : 0u;

	if (poller_watch(n->poller, &h->watch, EPOLLIN | out) < 0)
		net_stop(n, 1);
}

/* --- its end ------------------------------------------------------------- */

/* What is left is forgotten without a word. */
static void
client_free(struct http_client *h)
{
	struct net *n = h->session->net;

	while (!TAILQ_EMPTY(&h->requests))
		http_request_free(TAILQ_FIRST(&h->requests));
	timer_clear(&h->timer);
	if (h->channel != NULL) {
		poller_forget(n->poller, &h->watch);
		channel_free(h->channel);
	}
	h->session->http = NULL;
	free(h);
}

static void
client_fail(struct http_client *h, int code, const char *text)
{
	while (!TAILQ_EMPTY(&h->requests))
		http_fail(TAILQ_FIRST(&h->requests), code, text);
	client_free(h);
}

void
http_discard(struct http_client *h, const char *why)
{
	struct net *n = h->session->net;

	log_info("http_gone session=%u reason=\"%s\"", h->session->id.v, why);
	net_order(n, http_kill, .session = h->session->id.v);
	client_fail(h, RPC_INTERNAL, why);
}

void
http_end(struct session *s)
{
	if (s->http != NULL)
		client_free(s->http);
}

static void
idle_passed(struct timer *t)
{
	client_free(container_of(t, struct http_client, timer));
}

static void
opening_passed(struct timer *t)
{
	http_discard(container_of(t, struct http_client, timer),
	    "http/request failed: the http client took too long to start");
}

/* --- requests ------------------------------------------------------------ */

static int
send_request(struct http_request *r)
{
	const struct msg_http_request m = {.number = r->number,
	    .flags = r->flags,
	    .timeout_ms = r->timeout_ms,
	    .method = bytes_of(r->method),
	    .url = r->url,
	    .headers = {.data = r->headers.data, .len = r->headers.len}};
	int fd = fd_take(&r->body_fd);
	int rc =
	    channel_send_http_request(r->client->channel, &m, &fd, fd >= 0);

	buf_done(&r->headers);
	return rc;
}

/* With nothing to do it ends after a while. */
static void
settle(struct http_client *h)
{
	struct net *n = h->session->net;

	if (TAILQ_EMPTY(&h->requests))
		timer_set(n->lws, &h->timer, n->config.limits.worker_idle,
		    idle_passed);
	watch_channel(h);
}

static void
send_or_fail(struct http_request *r)
{
	struct http_client *h = r->client;
	int rc = send_request(r);

	if (rc == 0)
		watch_channel(h);
	else if (rc == -ENOBUFS || rc == -EMSGSIZE)
		http_fail(r, RPC_INVALID_REQUEST,
		    "busy: too much is waiting for the http client; try again "
		    "later");
	else
		http_discard(h,
		    "http/request failed: the http client has gone");
}

/* Ask exec for one. */
static struct http_client *
client_open(struct session *s)
{
	struct net *n = s->net;
	struct http_client *h = calloc(1, sizeof *h);

	if (h == NULL)
		return NULL;
	h->session = s;
	h->number = ++n->last_number;
	TAILQ_INIT(&h->requests);
	if (net_exec(n, http_open, .number = h->number, .session = s->id.v) <
	    0) {
		free(h);
		return NULL;
	}
	timer_set(n->lws, &h->timer, n->config.limits.fs_deadline,
	    opening_passed);
	s->http = h;
	return h;
}

void
http_submit(struct session *s, struct http_request *r)
{
	struct http_client *h = s->http;

	if (h == NULL)
		h = client_open(s);
	if (h == NULL) {
		http_fail(r, RPC_INVALID_REQUEST,
		    "busy: no http client can be started now; try again "
		    "later");
		return;
	}
	r->client = h;
	r->number = ++s->net->last_number;
	TAILQ_INSERT_TAIL(&h->requests, r, link);
	if (h->channel == NULL)
		return;
	timer_clear(&h->timer);
	send_or_fail(r);
	if (s->http != NULL)
		settle(s->http);
}

/* --- flow ---------------------------------------------------------------- */

/* How much of a stream may wait on a connection. */
static bool
takes_more(const struct connection *c)
{
	uint64_t max = c->net->config.limits.queue_max / 2;

	return c->out_bytes <= (max < HTTP_WINDOW ? max : HTTP_WINDOW);
}

void
http_grant(struct http_request *r)
{
	struct http_client *h = r->client;
	const struct connection *c = h->session->connection;
	const struct msg_http_credit m = {.number = r->number, .len = r->owed};

	if (r->owed < HTTP_WINDOW / 4 || c == NULL || !takes_more(c))
		return;
	r->owed = 0;
	/* If it cannot be told its channel is broken and that will be seen. */
	if (channel_send_http_credit(h->channel, &m, NULL, 0) < 0)
		log_debug("http_credit_unsent session=%u", h->session->id.v);
	watch_channel(h);
}

void
http_resume(struct session *s)
{
	struct http_request *r;

	if (s->http == NULL || s->http->channel == NULL)
		return;
	TAILQ_FOREACH (r, &s->http->requests, link)
		http_grant(r);
}

/* --- from the client ----------------------------------------------------- */

static struct http_request *
by_number(const struct http_client *h, uint32_t number)
{
	struct http_request *r;

	TAILQ_FOREACH (r, &h->requests, link)
		if (r->number == number)
			return r;
	return NULL;
}

/* Every message begins with the number of its request. */
static bool
on_message(struct http_client *h, struct msg *m)
{
	struct http_request *r = by_number(h, m->u.http_done.number);

	/* Messages cross: one of ours may have been given up. */
	return r == NULL || http_answer(r, m);
}

/* Records handled per event, so that one client does not starve the rest. */
#define RECORDS_PER_EVENT 8

static void
channel_ready(struct watch *watch, uint32_t events)
{
	struct http_client *h = container_of(watch, struct http_client, watch);
	struct err e = {0};
	struct msg m;
	int r = channel_flush(h->channel);

	(void)events;
	for (int i = 0; r >= 0 && i < RECORDS_PER_EVENT; i++) {
		r = channel_recv(h->channel, &m, &e);
		if (r <= 0)
			break;
		if (!on_message(h, &m))
			r = -EPROTO;
		msg_done(&m);
	}
	if (r > 0 || r == -EAGAIN) {
		settle(h);
		return;
	}
	http_discard(h,
	    r == -EPROTO
		? "http/request failed: the http client broke the contract"
		: "http/request failed: the http client has gone");
}

/* --- from exec ----------------------------------------------------------- */

static struct http_client *
opening(struct net *n, uint32_t number)
{
	struct session *s;

	TAILQ_FOREACH (s, &n->sessions, link)
		if (s->http != NULL && s->http->channel == NULL &&
		    s->http->number == number)
			return s->http;
	return NULL;
}

void
http_on_opened(struct net *n, struct msg *m)
{
	struct http_client *h = opening(n, m->u.http_opened.number);
	struct http_request *r, *next;

	/* Given up meanwhile: it ends with the channel. */
	if (h == NULL)
		return;
	timer_clear(&h->timer);
	h->channel = channel_new(msg_take_fd(m, 0), ROLE_NET, ROLE_HTTP);
	if (h->channel == NULL) {
		http_discard(h, "out of memory");
		return;
	}
	h->watch.fd = channel_fd(h->channel);
	h->watch.fn = channel_ready;
	for (r = TAILQ_FIRST(&h->requests); r != NULL; r = next) {
		struct session *s = h->session;

		next = TAILQ_NEXT(r, link);
		send_or_fail(r);
		if (s->http == NULL)
			return;
	}
	settle(h);
}

void
http_on_refused(struct net *n, const struct msg_http_refused *m)
{
	struct http_client *h = opening(n, m->number);
	char text[512];

	if (h == NULL)
		return;
	(void)snprintf(text, sizeof text, "%.*s", (int)m->text.len,
	    (const char *)m->text.data);
	client_fail(h,
	    m->reason == REFUSE_BUSY ? RPC_INVALID_REQUEST : RPC_INTERNAL,
	    text);
}
