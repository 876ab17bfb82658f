/* The numbered events of one process and the output kept for reading. */
#ifndef NET_OUTPUT_H
#define NET_OUTPUT_H

#include <sys/queue.h>

#include "base/buf.h"

enum stream_kind { STREAM_STDOUT, STREAM_STDERR, STREAM_PTY };

/* "stdout", "stderr", "pty" */
const char *stream_kind_name(enum stream_kind kind);

struct chunk {
	TAILQ_ENTRY(chunk) link;
	uint64_t seq;
	enum stream_kind kind;
	size_t len;
	uint8_t data[];
};

struct output {
	TAILQ_HEAD(chunk_list, chunk) chunks; /* oldest first */
	size_t kept;			      /* bytes of all chunks */
	size_t count;
	uint64_t bytes;	   /* of all data so far */
	uint64_t next_seq; /* of the next event, from 1 */
};

void output_init(struct output *o);
void output_done(struct output *o);

/*
 * Number a chunk and keep a copy; the oldest chunks are dropped whole beyond
 * PROCESS_OUTPUT_MAX bytes or PROCESS_CHUNKS_MAX chunks. Returns its number.
 * When memory is short the copy is not kept, and the number is given all the
 * same: the bytes were streamed.
 */
uint64_t output_append(struct output *o, enum stream_kind kind,
    struct bytes data);

/* The number for an event without data: exit, close. */
uint64_t output_event(struct output *o);

/* The first kept chunk with a number above seq, or NULL. */
const struct chunk *output_after(const struct output *o, uint64_t seq);

#endif
