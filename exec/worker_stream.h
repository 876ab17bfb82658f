/* fs/readFile's answer for a file that net must not wait for. */
#ifndef EXEC_WORKER_STREAM_H
#define EXEC_WORKER_STREAM_H

#include "privsep/channel.h"

/*
 * Send what fd, a regular file of the given size, holds: FS_FILE with a pipe,
 * the bytes as net takes them, at most FS_READ_MAX, and FS_STREAMED; or
 * FS_FAILED if not even the first read succeeds. Waits for net, but not past
 * the end of its channel. Returns 0; -EPIPE at that end; another negative
 * errno of the channel.
 */
must_use int worker_stream(struct channel *c, uint32_t number, int fd,
    uint64_t size);

/* Wait until nothing is queued on c. Returns 0; -EPIPE; a negative errno. */
must_use int worker_stream_settle(struct channel *c);

#endif
