/*
 * A descriptor that the loop watches, embedded in what it belongs to. The loop
 * takes one event at a time, so a handler may free any source.
 */
#ifndef EXEC_SOURCE_H
#define EXEC_SOURCE_H

#include <stdint.h>

#include "base/cleanup.h"

struct executor;
struct source;

typedef void source_handler(struct executor *x, struct source *s);

struct source {
	int fd;		 /* owned, -1 if there is none */
	int epfd;	 /* borrowed: where it is watched, if it is */
	uint32_t events; /* EPOLL* that are watched, 0: not watched */
	source_handler *ready;
	void *owner;
};

#define SOURCE_NONE ((struct source){.fd = -1})

/* Watch s for events (0: not at all) in the epoll set epfd. 0 or a negative
 * errno. */
must_use int source_watch(int epfd, struct source *s, uint32_t events);

/*
 * Stop watching s, which must be done before its descriptor is closed: a child
 * that is just being made holds copies of all descriptors for a moment, and as
 * long as one is left the set goes on to report it.
 */
void source_forget(struct source *s);
/* Forget s and close its descriptor, if it is open. */
void source_close(struct source *s);

#endif
