#include "net/poller.h"

#include <errno.h>
#include <sys/epoll.h>

#define POLLER_BATCH                                                           \
	64 /* events served per turn, so that sockets get theirs               \
	    */

struct poller {
	int fd;
	int count;   /* events of this turn */
	int current; /* the one being served */
	struct epoll_event batch[POLLER_BATCH];
};

struct poller *
poller_new(void)
{
	struct poller *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->fd < 0) {
		free(p);
		return NULL;
	}
	return p;
}

void
poller_free(struct poller *p)
{
	if (p == NULL)
		return;
	(void)close(p->fd);
	free(p);
}

int
poller_fd(const struct poller *p)
{
	return p->fd;
}

int
poller_watch(struct poller *p, struct watch *w, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};
	int op = EPOLL_CTL_MOD;

	if (events == w->events)
		return 0;
	if (events == 0)
		op = EPOLL_CTL_DEL;
	else if (w->events == 0)
		op = EPOLL_CTL_ADD;
	if (epoll_ctl(p->fd, op, w->fd, &ev) < 0)
		return -errno;
	w->events = events;
	return 0;
}

void
poller_forget(struct poller *p, struct watch *w)
{
	if (w->events != 0) {
		(void)epoll_ctl(p->fd, EPOLL_CTL_DEL, w->fd, NULL);
		w->events = 0;
	}
	/* Events of this turn that were already fetched must not reach it. */
	for (int i = p->current + 1; i < p->count; i++)
		if (p->batch[i].data.ptr == w)
			p->batch[i].data.ptr = NULL;
}

void
poller_run(struct poller *p)
{
	int n;

	do
		n = epoll_wait(p->fd, p->batch, POLLER_BATCH, 0);
	while (n < 0 && errno == EINTR);
	p->count = n;
	for (p->current = 0; p->current < p->count; p->current++) {
		struct watch *w = p->batch[p->current].data.ptr;
		uint32_t events = p->batch[p->current].events;

		/* Paused by an event before this one: wait for the next turn
		 * in which it is watched again. */
		if (w != NULL && w->events != 0)
			w->fn(w, events);
	}
	p->count = 0;
}
