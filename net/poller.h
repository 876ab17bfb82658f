/*
 * One epoll set for everything that is not a WebSocket: the listener, the
 * channels and the streams of children. libwebsockets polls the set itself as
 * one descriptor, so that a single loop serves all. Child streams are kept
 * from the library because it takes POLLHUP on a paused one for the end and
 * drops what the pipe still holds.
 */
#ifndef NET_POLLER_H
#define NET_POLLER_H

#include <stdint.h>

#include "base/cleanup.h"

struct poller;

/* A descriptor's owner embeds this. events are those of epoll(7). */
struct watch {
	int fd;
	uint32_t events; /* waited for; 0: not in the set */
	void (*fn)(struct watch *w, uint32_t events);
};

/* NULL when the set cannot be made. */
struct poller *poller_new(void);
void poller_free(struct poller *p);

/* The set's own descriptor, readable when something is ready. */
int poller_fd(const struct poller *p);

/*
 * Wait for events on w->fd, with 0 for none: the descriptor then leaves the
 * set, since EPOLLHUP cannot be masked. Returns 0 or a negative errno.
 */
must_use int poller_watch(struct poller *p, struct watch *w, uint32_t events);

/* Forget w, which may be freed afterwards, also from within its callback. */
void poller_forget(struct poller *p, struct watch *w);

/* Serve what is ready, without waiting. */
void poller_run(struct poller *p);

#endif
