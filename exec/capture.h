/*
 * The last words of a command, read while it runs so that it never waits, and
 * kept so that a person can be told why it failed.
 */
#ifndef EXEC_CAPTURE_H
#define EXEC_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "exec/source.h"

/* Bytes that are kept of a stream, the last ones. */
#define CAPTURE_MAX	 512
/* Bytes of what capture_words makes of them, the NUL included. */
#define CAPTURE_TEXT_MAX 161

struct capture {
	struct source source;
	size_t len;
	bool cut; /* there was more */
	uint8_t text[CAPTURE_MAX];
};

struct captures {
	struct capture out, err;
};

/* NULL when out of memory. */
struct captures *captures_new(void);
/* Closes what is open; NULL is fine. */
void captures_free(struct captures *c);

/* Read both from now on, which are pipes that do not block, taken in any case.
 * 0 or a negative errno. */
must_use int captures_begin(struct captures *c, int epfd, int out_fd,
    int err_fd);
/* Nobody writes any more: read what is left. */
void captures_finish(struct captures *c);

/* The last line that says something, as log_quotable makes it and at most
 * CAPTURE_TEXT_MAX - 1 bytes of it; "" if there is none. */
void capture_words(const struct capture *c, char out[CAPTURE_TEXT_MAX]);

#endif
