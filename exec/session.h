/*
 * A session as exec knows it: a slot, which gives its children their host id,
 * and the template that they start from.
 */
#ifndef EXEC_SESSION_H
#define EXEC_SESSION_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/ids.h"
#include "exec/cgroup.h"
#include "exec/source.h"
#include "exec/template.h"

enum session_state {
	SESSION_OPENING, /* the helper is at work; starts wait */
	SESSION_READY,
	SESSION_REFUSED, /* the helper failed; text says why */
	SESSION_CLOSED,	 /* only waits for what is left of it to end */
};

/* A start that came before the template stood: of a program, or of a file
 * worker. */
struct waiting {
	STAILQ_ENTRY(waiting) link;
	uint32_t number;
	bool worker;
	size_t len;
	uint8_t spec[]; /* of a worker: its sandbox object */
};

struct session {
	struct exec_config *config; /* as it was at its beginning; held */
	struct session_id id;
	struct generation generation;
	unsigned int slot;
	enum session_state state;
	unsigned int lease_count;   /* children whose tree is not gone yet */
	unsigned int worker_count;  /* file workers among them */
	unsigned int command_count; /* and commands of a backend */
	struct source helper;	    /* pidfd, while it runs */
	int helper_socket;
	int64_t deadline_ms; /* by which the helper must have ended */
	struct template template;
	/* By set: the sockets of the host that are covered in it. */
	uint32_t sockets[TEMPLATE_SETS];
	struct cgroup group; /* if there are totals */
	STAILQ_HEAD(, waiting) waiting;
	size_t waiting_count, waiting_bytes;
	char text[ERR_TEXT_MAX]; /* of REFUSED, for the client */
	int errnum;
};

/* NULL when out of memory. */
struct session *session_new(struct exec_config *config, struct session_id id,
    struct generation generation, unsigned int slot);
/* Drops what waits and lets the namespaces go. NULL is fine. */
void session_free(struct session *s);

/* Keep a start for later. 0; -ENOBUFS if too much waits; -ENOMEM. */
must_use int session_wait(struct session *s, uint32_t number, bool worker,
    struct bytes spec);
/* The first that waits, to be freed by the caller, or NULL. */
struct waiting *session_next_waiting(struct session *s);

#endif
