/* Moving bytes between files: the contents of a request, holes kept. */
#ifndef EXEC_WORKER_DATA_H
#define EXEC_WORKER_DATA_H

#include <sys/stat.h>

#include "base/buf.h"

/* What fs/writeFile brings: bytes in the record, or a sealed memfd. */
struct worker_payload {
	struct bytes bytes; /* counts if fd is -1 */
	int fd;		    /* borrowed */
	uint64_t size;
};

/*
 * Fill out from a message's bytes and its descriptor (-1: none). Returns 0;
 * -EPROTO if both are there, or the descriptor is no memfd with every seal or
 * holds more than a message can.
 */
must_use int worker_payload_init(struct worker_payload *out, struct bytes bytes,
    int fd);

/* Write its bytes from..end, which is at most its size, to the same place in
 * to. Returns 0 or the negative errno of pwrite(2). */
must_use int worker_payload_write(const struct worker_payload *p, int to,
    uint64_t from, uint64_t end);

/* Write all bytes at offset, which with their length is at most INT64_MAX.
 * Returns 0 or the negative errno of pwrite(2). */
must_use int worker_data_put(int to, struct bytes bytes, uint64_t offset);

/*
 * Read up to len bytes at offset, fewer only at the end of the file. Returns
 * 0 and the count in *got, or the negative errno of pread(2).
 */
must_use int worker_data_get(int from, uint8_t *to, size_t len, uint64_t offset,
    size_t *got);

/*
 * Copy all of from, a regular file whose fstat was st, into the empty file to.
 * Holes stay holes; what the file grows by meanwhile may be missing. Returns 0
 * or a negative errno, then to holds a part.
 */
must_use int worker_data_copy(int from, const struct stat *st, int to);

#endif
