#include "http/service.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/exchange.h"
#include "http/url.h"

#define CA_MAX	    (8u * MIB) /* bytes of certificates */
/* Connections kept open for later requests. */
#define KEPT_MAX    16L
/* Looked at anyway, whatever was computed. */
#define TURN_MAX_MS 60000

void
service_sent(struct service *s, int r)
{
	if (r < 0 && !s->broken) {
		log_warn("http_channel errno=%d", -r);
		s->broken = true;
	}
}

/* --- what libcurl tells -------------------------------------------------- */

static void
socket_ready(struct source *source, uint32_t events)
{
	struct service *s = source->owner;
	int mask = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
		   (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
		   (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
	int running;

	(void)curl_multi_socket_action(s->multi, source->fd, mask, &running);
}

static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct service *s = arg;
	struct source *source = known;
	uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
			  (what & CURL_POLL_OUT ? EPOLLOUT : 0u);

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (source != NULL && source_watch(s->epfd, source, 0) < 0)
			log_debug("unwatch_failed fd=%d", fd);
		free(source);
		return 0;
	}
	if (source == NULL) {
		source = calloc(1, sizeof *source);
		if (source == NULL)
			return -1;
		*source =
		    (struct source){.fd = fd, .fn = socket_ready, .owner = s};
		(void)curl_multi_assign(s->multi, fd, source);
	}
	return source_watch(s->epfd, source, events) < 0 ? -1 : 0;
}

static int
on_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct service *s = arg;

	(void)multi;
	s->curl_due_ms = timeout_ms < 0 ? INT64_MAX : clock_ms() + timeout_ms;
	return 0;
}

static void
take_results(struct service *s)
{
	const CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(s->multi, &left)) != NULL) {
		struct exchange *x = NULL;
		CURLcode code = m->data.result;

		if (m->msg == CURLMSG_DONE &&
		    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &x) ==
			CURLE_OK &&
		    x != NULL)
			exchange_hop_done(x, code);
	}
}

/* --- the beginning ------------------------------------------------------- */

/* The whole of a file; false if it is not there or too large. */
static bool
read_file(const char *path, struct buf *out)
{
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd < 0)
		return false;
	do {
		out->len += (size_t)n;
		if (buf_reserve(out, 65536) < 0)
			return false;
		n = read(fd, out->data + out->len, 65536);
	} while (n > 0);
	return n == 0 && out->len > 0;
}

static int
read_ca(struct service *s, struct err *e)
{
	static const char *const usual[] = {
	    "/etc/ssl/certs/ca-certificates.crt",
	    "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};
	struct bytes own = s->config.policy.ca_file;
	scoped_free char *path = NULL;

	if (own.len > 0) {
		path = bytes_dup(own);
		if (path == NULL || !read_file(path, &s->ca))
			return err_set(e, EINVAL, "http.ca_file: unreadable");
		return 0;
	}
	for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
		buf_clear(&s->ca);
		if (read_file(usual[i], &s->ca))
			return 0;
	}
	log_warn("http_no_authorities effect=\"https will fail\"");
	return 0;
}

static int
init_curl(struct service *s, struct err *e)
{
	const curl_version_info_data *info;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, ENOMEM, "libcurl");
	info = curl_version_info(CURLVERSION_NOW);
	s->has_zstd = (info->features & CURL_VERSION_ZSTD) != 0;
	s->multi = curl_multi_init();
	if (s->multi == NULL ||
	    curl_multi_setopt(s->multi, CURLMOPT_SOCKETFUNCTION, on_socket) !=
		CURLM_OK ||
	    curl_multi_setopt(s->multi, CURLMOPT_SOCKETDATA, s) != CURLM_OK ||
	    curl_multi_setopt(s->multi, CURLMOPT_TIMERFUNCTION, on_timer) !=
		CURLM_OK ||
	    curl_multi_setopt(s->multi, CURLMOPT_TIMERDATA, s) != CURLM_OK ||
	    curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, KEPT_MAX) !=
		CURLM_OK)
		return err_set(e, ENOMEM, "libcurl");
	/* Names of URLs are UTF-8. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	url_warm_up();
	return 0;
}

int
service_init(struct service *s, struct err *e)
{
	int r;

	TAILQ_INIT(&s->exchanges);
	s->curl_due_ms = INT64_MAX;
	buf_init(&s->ca, CA_MAX);
	s->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epfd < 0)
		return err_errno(e, errno, "epoll");
	r = init_curl(s, e);
	if (r == 0)
		r = read_ca(s, e);
	if (r < 0)
		return r;
	s->resolver = resolver_new(s->epfd, s->config.policy.resolver, e);
	return s->resolver == NULL ? -e->code : 0;
}

void
service_done(struct service *s)
{
	struct exchange *x;

	while ((x = TAILQ_FIRST(&s->exchanges)) != NULL)
		exchange_free(x);
	curl_multi_cleanup(s->multi);
	resolver_free(s->resolver);
	channel_free(s->channel);
	buf_done(&s->ca);
	config_done(&s->config);
	fd_close(&s->epfd);
}

/* --- net ----------------------------------------------------------------- */

static int
dispatch(struct service *s, struct msg *m)
{
	struct exchange *x = NULL;

	switch ((int)m->type) {
	case MSG_HTTP_REQUEST:
		return exchange_start(s, m);
	case MSG_HTTP_CREDIT:
		x = exchange_find(s, m->u.http_credit.number);
		if (x != NULL)
			exchange_credit(x, m->u.http_credit.len);
		return 0;
	default:
		return -EPROTO;
	}
}

static void
channel_ready(struct source *source, uint32_t events)
{
	struct service *s = source->owner;
	struct err e = {0};
	struct msg m;
	int r = channel_flush(s->channel);

	(void)events;
	if (r == 0)
		r = channel_recv(s->channel, &m, &e);
	if (r == -EAGAIN)
		return;
	if (r > 0) {
		r = dispatch(s, &m);
		msg_done(&m);
		if (r == 0)
			return;
	}
	if (r < 0)
		log_error("net_channel errno=%d %s", -r, e.text);
	s->broken = true;
}

/* --- the loop ------------------------------------------------------------ */

static int64_t
next_due_ms(const struct service *s)
{
	const struct exchange *x;
	int64_t due = s->curl_due_ms;

	TAILQ_FOREACH (x, &s->exchanges, link)
		if (x->deadline_ms < due)
			due = x->deadline_ms;
	return due;
}

static int
timeout_ms(const struct service *s)
{
	int64_t now = clock_ms(), due = next_due_ms(s);
	int64_t left = due > now ? due - now : 0;
	int names = resolver_timeout_ms(s->resolver);

	if (left > TURN_MAX_MS)
		left = TURN_MAX_MS;
	return names >= 0 && names < left ? names : (int)left;
}

static void
expire(struct service *s)
{
	int64_t now = clock_ms();
	struct exchange *x, *next;

	for (x = TAILQ_FIRST(&s->exchanges); x != NULL; x = next) {
		next = TAILQ_NEXT(x, link);
		if (x->deadline_ms <= now)
			exchange_expire(x);
	}
}

static int
turn(struct service *s)
{
	uint32_t out = channel_pending(s->channel) ? EPOLLOUT : 0;
	int r = source_watch(s->epfd, &s->channel_source, EPOLLIN | out);
	int running;

	if (r == 0)
		r = loop_turn(s->epfd, timeout_ms(s));
	if (s->curl_due_ms <= clock_ms()) {
		s->curl_due_ms = INT64_MAX;
		(void)curl_multi_socket_action(s->multi, CURL_SOCKET_TIMEOUT, 0,
		    &running);
	}
	take_results(s);
	resolver_turn(s->resolver);
	expire(s);
	return r;
}

int
service_run(struct service *s, struct channel *channel, struct err *e)
{
	int r = 0;

	s->channel = channel;
	s->channel_source = (struct source){.fd = channel_fd(channel),
	    .fn = channel_ready,
	    .owner = s};
	while (r == 0 && !s->broken)
		r = turn(s);
	return r < 0 ? err_errno(e, -r, "loop") : 0;
}
