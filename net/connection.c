#include "net/connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/log.h"
#include "net/connection_audit.h"
#include "net/fs_handle.h"
#include "net/rpc.h"
#include "net/session.h"

/* Messages that may wait to be sent before no more requests are read. */
#define ANSWERS_MAX	    4096
/* How long a connection that we close waits for the peer's close frame. */
#define CLOSE_LINGER_MS	    1000
/* The same when it goes on sending, altogether. */
#define CLOSE_LINGER_MAX_MS 15000
/* Messages up to this size are not counted on the global budget. */
#define UNCOUNTED_MAX	    (64u * 1024u)

static void
deadline_passed(struct timer *t)
{
	struct connection *c = container_of(t, struct connection, deadline);

	log_info("connection_timeout peer=%s phase=%s", c->peer,
	    c->lifecycle == LIFECYCLE_HANDSHAKE ? "handshake" : "initialize");
	if (c->lifecycle != LIFECYCLE_HANDSHAKE) {
		connection_close(c, 1008, "initialize timeout");
		return;
	}
	/* Mid-handshake there is no WebSocket to close in order. */
	lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

static void
ping_passed(struct timer *t)
{
	struct connection *c = container_of(t, struct connection, ping);

	c->ping_due = true;
	(void)lws_callback_on_writable(c->wsi);
	timer_set(c->net->lws, &c->ping, c->net->config.limits.ping_interval,
	    ping_passed);
}

struct connection *
connection_new(struct net *n, const char *peer)
{
	struct connection *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->net = n;
	c->serial = ++n->last_connection;
	(void)snprintf(c->peer, sizeof c->peer, "%s", peer);
	buf_init(&c->in, RPC_MESSAGE_MAX);
	TAILQ_INIT(&c->out);
	TAILQ_INIT(&c->handles);
	TAILQ_INIT(&c->watches);
	TAILQ_INSERT_TAIL(&n->connections, c, link);
	n->connection_count++;
	timer_set(n->lws, &c->deadline, n->config.limits.handshake_timeout,
	    deadline_passed);
	return c;
}

static void
outgoing_pop(struct connection *c)
{
	struct outgoing *o = TAILQ_FIRST(&c->out);

	TAILQ_REMOVE(&c->out, o, link);
	c->out_bytes -= o->text.len;
	c->out_count--;
	c->net->file_answers -= o->fd >= 0;
	net_release(c->net, o->charged);
	buf_done(&o->text);
	fd_close(&o->fd);
	free(o);
}

static void
release_input(struct connection *c)
{
	net_release(c->net, c->in_charged);
	c->in_charged = 0;
	c->in_raw = 0;
	splitter_reset(&c->splitter);
	timer_clear(&c->message);
	/* A large buffer would stay with an idle connection. */
	if (c->in.cap > UNCOUNTED_MAX)
		buf_done(&c->in);
	else
		buf_clear(&c->in);
}

void
connection_free(struct connection *c)
{
	if (c == NULL)
		return;
	connection_audit_close(c);
	fs_handle_connection_gone(c);
	if (c->session != NULL)
		session_detach(c->session);
	timer_clear(&c->deadline);
	timer_clear(&c->ping);
	timer_clear(&c->message);
	while (!TAILQ_EMPTY(&c->out))
		outgoing_pop(c);
	release_input(c);
	buf_done(&c->in);
	TAILQ_REMOVE(&c->net->connections, c, link);
	c->net->connection_count--;
	net_drain_check(c->net);
	free(c);
}

void
connection_opened(struct connection *c)
{
	const struct limits *l = &c->net->config.limits;

	c->lifecycle = LIFECYCLE_OPEN;
	connection_audit_open(c);
	if (c->close_code != 0)
		return; /* decided during the handshake, with its own deadline
			 */
	timer_set(c->net->lws, &c->deadline, l->initialize_timeout,
	    deadline_passed);
	timer_set(c->net->lws, &c->ping, l->ping_interval, ping_passed);
}

/* Half a message must not hold its share of the budget for good. */
static void
message_passed(struct timer *t)
{
	connection_close(container_of(t, struct connection, message), 1008,
	    "message timeout");
}

/* Count size bytes of this message on the global budget. */
static int
charge(struct connection *c, size_t size)
{
	uint64_t more;

	if (size <= UNCOUNTED_MAX || size <= c->in_charged)
		return 0;
	more = size - c->in_charged;
	if (net_charge(c->net, more) < 0)
		return -ENOBUFS;
	if (c->in_charged == 0)
		timer_set(c->net->lws, &c->message,
		    c->net->config.limits.message_timeout, message_passed);
	c->in_charged = size;
	return 0;
}

/* A message that came in one piece is handled where it lies. */
static int
append_whole(struct connection *c, const void *data, size_t len)
{
	rpc_handle(c, (struct bytes){.data = data, .len = len});
	return 0;
}

int
connection_append(struct connection *c, const void *data, size_t len,
    size_t remaining, bool final)
{
	size_t room = RPC_MESSAGE_MAX - c->in_raw;
	int r;

	if (len > room || remaining > room - len)
		return -EMSGSIZE;
	if (final && c->in_raw == 0 && len <= UNCOUNTED_MAX)
		return append_whole(c, data, len);
	if (c->in_raw == 0) {
		r = splitter_init(&c->splitter);
		if (r < 0)
			return r;
	}
	c->in_raw += len;
	r = charge(c, c->in.len + splitter_blob_bytes(&c->splitter) + len);
	if (r == 0)
		r = splitter_feed(&c->splitter, &c->in, data, len);
	if (r < 0 || !final)
		return r;
	rpc_handle(c, (struct bytes){.data = c->in.data, .len = c->in.len});
	release_input(c);
	return 0;
}

int
connection_message(struct buf *text)
{
	buf_init(text, SIZE_MAX / 2);
	if (buf_reserve(text, LWS_PRE + 256) < 0)
		return -ENOMEM;
	text->len = LWS_PRE;
	return 0;
}

void
connection_queue(struct connection *c, struct buf *text)
{
	connection_queue_file(c, text, -1, 0, "");
}

void
connection_queue_file(struct connection *c, struct buf *text, int fd,
    uint64_t charged, const char *tail)
{
	struct outgoing *o = NULL;

	if (c->close_code == 0) {
		o = calloc(1, sizeof *o);
		/* A lost answer would hang its request. */
		if (o == NULL)
			connection_close(c, 1011, "out of memory");
	}
	if (o == NULL) {
		buf_done(text);
		fd_close(&fd);
		net_release(c->net, charged);
		return;
	}
	o->text = *text;
	o->fd = fd;
	o->charged = charged;
	o->tail = tail;
	*text = (struct buf){0};
	TAILQ_INSERT_TAIL(&c->out, o, link);
	c->out_bytes += o->text.len;
	c->out_count++;
	c->net->file_answers += fd >= 0;
	(void)lws_callback_on_writable(c->wsi);
}

static void
linger_passed(struct timer *t)
{
	struct connection *c = container_of(t, struct connection, deadline);

	lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void
connection_linger(struct connection *c)
{
	if (timer_now_ms() < c->linger_until_ms)
		timer_set(c->net->lws, &c->deadline, CLOSE_LINGER_MS,
		    linger_passed);
}

void
connection_discarded(struct connection *c)
{
	if (framewatch_closed(&c->framewatch))
		timer_set(c->net->lws, &c->deadline, 0, linger_passed);
	else
		connection_linger(c);
}

void
connection_close(struct connection *c, uint16_t code, const char *reason)
{
	if (c->close_code != 0)
		return;
	log_info("connection_close peer=%s code=%u reason=%s", c->peer, code,
	    reason);
	c->linger_until_ms = timer_now_ms() + CLOSE_LINGER_MAX_MS;
	connection_linger(c);
	c->close_code = code;
	c->close_reason = reason;
	(void)lws_callback_on_writable(c->wsi);
}

bool
connection_is_flooded(const struct connection *c)
{
	return c->out_bytes > 2 * c->net->config.limits.queue_max ||
	       c->out_count > ANSWERS_MAX;
}

bool
connection_is_full(const struct connection *c)
{
	return c->out_bytes > c->net->config.limits.queue_max;
}

/* The next fragment of o's text. */
static struct bytes
next_text(struct outgoing *o)
{
	size_t left = o->text.len - LWS_PRE - o->sent;
	struct bytes piece = {.data = o->text.data + LWS_PRE + o->sent,
	    .len = left};

	if (left > RPC_FRAGMENT_MAX)
		piece.len = RPC_FRAGMENT_MAX;
	o->sent += piece.len;
	o->over = piece.len == left && o->fd < 0;
	return piece;
}

/* The next fragment of o's file, or after its end the tail. */
static struct bytes
next_of_file(struct net *n, struct outgoing *o, int *error)
{
	uint8_t *raw = n->file_raw, *out = n->file_text + LWS_PRE;
	size_t len = 0;

	while (len < sizeof n->file_raw) {
		ssize_t got = pread(o->fd, raw + len, sizeof n->file_raw - len,
		    (off_t)(o->offset + len));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || o->offset + len > FS_READ_MAX) {
			*error = -EIO;
			return (struct bytes){0};
		}
		if (got == 0)
			break;
		len += (size_t)got;
	}
	o->offset += len;
	o->over = len < sizeof n->file_raw;
	len = base64_encode((char *)out, raw, len);
	if (o->over) {
		memcpy(out + len, o->tail, strlen(o->tail));
		len += strlen(o->tail);
	}
	return (struct bytes){.data = out, .len = len};
}

/* Take requests again once half of what is too much has gone. */
static void
resume_reading(struct connection *c)
{
	if (!c->rx_paused || c->out_bytes > c->net->config.limits.queue_max ||
	    c->out_count > ANSWERS_MAX / 2)
		return;
	c->rx_paused = false;
	(void)lws_rx_flow_control(c->wsi, 1);
}

struct bytes
connection_next(struct connection *c, bool *first, bool *final, int *error)
{
	struct outgoing *o = TAILQ_FIRST(&c->out);
	struct bytes piece;

	*error = 0;
	if (o != NULL && o->over) {
		outgoing_pop(c);
		o = TAILQ_FIRST(&c->out);
		/* The queue got shorter: streams may go on. */
		if (c->session != NULL &&
		    c->out_bytes <= c->net->config.limits.queue_max / 2)
			session_resume_streams(c->session);
		resume_reading(c);
	}
	if (o == NULL)
		return (struct bytes){0};
	*first = o->sent == 0;
	piece = o->sent < o->text.len - LWS_PRE
		    ? next_text(o)
		    : next_of_file(c->net, o, error);
	*final = o->over;
	return piece;
}

struct connection *
connection_find(struct net *n, uint64_t serial)
{
	struct connection *c;

	TAILQ_FOREACH (c, &n->connections, link)
		if (c->serial == serial)
			return c;
	return NULL;
}
