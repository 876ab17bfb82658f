/* One epoll set for all: the channel, libcurl's sockets and the resolver's. */
#ifndef HTTP_LOOP_H
#define HTTP_LOOP_H

#include <stdint.h>

#include "base/cleanup.h"

struct source;
/* events are those of epoll(7). s may be freed by it. */
typedef void source_fn(struct source *s, uint32_t events);

/* A descriptor that is waited for. The descriptor is not owned. */
struct source {
	int fd;
	uint32_t events; /* 0: not in the set */
	source_fn *fn;
	void *owner;
};

/* Wait for events on s->fd, with 0 for none. Returns 0 or a negative errno. */
must_use int source_watch(int epfd, struct source *s, uint32_t events);

/*
 * Serve one ready descriptor, or none once timeout_ms (-1: no limit) have
 * passed. One at a time, since its handler may free others. Returns 0 or a
 * negative errno.
 */
must_use int loop_turn(int epfd, int timeout_ms);

#endif
