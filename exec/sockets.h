/*
 * The host's unix sockets that have a name in the file system, as exec knows
 * them: which of them have come since a session's view covered what there was.
 */
#ifndef EXEC_SOCKETS_H
#define EXEC_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "exec/config.h"

/* Sockets with such a name that are looked at. */
#define SOCKETS_MAX	   4096
/* Bytes that the list of all may have: many thousands. */
#define SOCKETS_TEXT_MAX   (4u * MIB)
/* A list is as good as new for that long: reading it costs a part of what a
 * start does. */
#define SOCKETS_MAX_AGE_MS 250

struct sockets_row {
	uint64_t ino;	/* the socket's own, never used twice in a while */
	uint32_t since; /* the generation in which it was first seen */
	size_t name;	/* where it begins in text */
};

struct sockets {
	struct buf text; /* the list as it was read last, each line a string */
	struct sockets_row *rows; /* owned, by ino */
	size_t count;
	uint32_t generation; /* lists that were read */
	int64_t read_ms;     /* when the last one was */
};

/* Whether what lies there is a session's own, or may be a client's: no view
 * covers it. */
bool sockets_are_own(const struct exec_config *c, const char *name);
/* Append the kernel's list of the caller's network namespace: those with a name
 * that are not own, as a program with the host's network makes as many of its
 * own as it likes. 0, or a negative errno with e. */
must_use int sockets_read(const struct exec_config *c, struct buf *text,
    struct err *e);
/* The absolute path in a line of the list; NULL if it has none. */
const char *sockets_path(const char *line);

void sockets_init(struct sockets *s);
void sockets_done(struct sockets *s);

/*
 * Read the list, unless it is as good as new. 0; -E2BIG past SOCKETS_MAX;
 * another negative errno. On failure what was known is known still.
 */
must_use int sockets_refresh(struct sockets *s, const struct exec_config *c,
    int64_t now_ms);

/* The names of those that came after a generation, borrowed until the next
 * refresh, in an array that ends with NULL and is the caller's; NULL if there
 * are none. 0 or -ENOMEM. */
must_use int sockets_after(const struct sockets *s, uint32_t generation,
    const char ***out);

#endif
