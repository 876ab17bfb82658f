#include "cli/client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libwebsockets.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"

/* Between signs of life while nothing is read, so that neither the
 * server nor a proxy takes a connection for dead whose user has stopped the
 * output. */
#define HEARTBEAT_MS 10000
/* For the close handshake at the end. */
#define CLOSE_MS     250
/* Bytes read from the socket at a time. */
#define RX_SIZE	     (64u * 1024u)

enum client_state {
	CLIENT_CONNECTING,
	CLIENT_OPEN,
	CLIENT_CLOSING,
	CLIENT_LOST
};

struct frame {
	struct frame *next;
	size_t len;
	uint8_t data[]; /* LWS_PRE bytes that the library uses, then the text */
};

struct client {
	struct lws_context *context;
	struct lws *wsi; /* NULL once lost */
	enum client_state state;
	bool reading;
	bool woken;
	bool heartbeat;
	int64_t last_id;
	int64_t last_sent_ms;
	int timeout_ms;
	struct frame *out, **out_end;
	struct buf in;	 /* the message being received */
	json_t *inbox;	 /* an array of whole messages */
	json_t *answer;	 /* to awaited */
	int64_t awaited; /* the request that client_call waits for, or 0 */
	lws_sorted_usec_list_t timer;
	struct err reason; /* why the connection was lost */
};

static void
client_lose(struct client *c, int code, const char *reason, size_t len)
{
	if (c->reason.code == 0)
		(void)err_set(&c->reason, code, "%.*s", (int)len, reason);
	c->state = CLIENT_LOST;
	c->wsi = NULL;
	c->woken = true;
}

/* Drop a connection that broke the rules. The return value closes it. */
static int
client_refuse(struct client *c, int code, const char *reason)
{
	if (c->reason.code == 0)
		(void)err_set(&c->reason, code, "%s", reason);
	return -1;
}

/* Reading goes on when the inbox has room. */
static void
set_reading(struct client *c)
{
	bool wanted = json_array_size(c->inbox) < CLIENT_INBOX_MAX;

	if (wanted == c->reading || c->wsi == NULL)
		return;
	c->reading = wanted;
	(void)lws_rx_flow_control(c->wsi, wanted);
}

static bool
is_answer_to(const json_t *message, int64_t id)
{
	const json_t *value = json_object_get(message, "id");

	return id != 0 && json_is_integer(value) &&
	       json_integer_value(value) == id;
}

static int
on_message(struct client *c)
{
	json_t *message = json_loadb((const char *)c->in.data, c->in.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

	buf_clear(&c->in);
	if (!json_is_object(message)) {
		json_decref(message);
		return client_refuse(c, EPROTO, "the server sent no JSON-RPC");
	}
	c->woken = true;
	if (c->answer == NULL && is_answer_to(message, c->awaited)) {
		c->answer = message;
		return 0;
	}
	if (json_array_append_new(c->inbox, message) < 0)
		return client_refuse(c, ENOMEM, "out of memory");
	set_reading(c);
	return 0;
}

static int
on_receive(struct client *c, const void *data, size_t len)
{
	int r = buf_put(&c->in, data, len);

	if (r < 0)
		return client_refuse(c, -r,
		    "a message of the server is too large");
	if (!lws_is_final_fragment(c->wsi) ||
	    lws_remaining_packet_payload(c->wsi) > 0)
		return 0;
	return on_message(c);
}

static int
on_writable(struct client *c)
{
	uint8_t pong[LWS_PRE + 1];
	struct frame *frame = c->out;
	int n;

	if (frame == NULL && c->state == CLIENT_CLOSING) {
		lws_close_reason(c->wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
		return -1;
	}
	c->last_sent_ms = clock_ms();
	if (frame == NULL) {
		if (!c->heartbeat)
			return 0;
		c->heartbeat = false;
		return lws_write(c->wsi, pong + LWS_PRE, 0, LWS_WRITE_PONG);
	}
	n = lws_write(c->wsi, frame->data + LWS_PRE, frame->len,
	    LWS_WRITE_TEXT);
	c->out = frame->next;
	if (c->out == NULL)
		c->out_end = &c->out;
	free(frame);
	if (n < 0)
		return -1;
	if (c->out != NULL || c->state == CLIENT_CLOSING)
		(void)lws_callback_on_writable(c->wsi);
	return 0;
}

/* Keep what the close frame says: two bytes of code, then a text. */
static int
on_peer_close(struct client *c, const uint8_t *data, size_t len)
{
	unsigned int code =
	    len < 2 ? 1005 : (unsigned int)data[0] << 8 | data[1];
	int reason_len = len < 2 ? 0 : (int)len - 2;

	if (c->reason.code == 0)
		(void)err_set(&c->reason, ECONNRESET,
		    "the server closed the connection (%u%s%.*s)", code,
		    reason_len > 0 ? " " : "", reason_len,
		    reason_len > 0 ? (const char *)data + 2 : "");
	return 0;
}

static int
on_connection_error(struct client *c, struct lws *wsi, const char *text,
    size_t len)
{
	unsigned int status = lws_http_client_http_response(wsi);

	/* It names the path wrong (404), the token (401), ... */
	if (c->reason.code == 0 && status != 0 && status != 101)
		(void)err_set(&c->reason, EACCES,
		    "the server answered with HTTP status %u", status);
	client_lose(c, ECONNREFUSED, text, text != NULL ? len : 0);
	return 0;
}

static int
on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct client *c = lws_context_user(lws_get_context(wsi));
	static const char lost[] = "the connection was lost";

	(void)user;
	/* The library raises many more; the rest is not for us. */
	switch ((int)reason) {
	case LWS_CALLBACK_RAW_RX_FILE:
		c->woken = true;
		return 0;
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		c->state = CLIENT_OPEN;
		c->reading = true;
		c->woken = true;
		return 0;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		return on_receive(c, in, len);
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return on_writable(c);
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		return on_peer_close(c, in, len);
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		return on_connection_error(c, wsi, in, len);
	case LWS_CALLBACK_CLIENT_CLOSED:
		client_lose(c, ECONNRESET, lost, strlen(lost));
		return 0;
	default:
		return 0;
	}
}

static const struct lws_protocols protocols[] = {
    {
	.name = "exec-server",
	.callback = on_event,
	.rx_buffer_size = RX_SIZE,
    },
    {.name = NULL},
};

static int
make_context(struct client *c, struct err *e)
{
	struct lws_context_creation_info info = {
	    .port = CONTEXT_PORT_NO_LISTEN,
	    .protocols = protocols,
	    .user = c,
	    .pt_serv_buf_size = RX_SIZE,
	    .fd_limit_per_thread = 32,
	    .gid = -1,
	    .uid = -1,
	    /* A dead host is noticed by TCP, also while nothing is read. */
	    .ka_time = 30,
	    .ka_probes = 3,
	    .ka_interval = 10,
	};

	lws_set_log_level(0, NULL);
	c->context = lws_create_context(&info);
	if (c->context == NULL)
		return err_set(e, ENOMEM,
		    "cannot set up the WebSocket library");
	return 0;
}

/* The library closes what it adopts, hence the copy. */
static int
watch(struct client *c, int watch_fd, struct err *e)
{
	lws_sock_file_fd_type fd = {
	    .filefd = fcntl(watch_fd, F_DUPFD_CLOEXEC, 0),
	};
	struct lws_vhost *vhost = lws_get_vhost_by_name(c->context, "default");

	if (fd.filefd < 0)
		return err_errno(e, errno, "cannot copy a descriptor");
	if (lws_adopt_descriptor_vhost(vhost, LWS_ADOPT_RAW_FILE_DESC, fd,
		protocols[0].name, NULL) == NULL)
		return err_set(e, ENOMEM, "cannot watch descriptors");
	return 0;
}

static void
start_connecting(struct client *c, const struct url *url)
{
	/* No pings and no idle limit of the library's: see HEARTBEAT_MS. */
	static const lws_retry_bo_t never = {.secs_since_valid_ping = 0};
	struct lws_client_connect_info info = {
	    .context = c->context,
	    .address = url->host,
	    .port = url->port,
	    .path = url->path,
	    .host = url->authority,
	    .local_protocol_name = protocols[0].name,
	    .ietf_version_or_minus_one = -1,
	    .retry_and_idle_policy = &never,
	    .pwsi = &c->wsi,
	};

	if (lws_client_connect_via_info(&info) == NULL &&
	    c->state != CLIENT_LOST)
		client_lose(c, EHOSTUNREACH, "no such host", 12);
}

static bool
is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static int
connect_wait(struct client *c, const struct client_opts *o, struct err *e)
{
	const struct url *url = o->url;
	int64_t deadline = clock_ms() + c->timeout_ms;

	while (c->state == CLIENT_CONNECTING && clock_ms() < deadline) {
		if (o->watch_ends && is_readable(o->watch_fd))
			return err_set(e, EINTR, "asked to end");
		client_wait(c, (int)(deadline - clock_ms()));
	}
	if (c->state == CLIENT_OPEN)
		return 0;
	if (c->state == CLIENT_CONNECTING)
		return err_set(e, ETIMEDOUT, "%s did not answer in time",
		    url->authority);
	return err_set(e, c->reason.code, "cannot connect to %s: %s",
	    url->authority, c->reason.text);
}

int
client_open(const struct client_opts *o, struct client **out, struct err *e)
{
	struct client *c = calloc(1, sizeof *c);
	int r;

	if (c == NULL)
		return err_set(e, ENOMEM, "out of memory");
	c->out_end = &c->out;
	c->timeout_ms = o->timeout_ms;
	buf_init(&c->in, CLIENT_MESSAGE_MAX);
	c->inbox = json_array();
	r = c->inbox == NULL ? err_set(e, ENOMEM, "out of memory") : 0;
	if (r == 0)
		r = make_context(c, e);
	if (r == 0)
		r = watch(c, o->watch_fd, e);
	if (r == 0) {
		start_connecting(c, o->url);
		r = connect_wait(c, o, e);
	}
	if (r < 0) {
		client_free(c);
		return r;
	}
	*out = c;
	return 0;
}

static void
close_orderly(struct client *c)
{
	int64_t deadline = clock_ms() + CLOSE_MS;

	c->state = CLIENT_CLOSING;
	/* The answer to a close frame must be read. */
	json_array_clear(c->inbox);
	set_reading(c);
	(void)lws_callback_on_writable(c->wsi);
	while (c->state == CLIENT_CLOSING && clock_ms() < deadline)
		client_wait(c, (int)(deadline - clock_ms()));
}

void
client_free(struct client *c)
{
	if (c == NULL)
		return;
	if (c->state == CLIENT_OPEN)
		close_orderly(c);
	lws_sul_cancel(&c->timer);
	if (c->context != NULL)
		lws_context_destroy(c->context);
	while (c->out != NULL) {
		struct frame *frame = c->out;

		c->out = frame->next;
		free(frame);
	}
	json_decref(c->inbox);
	json_decref(c->answer);
	buf_done(&c->in);
	free(c);
}

int
client_peer(const struct client *c, uid_t *uid)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	if (c->wsi == NULL)
		return -ENOTCONN;
	if (getsockopt(lws_get_socket_fd(c->wsi), SOL_SOCKET, SO_PEERCRED,
		&peer, &len) < 0)
		return -errno;
	*uid = peer.uid;
	return 0;
}

int
client_post(struct client *c, json_t *message, struct err *e)
{
	size_t len = json_dumpb(message, NULL, 0, JSON_COMPACT);
	struct frame *frame = NULL;

	if (c->wsi == NULL) {
		json_decref(message);
		return err_set(e, c->reason.code, "%s", c->reason.text);
	}
	if (len > 0)
		frame = malloc(sizeof *frame + LWS_PRE + len);
	if (frame == NULL) {
		json_decref(message);
		return err_set(e, ENOMEM, "out of memory");
	}
	frame->next = NULL;
	frame->len = json_dumpb(message, (char *)frame->data + LWS_PRE, len,
	    JSON_COMPACT);
	json_decref(message);
	*c->out_end = frame;
	c->out_end = &frame->next;
	(void)lws_callback_on_writable(c->wsi);
	return 0;
}

int
client_send(struct client *c, const char *method, json_t *params, int64_t *id,
    struct err *e)
{
	json_t *message = json_pack("{s:I,s:s,s:o}", "id",
	    (json_int_t)(c->last_id + 1), "method", method, "params", params);
	int r;

	if (message == NULL)
		return err_set(e, ENOMEM, "out of memory");
	r = client_post(c, message, e);
	if (r == 0)
		*id = ++c->last_id;
	return r;
}

int
client_notify(struct client *c, const char *method, json_t *params,
    struct err *e)
{
	json_t *message =
	    json_pack("{s:s,s:o}", "method", method, "params", params);

	if (message == NULL)
		return err_set(e, ENOMEM, "out of memory");
	return client_post(c, message, e);
}

static int
take_error(json_t *answer, const char *method, json_t **error, struct err *e)
{
	json_t *value = json_object_get(answer, "error");
	const char *text = json_string_value(json_object_get(value, "message"));

	if (error != NULL)
		*error = json_incref(value);
	return err_set(e, EPROTO, "%s: %s", method,
	    text != NULL ? text : "an error without a message");
}

int
client_call(struct client *c, const char *method, json_t *params,
    json_t **result, json_t **error, struct err *e)
{
	int64_t deadline = clock_ms() + c->timeout_ms;
	int r = client_send(c, method, params, &c->awaited, e);
	json_t *answer;

	if (r < 0)
		return r;
	while (c->answer == NULL && c->wsi != NULL && clock_ms() < deadline)
		client_wait(c, (int)(deadline - clock_ms()));
	answer = c->answer;
	c->answer = NULL;
	c->awaited = 0;
	if (answer == NULL && c->wsi == NULL)
		return err_set(e, c->reason.code, "%s", c->reason.text);
	if (answer == NULL)
		return err_set(e, ETIMEDOUT, "%s: no answer in time", method);
	*result = json_incref(json_object_get(answer, "result"));
	if (*result == NULL)
		r = take_error(answer, method, error, e);
	json_decref(answer);
	return r;
}

static void
on_timer(lws_sorted_usec_list_t *timer)
{
	struct client *c = lws_container_of(timer, struct client, timer);

	/* The library calls us on its way into a poll for the next timer, which
	 * it would wait for. */
	c->woken = true;
	lws_cancel_service(c->context);
}

static int
heartbeat_timeout(struct client *c, int timeout_ms)
{
	int64_t due = c->last_sent_ms + HEARTBEAT_MS - clock_ms();

	if (c->reading || c->wsi == NULL || c->state != CLIENT_OPEN)
		return timeout_ms;
	if (due <= 0) {
		c->heartbeat = true;
		c->last_sent_ms = clock_ms();
		(void)lws_callback_on_writable(c->wsi);
		due = HEARTBEAT_MS;
	}
	return timeout_ms < 0 || timeout_ms > due ? (int)due : timeout_ms;
}

void
client_wait(struct client *c, int timeout_ms)
{
	c->woken = false;
	timeout_ms = heartbeat_timeout(c, timeout_ms);
	if (timeout_ms == 0) {
		(void)lws_service(c->context, -1);
		return;
	}
	if (timeout_ms > 0)
		lws_sul_schedule(c->context, 0, &c->timer, on_timer,
		    (lws_usec_t)timeout_ms * LWS_US_PER_MS);
	while (!c->woken)
		if (lws_service(c->context, 0) < 0)
			break;
	lws_sul_cancel(&c->timer);
}

bool
client_next(struct client *c, struct message *m)
{
	json_t *root = json_array_get(c->inbox, 0);

	if (root == NULL)
		return false;
	json_incref(root);
	(void)json_array_remove(c->inbox, 0);
	set_reading(c);
	message_of(root, m);
	return true;
}

void
message_of(json_t *root, struct message *m)
{
	*m = (struct message){
	    .root = root,
	    .id = json_integer_value(json_object_get(root, "id")),
	    .method = json_string_value(json_object_get(root, "method")),
	    .params = json_object_get(root, "params"),
	    .result = json_object_get(root, "result"),
	    .error = json_object_get(root, "error"),
	};
}

void
message_done(struct message *m)
{
	json_decref(m->root);
	m->root = NULL;
}

int
client_check(const struct client *c, struct err *e)
{
	if (c->wsi != NULL || json_array_size(c->inbox) > 0)
		return 0;
	return err_set(e, c->reason.code, "%s", c->reason.text);
}
