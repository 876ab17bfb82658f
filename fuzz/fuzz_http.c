/*
 * Reaches exchange_start, hop.c, fields.c and response.c: what sallyport-http
 * makes of hostile requests and of a hostile server, with the real libcurl on a
 * loopback connection. The input is a byte of flags, one that chooses how
 * things are, three of a call that fails (fuzz/faults.h) if the flags say so,
 * the request if they say so (URL, method and headers, which "\x1d" ends, and
 * "\x1f" parts the strings of the headers), then what the server sends: "\x1c"
 * ends a connection, and what follows is for the next one, after a redirect;
 * "\x1d" is the server's port. Names are not looked up: the input says what
 * comes of it. The proxy, if there is one, is the server.
 *
 * Asserts that net hears of each request what msg.def says: one HTTP_FAILED, or
 * HTTP_RESPONSE, chunks of a stream and HTTP_DONE or HTTP_FAILED; that names of
 * headers are small tokens and values ASCII without control bytes, that a body
 * is no larger than the policy lets it be, that credentials are not told to
 * another origin, and that nothing of a request is left.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "fuzz/faults.h"
#include "fuzz/fuzz.h"
#include "http/exchange.h"
#include "http/fields.h"
#include "privsep/pack.h"

#define BODY_MAX     (64u * 1024u)
#define NUMBER	     7 /* of the first request */
#define REQUESTS     2
#define TIMEOUT_MS   1000 /* for what a server makes libcurl wait for */
#define FAULT_MS     10	  /* for what never comes after a call has failed */
#define LOOKUPS_KEPT 4
#define SECRET	     "Y2xpZW50OnNlY3JldA==" /* client:secret */

enum flag {
	FLAG_FOLLOW = 1,
	FLAG_STREAM = 2,
	FLAG_BODY = 4,
	FLAG_NAME = 8,
	FLAG_CREDENTIALS = 16,
	FLAG_PROXY = 32,
	FLAG_REQUEST = 64,
	FLAG_FAULT = 128,
};

/* Its two lowest bits are the method, its two highest where names lead. */
enum how {
	HOW_TWICE = 4,
	HOW_SAME_NUMBER = 8,
	HOW_PIPE = 16, /* for a body, which breaks the contract */
	HOW_NO_TIME = 32,
};

/* A request as net knows it. */
struct asked {
	bool sent, responded, ended;
};

struct pending {
	lookup_fn *fn; /* NULL: none */
	void *owner;
};

/* Two services, without a proxy and with one, which outlive an input, and both
 * far sides of the one in use. */
static struct far {
	struct service services[2], *service;
	struct source listener, connection, net, lookups;
	struct channel *channel; /* net's end */
	uint16_t port;
	struct reader input;
	struct asked asked[REQUESTS];
	struct pending pending[LOOKUPS_KEPT];
	uint8_t flags, how;

} far;

/* --- the server ------------------------------------------------------------
 */

static void
hang_up(void)
{
	if (far.connection.fd < 0)
		return;
	assert(source_watch(far.service->epfd, &far.connection, 0) == 0);
	(void)close(far.connection.fd);
	far.connection.fd = -1;
}

/* "\x1d" becomes the port. */
static void
send_answer(int fd, struct bytes answer)
{
	scoped_buf out;
	uint8_t *at;

	buf_init(&out, 8 * FUZZ_LEN_MAX);
	for (size_t i = 0; i < answer.len; i++) {
		at = (uint8_t *)(uintptr_t)answer.data + i;
		assert((*at == 0x1d ? buf_printf(&out, "%u", far.port)
				    : buf_put_u8(&out, *at)) == 0);
	}
	if (out.len > 0)
		(void)send(fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The client's secret is for its own origin, which the Host header tells. */
static void
check_asked(const char *asked, size_t len)
{
	char own[64];

	(void)snprintf(own, sizeof own, "\r\nHost: 127.0.0.1:%u\r\n", far.port);
	if (far.flags & FLAG_CREDENTIALS && !(far.flags & FLAG_NAME) &&
	    memmem(asked, len, SECRET, sizeof SECRET - 1) != NULL)
		assert(memmem(asked, len, own, strlen(own)) != NULL);
}

/* Once it is asked anything, the server says all that it has to say. */
static void
connection_ready(struct source *s, uint32_t events)
{
	char asked[4096];
	struct bytes answer = fuzz_until(&far.input, 0x1c);
	ssize_t n;

	(void)events;
	fault_end();
	n = recv(s->fd, asked, sizeof asked, MSG_DONTWAIT);
	if (n > 0)
		check_asked(asked, (size_t)n);
	send_answer(s->fd, answer);
	(void)shutdown(s->fd, SHUT_WR);
	while (recv(s->fd, asked, sizeof asked, MSG_DONTWAIT) > 0)
		;
	hang_up();
	fault_begin();
}

static void
listener_ready(struct source *s, uint32_t events)
{
	(void)events;
	fault_end();
	hang_up();
	far.connection.fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	if (far.connection.fd >= 0)
		assert(source_watch(far.service->epfd, &far.connection,
			   EPOLLIN) == 0);
	fault_begin();
}

static void
listen_on_loopback(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert(fd >= 0);
	assert(bind(fd, (struct sockaddr *)&at, len) == 0);
	assert(listen(fd, 16) == 0);
	assert(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	far.port = ntohs(at.sin_port);
	far.listener = (struct source){.fd = fd, .fn = listener_ready};
	far.connection = (struct source){.fd = -1, .fn = connection_ready};
}

/* --- names -----------------------------------------------------------------
 */

/* The linker gives these their names. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
struct lookup *__wrap_resolver_find(struct resolver *r, const char *host,
    lookup_fn *fn, void *owner);
void __wrap_lookup_forget(struct lookup *l);

struct lookup *
__wrap_resolver_find(struct resolver *r, const char *host, lookup_fn *fn,
    void *owner)
{
	(void)r;
	assert(host[0] != '\0');
	for (size_t i = 0; i < LOOKUPS_KEPT; i++) {
		struct pending *p = &far.pending[i];

		if (p->fn != NULL)
			continue;
		*p = (struct pending){.fn = fn, .owner = owner};
		assert(eventfd_write(far.lookups.fd, 1) == 0);
		return (struct lookup *)(void *)p;
	}
	return NULL;
}

void
__wrap_lookup_forget(struct lookup *l)
{
	((struct pending *)(void *)l)->fn = NULL;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */

static void
lookups_ready(struct source *s, uint32_t events)
{
	static const struct http_address known[] = {
	    {.bytes = {127, 0, 0, 1}, .len = 4},
	    {.bytes = {[15] = 1}, .len = 16},
	    {.bytes = {10, 0, 0, 1}, .len = 4},
	};
	size_t count = far.how >> 6;
	eventfd_t n;

	(void)events;
	assert(eventfd_read(s->fd, &n) == 0);
	for (size_t i = 0; i < LOOKUPS_KEPT; i++) {
		struct pending p = far.pending[i];

		if (p.fn == NULL)
			continue;
		far.pending[i].fn = NULL;
		p.fn(p.owner, known, count, count == 0 ? "no such name" : NULL);
	}
}

/* --- net -------------------------------------------------------------------
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
check_body(const struct msg *m)
{
	struct stat st;

	assert(m->u.http_done.data.len <= BODY_MAX);
	if (m->fd_count > 0)
		assert(fstat(m->fds[0], &st) == 0 && st.st_size <= BODY_MAX &&
		       m->u.http_done.data.len == 0);
}

static struct asked *
asked_of(uint32_t number)
{
	struct asked *a = &far.asked[number - NUMBER];

	assert(number >= NUMBER && number < NUMBER + REQUESTS);
	assert(a->sent && !a->ended);
	return a;
}

static void
take(const struct msg *m)
{
	const struct msg_http_chunk *chunk = &m->u.http_chunk;
	struct asked *a;

	switch ((int)m->type) {
	case MSG_HTTP_RESPONSE:
		a = asked_of(m->u.http_response.number);
		assert(!a->responded);
		a->responded = true;
		check_headers(m->u.http_response.headers);
		break;
	case MSG_HTTP_CHUNK:
		a = asked_of(chunk->number);
		assert(a->responded && far.flags & FLAG_STREAM);
		assert(channel_send_http_credit(far.channel,
			   &(struct msg_http_credit){.number = chunk->number,
			       .len = (uint32_t)chunk->data.len},
			   NULL, 0) == 0);
		break;
	case MSG_HTTP_DONE:
		a = asked_of(m->u.http_done.number);
		assert(a->responded);
		check_body(m);
		a->ended = true;
		break;
	default:
		assert(m->type == MSG_HTTP_FAILED);
		a = asked_of(m->u.http_failed.number);
		assert(m->u.http_failed.text.len > 0);
		a->ended = true;
		break;
	}
}

static bool
all_ended(void)
{
	for (size_t i = 0; i < REQUESTS; i++)
		if (far.asked[i].sent && !far.asked[i].ended)
			return false;
	return true;
}

static void
net_ready(struct source *s, uint32_t events)
{
	struct err e = {0};
	struct msg m;
	int r;

	(void)s, (void)events;
	fault_end();
	r = channel_recv(far.channel, &m, &e);
	assert(r == 1 || r == -EAGAIN);
	if (r == 1) {
		take(&m);
		msg_done(&m);
	}
	/* The service ends as it does when net goes. */
	if (all_ended()) {
		assert(source_watch(far.service->epfd, &far.net, 0) == 0);
		(void)shutdown(channel_fd(far.channel), SHUT_RDWR);
	}
	fault_begin();
}

/* --- the services ----------------------------------------------------------
 */

static void
put_list(struct buf *list, const char *const *strings)
{
	buf_init(list, 4096);
	for (; *strings != NULL; strings++)
		assert(buf_put_cstring(list, *strings) == 0);
}

static void
start_service(struct service *s, bool proxied)
{
	char loopback[64], name[64], proxy[64], port[8];
	scoped_buf allow = {0}, ports = {0}, env = {0}, packed = {0};
	struct http_policy p = {.max_body = BODY_MAX,
	    .max_concurrent = proxied ? 1 : 4,
	    .max_redirects = 3};
	struct msg_http_config m = {0};
	struct err e = {0};

	(void)snprintf(loopback, sizeof loopback, "127.0.0.1:%u", far.port);
	(void)snprintf(name, sizeof name, "a.test:%u", far.port);
	(void)snprintf(proxy, sizeof proxy, "http://127.0.0.1:%u", far.port);
	(void)snprintf(port, sizeof port, "%u", far.port);
	put_list(&allow, (const char *const[]){loopback, name, NULL});
	put_list(&ports, (const char *const[]){port, NULL});
	put_list(&env, (const char *const[]){"TOKEN", "t0ken", NULL});
	buf_init(&packed, 4096);
	/* Nothing else is to be reached. */
	p.allow = fuzz_view(&allow);
	p.ports = fuzz_view(&ports);
	p.env = fuzz_view(&env);
	p.resolver = bytes_of(loopback);
	if (proxied)
		p.proxy = bytes_of(proxy);
	assert(http_policy_pack(&p, &packed) == 0);
	m.policy = fuzz_view(&packed);
	assert(config_take(&s->config, &m, &e) == 0);
	assert(service_init(s, &e) == 0);
	assert(source_watch(s->epfd, &far.listener, EPOLLIN) == 0);
	far.listener.events = 0; /* for the next set */
	assert(source_watch(s->epfd, &far.lookups, EPOLLIN) == 0);
	far.lookups.events = 0;
}

static void
start_services(void)
{
	log_set_level(LOG_ERROR);
	listen_on_loopback();
	far.lookups =
	    (struct source){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.fn = lookups_ready};
	assert(far.lookups.fd >= 0);
	start_service(&far.services[0], false);
	start_service(&far.services[1], true);
}

/* --- the request -----------------------------------------------------------
 */

static int
make_body(void)
{
	static const uint8_t bytes[20000];
	int fd, fds[2];

	if (!(far.flags & FLAG_BODY))
		return -1;
	if (far.how & HOW_PIPE) {
		assert(pipe2(fds, O_CLOEXEC) == 0);
		(void)close(fds[1]);
		return fds[0];
	}
	fd = memfd_create("body", MFD_CLOEXEC);
	assert(fd >= 0);
	assert(write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
	return fd;
}

/* What the flags make of it. */
static void
put_url(struct buf *url)
{
	assert(
	    buf_printf(url, "http://%s%s:%u/a?b",
		far.flags & FLAG_CREDENTIALS ? "client:secret@" : "",
		far.flags & FLAG_NAME ? "a.test" : "127.0.0.1", far.port) == 0);
}

static void
put_headers(struct buf *headers, struct bytes text)
{
	struct reader r;

	reader_init(&r, text.data, text.len);
	while (r.left > 0) {
		struct bytes s = fuzz_until(&r, 0x1f);

		assert(buf_put_string(headers, s.data, s.len) == 0);
	}
}

static struct bytes
cut(struct bytes s, size_t max)
{
	s.len = s.len < max ? s.len : max;
	return s;
}

static void
send_request(const struct msg_http_request *q)
{
	int fd = make_body();

	assert(channel_send_http_request(far.channel, q, &fd, fd >= 0) == 0);
	if (fd >= 0)
		(void)close(fd);
	far.asked[q->number - NUMBER].sent = true;
}

static void
request(void)
{
	static const char *const methods[] = {"GET", "POST", "HEAD", "PUT"};
	scoped_buf url = {0}, headers = {0};
	struct msg_http_request q = {.number = NUMBER,
	    .timeout_ms = far.how & HOW_NO_TIME	   ? 0
			  : far.flags & FLAG_FAULT ? FAULT_MS
						   : TIMEOUT_MS};

	buf_init(&url, HTTP_URL_MAX);
	buf_init(&headers, HTTP_HEADERS_MAX);
	q.flags = (far.flags & FLAG_FOLLOW ? HTTP_FLAG_FOLLOW : 0u) |
		  (far.flags & FLAG_STREAM ? HTTP_FLAG_STREAM : 0u);
	q.method = bytes_of(methods[far.how % 4]);
	put_url(&url);
	q.url = fuzz_view(&url);
	if (far.flags & FLAG_REQUEST) {
		struct bytes given = fuzz_until(&far.input, 0x1d);

		if (given.len > 0)
			q.url = cut(given, HTTP_URL_MAX);
		given = fuzz_until(&far.input, 0x1d);
		if (given.len > 0)
			q.method = cut(given, HTTP_METHOD_MAX);
		put_headers(&headers, fuzz_until(&far.input, 0x1d));
	}
	q.headers = fuzz_view(&headers);
	send_request(&q);
	if (!(far.how & HOW_TWICE))
		return;
	if (!(far.how & HOW_SAME_NUMBER))
		q.number++;
	send_request(&q);
}

/* Whether it must not end the service. */
static bool
is_honest(void)
{
	return !(far.flags & FLAG_FAULT) && !(far.flags & FLAG_REQUEST) &&
	       !(far.flags & FLAG_BODY && far.how & HOW_PIPE) &&
	       !(far.how & HOW_TWICE && far.how & HOW_SAME_NUMBER);
}

static void
serve(int end)
{
	struct channel *channel = channel_new(end, ROLE_HTTP, ROLE_NET);
	struct exchange *x;
	struct err e = {0};
	int r;

	assert(channel != NULL);
	far.service->broken = false;
	fault_begin();
	r = service_run(far.service, channel, &e);
	fault_end();
	(void)fault_clear();
	assert(r == 0 || far.flags & FLAG_FAULT);
	if (is_honest())
		assert(all_ended() && TAILQ_EMPTY(&far.service->exchanges));
	while ((x = TAILQ_FIRST(&far.service->exchanges)) != NULL)
		exchange_free(x);
	assert(far.service->exchange_count == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int ends[2];

	if (size < 2 || size > FUZZ_LEN_MAX)
		return 0;
	if (far.port == 0)
		start_services();
	reader_init(&far.input, data, size);
	far.flags = fuzz_u8(&far.input);
	if (far.flags & FLAG_FAULT)
		fault_read(&far.input);
	far.how = fuzz_u8(&far.input);
	far.service = &far.services[far.flags & FLAG_PROXY ? 1 : 0];
	memset(far.asked, 0, sizeof far.asked);
	memset(far.pending, 0, sizeof far.pending);
	assert(channel_pair(ends) == 0);
	far.channel = channel_new(ends[0], ROLE_NET, ROLE_HTTP);
	far.net = (struct source){.fd = ends[0], .fn = net_ready};
	assert(far.channel != NULL);
	assert(source_watch(far.service->epfd, &far.net, EPOLLIN) == 0);
	request();
	serve(ends[1]);
	hang_up();
	channel_free(far.channel);
	channel_free(far.service->channel);
	far.service->channel = NULL;
	return 0;
}
