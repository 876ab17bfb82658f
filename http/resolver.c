#include "http/resolver.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#include "http/hosts.h"
#include "http/loop.h"

#define SOURCES_MAX 16
/* Also those whose owners have gone: c-ares gives up on them by itself. */
#define LOOKUPS_MAX 512

struct lookup {
	TAILQ_ENTRY(lookup) link;
	struct resolver *resolver;
	lookup_fn *fn; /* NULL: forgotten */
	void *owner;
	struct http_address addresses[ADDRESSES_MAX];
	size_t count;
	const char *why;
	bool done; /* known, not told yet */
};

struct resolver {
	int epfd;
	ares_channel ares;
	struct hosts hosts;
	struct source sources[SOURCES_MAX]; /* of c-ares; owner NULL: free */
	TAILQ_HEAD(, lookup) lookups;
	size_t lookup_count;
};

static void
source_ready(struct source *s, uint32_t events)
{
	struct resolver *r = s->owner;
	const uint32_t in = EPOLLIN | EPOLLHUP | EPOLLERR;
	const uint32_t out = EPOLLOUT | EPOLLHUP | EPOLLERR;

	ares_process_fd(r->ares, events & in ? s->fd : ARES_SOCKET_BAD,
	    events & out ? s->fd : ARES_SOCKET_BAD);
}

/* c-ares tells what it waits for on a socket; nothing: it will be closed. */
static void
on_socket(void *data, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = data;
	uint32_t events =
	    (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u);
	struct source *s = NULL;

	for (size_t i = 0; i < SOURCES_MAX; i++) {
		struct source *at = &r->sources[i];

		if (at->owner != NULL && at->fd == fd) {
			s = at;
			break;
		}
		if (at->owner == NULL && s == NULL)
			s = at;
	}
	/* Without a place the query runs into its timeout. */
	if (s == NULL || (s->owner == NULL && events == 0))
		return;
	if (s->owner == NULL)
		*s = (struct source){.fd = fd, .fn = source_ready, .owner = r};
	if (source_watch(r->epfd, s, events) < 0 || events == 0)
		s->owner = NULL;
}

struct resolver *
resolver_new(int epfd, struct bytes server, struct err *e)
{
	static char lookups[] = "b"; /* DNS; the hosts file is ours */
	struct resolver *r = calloc(1, sizeof *r);
	struct ares_options o = {.sock_state_cb = on_socket,
	    .sock_state_cb_data = r,
	    .lookups = lookups};
	char text[64];
	int status;

	if (r == NULL || hosts_read(&r->hosts, "/etc/hosts") < 0) {
		free(r);
		(void)err_set(e, ENOMEM, "resolver");
		return NULL;
	}
	r->epfd = epfd;
	TAILQ_INIT(&r->lookups);
	status = ares_init_options(&r->ares, &o,
	    ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS);
	if (status == ARES_SUCCESS && server.len > 0) {
		memcpy(text, server.data, server.len);
		text[server.len] = '\0';
		status = ares_set_servers_ports_csv(r->ares, text);
	}
	if (status != ARES_SUCCESS) {
		(void)err_set(e, EINVAL, "resolver: %s", ares_strerror(status));
		resolver_free(r);
		return NULL;
	}
	return r;
}

void
resolver_free(struct resolver *r)
{
	struct lookup *l;

	if (r == NULL)
		return;
	/* Calls back for what is under way. */
	if (r->ares != NULL)
		ares_destroy(r->ares);
	while ((l = TAILQ_FIRST(&r->lookups)) != NULL) {
		TAILQ_REMOVE(&r->lookups, l, link);
		free(l);
	}
	hosts_done(&r->hosts);
	free(r);
}

static void
add(struct lookup *l, const struct sockaddr *sa)
{
	struct http_address *a = &l->addresses[l->count];

	if (l->count == ADDRESSES_MAX)
		return;
	if (sa->sa_family == AF_INET) {
		a->len = 4;
		memcpy(a->bytes,
		    &((const struct sockaddr_in *)(const void *)sa)->sin_addr,
		    4);
	} else if (sa->sa_family == AF_INET6) {
		a->len = 16;
		memcpy(a->bytes,
		    &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr,
		    16);
	} else {
		return;
	}
	l->count++;
}

static void
on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct lookup *l = arg;

	(void)timeouts;
	if (status == ARES_SUCCESS && info != NULL)
		for (struct ares_addrinfo_node *n = info->nodes; n != NULL;
		     n = n->ai_next)
			add(l, n->ai_addr);
	ares_freeaddrinfo(info);
	l->why = status != ARES_SUCCESS ? ares_strerror(status)
					: "the name has no address";
	l->done = true;
}

/* That name is nobody's to answer for: RFC 6761 section 6.3. */
static bool
is_localhost(const char *host)
{
	const char *last = strrchr(host, '.');

	return strcmp(last == NULL ? host : last + 1, "localhost") == 0;
}

static void
add_loopback(struct lookup *l)
{
	l->addresses[0] =
	    (struct http_address){.bytes = {127, 0, 0, 1}, .len = 4};
	l->addresses[1] = (struct http_address){.bytes = {[15] = 1}, .len = 16};
	l->count = 2;
}

struct lookup *
resolver_find(struct resolver *r, const char *host, lookup_fn *fn, void *owner)
{
	struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC,
	    .ai_socktype = SOCK_STREAM};
	struct lookup *l;

	if (r->lookup_count >= LOOKUPS_MAX)
		return NULL;
	l = calloc(1, sizeof *l);
	if (l == NULL)
		return NULL;
	l->resolver = r;
	l->fn = fn;
	l->owner = owner;
	TAILQ_INSERT_TAIL(&r->lookups, l, link);
	r->lookup_count++;
	l->count = hosts_find(&r->hosts, host, l->addresses, ADDRESSES_MAX);
	if (l->count == 0 && is_localhost(host))
		add_loopback(l);
	if (l->count > 0)
		l->done = true;
	else
		ares_getaddrinfo(r->ares, host, NULL, &hints, on_answer, l);
	return l;
}

void
lookup_forget(struct lookup *l)
{
	l->fn = NULL;
}

static struct lookup *
first_done(struct resolver *r)
{
	struct lookup *l;

	TAILQ_FOREACH (l, &r->lookups, link)
		if (l->done)
			return l;
	return NULL;
}

int
resolver_timeout_ms(struct resolver *r)
{
	struct timeval tv;

	if (first_done(r) != NULL)
		return 0;
	if (r->lookup_count == 0 || ares_timeout(r->ares, NULL, &tv) == NULL)
		return -1;
	return (int)(tv.tv_sec * 1000 + tv.tv_usec / 1000 + 1);
}

void
resolver_turn(struct resolver *r)
{
	struct lookup *l;

	if (r->lookup_count > 0)
		ares_process_fd(r->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	while ((l = first_done(r)) != NULL) {
		TAILQ_REMOVE(&r->lookups, l, link);
		r->lookup_count--;
		if (l->fn != NULL)
			l->fn(l->owner, l->addresses, l->count, l->why);
		free(l);
	}
}
