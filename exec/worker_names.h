/* The names in one directory, with their kinds, to be sorted. */
#ifndef EXEC_WORKER_NAMES_H
#define EXEC_WORKER_NAMES_H

#include "base/buf.h"
#include "exec/worker_dents.h"

struct worker_name {
	size_t at; /* of the name, with its NUL, in text */
	unsigned char type;
};

struct worker_names {
	struct buf text;
	struct worker_name *items; /* heap */
	size_t count, cap;
};

/* Empty, for at most text_max bytes of names. Release with _done. */
void worker_names_init(struct worker_names *n, size_t text_max);
void worker_names_done(struct worker_names *n);

/*
 * Read fd from its present offset into n, which is emptied first, sorted by
 * bytes. Returns 0; 1 if only as many as fit were taken; a negative errno.
 */
must_use int worker_names_read(struct worker_names *n, int fd,
    struct worker_dents *d);

/* Name i, below count. Borrowed until n is read again. */
const char *worker_names_get(const struct worker_names *n, size_t i);

#endif
