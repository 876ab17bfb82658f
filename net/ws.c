#include "net/ws.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "net/auth.h"
#include "net/connection_audit.h"
#include "net/socket_watch.h"

/* One header block before the upgrade; more is cut off by the library. */
#define HEADER_BYTES	4096
/* Headers that can be in progress at a time, so that memory is bounded. */
#define HEADER_POOL	64
/* A longer message arrives in pieces of this size. */
#define RECEIVE_BYTES	16384
/* Descriptors that are neither connections, streams nor workers: the loop's,
 * the channels, blobs on their way. */
#define OTHER_FDS	512
/* The library keeps 4 for the close frame and has no public name for it; the
 * black-box tests of close codes show that it still means that. */
#define WRITE_CLOSE	((enum lws_write_protocol)4)
/* Messages written per writable event, while the socket takes them. */
#define WRITES_PER_TURN 32

static struct connection *
connection_of(struct lws *wsi)
{
	return lws_get_opaque_user_data(wsi);
}

/* Copy a header into buf; data stays NULL when it is absent or too long. */
static struct bytes
header(struct lws *wsi, enum lws_token_indexes token, char *buf, size_t size)
{
	int len;

	if (lws_hdr_total_length(wsi, token) == 0)
		return (struct bytes){0};
	len = lws_hdr_copy(wsi, buf, (int)size, token);
	if (len < 0)
		return (struct bytes){0};
	return (struct bytes){.data = (uint8_t *)buf, .len = (size_t)len};
}

struct head {
	struct auth_request request;
	char path[256], origin[256], host[256], version[16];
	bool get, is_head;
};

static void
read_head(struct lws *wsi, struct head *h)
{
	struct auth_request *q = &h->request;

	memset(h, 0, sizeof *h);
	q->path = header(wsi, WSI_TOKEN_GET_URI, h->path, sizeof h->path);
	h->get = q->path.data != NULL;
	if (!h->get) {
		q->path =
		    header(wsi, WSI_TOKEN_HEAD_URI, h->path, sizeof h->path);
		h->is_head = q->path.data != NULL;
	}
	if (!h->get && !h->is_head)
		q->path =
		    header(wsi, WSI_TOKEN_POST_URI, h->path, sizeof h->path);
	q->origin = header(wsi, WSI_TOKEN_ORIGIN, h->origin, sizeof h->origin);
	/* An Origin too long to copy is an Origin all the same. */
	if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0 &&
	    q->origin.data == NULL)
		q->origin = bytes_of("too long");
	q->host = header(wsi, WSI_TOKEN_HOST, h->host, sizeof h->host);
	q->version =
	    header(wsi, WSI_TOKEN_VERSION, h->version, sizeof h->version);
}

/* Answer with a status and a short text, and end the connection. */
static int
answer(struct lws *wsi, unsigned int status, const char *text,
    const char *allow)
{
	uint8_t block[LWS_PRE + 512];
	uint8_t *start = block + LWS_PRE, *p = start;
	uint8_t *end = block + sizeof block - 1;
	size_t len = strlen(text);

	if (lws_add_http_header_status(wsi, status, &p, end) != 0 ||
	    lws_add_http_header_content_length(wsi, len, &p, end) != 0 ||
	    lws_add_http_header_by_token(wsi, WSI_TOKEN_CONNECTION,
		(const uint8_t *)"close", 5, &p, end) != 0)
		return -1;
	if (allow != NULL &&
	    lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_ALLOW,
		(const uint8_t *)allow, (int)strlen(allow), &p, end) != 0)
		return -1;
	if (lws_finalize_http_header(wsi, &p, end) != 0)
		return -1;
	if (len < (size_t)(end - p)) {
		memcpy(p, text, len);
		p += len;
	}
	return lws_write(wsi, start, (size_t)(p - start),
		   LWS_WRITE_HTTP_HEADERS) < 0
		   ? -1
		   : 0;
}

/* A request without an upgrade. It is answered and the connection ends. */
static int
on_http(struct lws *wsi)
{
	struct connection *c = connection_of(wsi);
	struct head h;
	bool probe;
	int status;

	read_head(wsi, &h);
	probe = bytes_is(h.request.path, "/readyz") ||
		bytes_is(h.request.path, "/livez");
	status = auth_head(&h.request);
	if (status != 0)
		(void)answer(wsi, (unsigned int)status, "", NULL);
	else if (probe && (h.get || h.is_head))
		(void)answer(wsi, 200, "", NULL);
	else if (probe)
		(void)answer(wsi, 405, "", "GET,HEAD");
	else if (!auth_path_is(h.request.path, &c->net->config))
		(void)answer(wsi, 404, "", NULL);
	else if (!h.get)
		(void)answer(wsi, 405, "", "GET");
	else
		(void)answer(wsi, 400,
		    "Connection header did not include 'upgrade'", NULL);
	return -1;
}

/* Returns 0 to upgrade, positive when it was refused with an answer. */
static int
on_upgrade(struct lws *wsi, const char *protocol)
{
	struct connection *c = connection_of(wsi);
	struct head h;
	int status;

	if (strcmp(protocol, "websocket") != 0)
		return -1;
	read_head(wsi, &h);
	status = auth_upgrade(&h.request, &c->net->config);
	if (status == 0) {
		/* Where a wrong path is upgraded too, it is closed at once. */
		if (!auth_path_is(h.request.path, &c->net->config))
			connection_close(c, 1008, "unauthorized");
		return 0;
	}
	log_info("upgrade_refused peer=%s status=%d", c->peer, status);
	connection_audit_refused(c, status);
	if (answer(wsi, (unsigned int)status, "", NULL) < 0)
		return -1;
	lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
	return 1;
}

static int
on_receive(struct lws *wsi, const void *data, size_t len)
{
	struct connection *c = connection_of(wsi);
	size_t remaining = lws_remaining_packet_payload(wsi);
	bool final = lws_is_final_fragment(wsi) && remaining == 0;
	int r;

	if (c->close_code != 0) {
		connection_linger(c);
		return 0;
	}
	r = connection_append(c, data, len, remaining, final);
	if (r == -ENOBUFS)
		connection_audit_own_limit(c, "message_budget");
	if (r == -EMSGSIZE)
		connection_close(c, 1009, "message too big");
	else if (r == -ENOBUFS)
		connection_close(c, 1013, "message budget used up");
	else if (r < 0)
		connection_close(c, 1011, "out of memory");
	/* A client that does not read its answers is not read from. */
	if (connection_is_flooded(c) && !c->rx_paused) {
		c->rx_paused = true;
		(void)lws_rx_flow_control(wsi, 0);
	}
	return 0;
}

/*
 * Send the close frame, and leave the connection open for what the peer still
 * sends: the library would close the socket at once, and with bytes unread that
 * is a reset, in which the frame is lost. The peer's own close frame ends the
 * connection, or connection_close's deadline.
 */
static int
send_close(struct lws *wsi, struct connection *c)
{
	uint8_t frame[LWS_PRE + 125], *payload = frame + LWS_PRE;
	size_t len = strlen(c->close_reason);

	payload[0] = (uint8_t)(c->close_code >> 8);
	payload[1] = (uint8_t)c->close_code;
	memcpy(payload + 2, c->close_reason, len);
	c->close_sent = true;
	return lws_write(wsi, payload, len + 2, WRITE_CLOSE) < 0 ? -1 : 0;
}

static int
on_writable(struct lws *wsi)
{
	struct connection *c = connection_of(wsi);

	/* The library has closed it, because of bad UTF-8, and waits for the
	 * peer's close frame: nothing may follow its own. */
	if (lws_get_close_length(wsi) > 0)
		return 0;
	if (c->close_code != 0)
		return c->close_sent ? 0 : send_close(wsi, c);
	if (c->ping_due) {
		uint8_t empty[LWS_PRE];

		c->ping_due = false;
		(void)lws_callback_on_writable(wsi);
		return lws_write(wsi, empty + LWS_PRE, 0, LWS_WRITE_PING) < 0
			   ? -1
			   : 0;
	}
	for (int i = 0; i < WRITES_PER_TURN; i++) {
		bool first = false, final = false;
		int error;
		struct bytes piece = connection_next(c, &first, &final, &error);
		int how = first ? LWS_WRITE_TEXT : LWS_WRITE_CONTINUATION;
		union {
			const uint8_t *data;
			unsigned char *raw;
		} text = {.data = piece.data};

		if (piece.data == NULL)
			return error;
		if (!final)
			how |= LWS_WRITE_NO_FIN;
		if (lws_write(wsi, text.raw, piece.len,
			(enum lws_write_protocol)how) < 0)
			return -1;
		if (lws_send_pipe_choked(wsi))
			break;
	}
	(void)lws_callback_on_writable(wsi);
	return 0;
}

/* Whether RFC 6455, section 7.4, or its registry lets a frame have it. */
static bool
is_close_code(unsigned int code)
{
	if (code >= 3000)
		return code < 5000;
	return code >= 1000 && code <= 1014 && (code < 1004 || code > 1006);
}

/* The peer closes. The library sends back what lies in payload: where that
 * is no code that may be sent, it is to be 1002. */
static void
on_peer_close(uint8_t *payload, size_t len)
{
	if (len < 2 || is_close_code(payload[0] * 256u + payload[1]))
		return;
	payload[0] = 1002 >> 8;
	payload[1] = 1002 & 255;
}

static int
on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct connection *c = connection_of(wsi);

	(void)user;
	if (c == NULL)
		return 0;
	/* The list of reasons is the library's and open-ended. */
	switch ((int)reason) {
	case LWS_CALLBACK_HTTP:
		return on_http(wsi);
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return on_upgrade(wsi, in);
	case LWS_CALLBACK_ESTABLISHED:
		connection_opened(c);
		if (c->close_code != 0)
			(void)lws_callback_on_writable(wsi);
		return 0;
	case LWS_CALLBACK_RECEIVE:
		return on_receive(wsi, in, len);
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return on_writable(wsi);
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		on_peer_close(in, len);
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		socket_watch_clear(c->fd);
		lws_set_opaque_user_data(wsi, NULL);
		connection_free(c);
		return 0;
	default:
		return 0;
	}
}

static int
on_poller(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct net *n = lws_context_user(lws_get_context(wsi));

	(void)user;
	(void)in;
	(void)len;
	if (reason == LWS_CALLBACK_RAW_RX_FILE)
		poller_run(n->poller);
	return 0;
}

static const struct lws_protocols protocols[] = {
    {.name = "sallyport",
	.callback = on_event,
	.rx_buffer_size = RECEIVE_BYTES},
    {.name = "poller", .callback = on_poller},
    {.name = NULL},
};

static void
on_log(int level, const char *line)
{
	if (level == LLL_ERR)
		log_warn("libwebsockets %s", line);
	else
		log_debug("libwebsockets %s", line);
}

/*
 * Let there be as many descriptors as the limits can need, as far as the hard
 * limit goes. Before the context is made: the library sizes its tables by the
 * soft limit. Returns that, or 0 if it cannot be told.
 */
static rlim_t
raise_fd_limit(const struct limits *l)
{
	rlim_t want = l->connections_max + 3 * l->processes_max +
		      l->session_workers_max * l->sessions_max + OTHER_FDS;
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return 0;
	now.rlim_cur = now.rlim_max < want ? now.rlim_max : want;
	return setrlimit(RLIMIT_NOFILE, &now) < 0 ? 0 : now.rlim_cur;
}

int
ws_init(struct net *n)
{
	struct lws_context_creation_info info = {
	    .port = CONTEXT_PORT_NO_LISTEN,
	    .protocols = protocols,
	    .extensions = NULL, /* no permessage-deflate */
	    .gid = -1,
	    .uid = -1,
	    .options = LWS_SERVER_OPTION_VALIDATE_UTF8 |
		       LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS,
	    .max_http_header_data = HEADER_BYTES,
	    .max_http_header_pool = HEADER_POOL,
	    .pt_serv_buf_size = RECEIVE_BYTES,
	    /* connection.c has a finer timer of its own. */
	    .timeout_secs = 600,
	    .user = n,
	};
	lws_sock_file_fd_type fd = {.filefd = poller_fd(n->poller)};
	rlim_t fd_max = raise_fd_limit(&n->config.limits);

	lws_set_log_level(LLL_ERR | LLL_WARN, on_log);
	if (fd_max == 0 || socket_watch_init(fd_max) < 0)
		return -ENOMEM;
	n->lws = lws_create_context(&info);
	if (n->lws == NULL)
		return -ENOMEM;
	n->vhost = lws_get_vhost_by_name(n->lws, "default");
	if (n->vhost == NULL ||
	    lws_adopt_descriptor_vhost(n->vhost, LWS_ADOPT_RAW_FILE_DESC, fd,
		"poller", NULL) == NULL)
		return -ENOMEM;
	return 0;
}

void
ws_done(struct net *n)
{
	if (n->lws != NULL)
		lws_context_destroy(n->lws);
	socket_watch_done();
}

void
ws_turn(struct net *n)
{
	if (lws_service(n->lws, 0) < 0)
		net_stop(n, 1);
}

/* What has to be done before the library waits, such as closing, may end what
 * we serve: it would then wait for an event that does not come. */
void
ws_wake(struct net *n)
{
	if (n->lws != NULL)
		lws_cancel_service(n->lws);
}

void
ws_adopt(struct net *n, int fd, const char *peer)
{
	struct connection *c = connection_new(n, peer);
	lws_adopt_desc_t desc = {
	    .vh = n->vhost,
	    .type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP,
	    .fd = {.sockfd = fd},
	    .opaque = c,
	};
	struct lws *wsi;
	uint64_t serial;

	if (c == NULL || socket_watch_set(fd, c) < 0) {
		connection_free(c);
		(void)close(fd);
		return;
	}
	serial = c->serial;
	c->fd = fd;
	wsi = lws_adopt_descriptor_vhost_via_info(&desc);
	if (wsi != NULL) {
		c->wsi = wsi;
		return;
	}
	/* The library closed the socket; it may have told us so already, and
	 * then c is gone. */
	socket_watch_clear(fd);
	connection_free(connection_find(n, serial));
}
