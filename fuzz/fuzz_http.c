/*
 * Reaches exchange_start, hop.c and response.c: what sallyport-http makes of a
 * hostile server, with the real libcurl on a loopback connection. The input is
 * a byte of flags and one that chooses the method, then what the server sends;
 * "\x1c" ends a connection, and what follows is for the next one, after a
 * redirect.
 *
 * Asserts that net hears of a request what msg.def says: one HTTP_FAILED, or
 * HTTP_RESPONSE, chunks of a stream and HTTP_DONE or HTTP_FAILED; that names of
 * headers are small tokens and values ASCII without control bytes, that a body
 * is no larger than the policy lets it be, and that nothing of a request is
 * left.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fuzz/fuzz.h"
#include "http/exchange.h"
#include "http/fields.h"
#include "privsep/pack.h"

#define BODY_MAX   4096
#define NUMBER	   7
#define TIMEOUT_MS 2000 /* for what a server makes libcurl wait for */

/* The service, which outlives an input, and both far sides of it. */
static struct far {
	struct service service;
	struct source listener, connection, net;
	struct channel *channel; /* net's end */
	uint16_t port;
	struct reader input;
	bool responded, ended, stream;
	uint64_t body;
} far;

/* --- the server ------------------------------------------------------------
 */

static void
hang_up(void)
{
	if (far.connection.fd < 0)
		return;
	assert(source_watch(far.service.epfd, &far.connection, 0) == 0);
	(void)close(far.connection.fd);
	far.connection.fd = -1;
}

/* Once it is asked anything, the server says all that it has to say. */
static void
connection_ready(struct source *s, uint32_t events)
{
	char asked[4096];
	struct bytes answer = fuzz_until(&far.input, 0x1c);

	(void)events;
	(void)recv(s->fd, asked, sizeof asked, MSG_DONTWAIT);
	if (answer.len > 0)
		(void)send(s->fd, answer.data, answer.len,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(s->fd, SHUT_WR);
	(void)recv(s->fd, asked, sizeof asked, MSG_DONTWAIT);
	hang_up();
}

static void
listener_ready(struct source *s, uint32_t events)
{
	(void)events;
	hang_up();
	far.connection.fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	assert(far.connection.fd >= 0);
	assert(source_watch(far.service.epfd, &far.connection, EPOLLIN) == 0);
}

static void
listen_on_loopback(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert(fd >= 0);
	assert(bind(fd, (struct sockaddr *)&at, len) == 0);
	assert(listen(fd, 16) == 0);
	assert(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	far.port = ntohs(at.sin_port);
	far.listener = (struct source){.fd = fd, .fn = listener_ready};
	far.connection = (struct source){.fd = -1, .fn = connection_ready};
}

/* --- net ---------------------------------------------------------------------
 */

static void
check_headers(struct bytes pairs)
{
	struct bytes name, value;
	struct reader r;
	size_t count;

	assert(strings_check(pairs, SIZE_MAX, HTTP_HEADERS_MAX, &count));
	assert(count % 2 == 0);
	reader_init(&r, pairs.data, pairs.len);
	while (strings_next(&r, &name) && strings_next(&r, &value)) {
		assert(field_is_token(name) && field_is_ascii(value));
		for (size_t i = 0; i < name.len; i++)
			assert(!isupper(name.data[i]));
	}
}

static void
take(struct msg *m)
{
	const struct msg_http_chunk *chunk = &m->u.http_chunk;

	assert(!far.ended);
	switch ((int)m->type) {
	case MSG_HTTP_RESPONSE:
		assert(!far.responded);
		far.responded = true;
		check_headers(m->u.http_response.headers);
		break;
	case MSG_HTTP_CHUNK:
		assert(far.responded && far.stream);
		assert(channel_send_http_credit(far.channel,
			   &(struct msg_http_credit){.number = NUMBER,
			       .len = (uint32_t)chunk->data.len},
			   NULL, 0) == 0);
		break;
	case MSG_HTTP_DONE:
		assert(far.responded);
		assert(m->u.http_done.data.len <= BODY_MAX);
		far.ended = true;
		break;
	default:
		assert(m->type == MSG_HTTP_FAILED);
		assert(m->u.http_failed.text.len > 0);
		far.ended = true;
		break;
	}
}

static void
net_ready(struct source *s, uint32_t events)
{
	struct err e = {0};
	struct msg m;
	int r = channel_recv(far.channel, &m, &e);

	(void)s, (void)events;
	if (r == -EAGAIN)
		return;
	assert(r == 1);
	take(&m);
	msg_done(&m);
	/* The service ends as it does when net goes. */
	if (far.ended) {
		assert(source_watch(far.service.epfd, &far.net, 0) == 0);
		(void)shutdown(channel_fd(far.channel), SHUT_RDWR);
	}
}

/* --- the service
 * ---------------------------------------------------------------
 */

static void
start_service(void)
{
	char rule[64], port[8];
	scoped_buf allow, ports, packed;
	struct http_policy p = {.max_body = BODY_MAX,
	    .max_concurrent = 4,
	    .max_redirects = 3};
	struct msg_http_config m = {0};
	struct err e = {0};

	log_set_level(LOG_ERROR);
	listen_on_loopback();
	buf_init(&allow, 4096);
	buf_init(&ports, 4096);
	buf_init(&packed, 4096);
	(void)snprintf(rule, sizeof rule, "127.0.0.1:%u", far.port);
	(void)snprintf(port, sizeof port, "%u", far.port);
	assert(buf_put_cstring(&allow, rule) == 0);
	assert(buf_put_cstring(&ports, port) == 0);
	/* Nothing else is to be reached, and no name to be looked up. */
	p.allow = fuzz_view(&allow);
	p.ports = fuzz_view(&ports);
	p.resolver = bytes_of(rule);
	assert(http_policy_pack(&p, &packed) == 0);
	m.policy = fuzz_view(&packed);
	assert(config_take(&far.service.config, &m, &e) == 0);
	assert(service_init(&far.service, &e) == 0);
	assert(source_watch(far.service.epfd, &far.listener, EPOLLIN) == 0);
}

static void
request(uint8_t flags, uint8_t method)
{
	static const char *const methods[] = {"GET", "POST", "HEAD", "PUT"};
	char url[64];

	(void)snprintf(url, sizeof url, "http://127.0.0.1:%u/a?b", far.port);
	far.stream = flags & HTTP_FLAG_STREAM;
	assert(channel_send_http_request(far.channel,
		   &(struct msg_http_request){.number = NUMBER,
		       .flags = flags & (HTTP_FLAG_FOLLOW | HTTP_FLAG_STREAM),
		       .timeout_ms = TIMEOUT_MS,
		       .method = bytes_of(methods[method % 4]),
		       .url = bytes_of(url)},
		   NULL, 0) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	uint8_t flags, method;
	int ends[2];

	if (size < 2 || size > FUZZ_LEN_MAX)
		return 0;
	if (far.port == 0)
		start_service();
	reader_init(&far.input, data, size);
	flags = fuzz_u8(&far.input);
	method = fuzz_u8(&far.input);
	far.responded = far.ended = false;
	assert(channel_pair(ends) == 0);
	far.channel = channel_new(ends[0], ROLE_NET, ROLE_HTTP);
	far.net = (struct source){.fd = ends[0], .fn = net_ready};
	assert(far.channel != NULL);
	assert(source_watch(far.service.epfd, &far.net, EPOLLIN) == 0);
	request(flags, method);
	far.service.broken = false;
	assert(service_run(&far.service,
		   channel_new(ends[1], ROLE_HTTP, ROLE_NET), &e) == 0);
	assert(far.ended && TAILQ_EMPTY(&far.service.exchanges));
	hang_up();
	channel_free(far.channel);
	channel_free(far.service.channel);
	far.service.channel = NULL;
	return 0;
}
