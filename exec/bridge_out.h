/*
 * The other half of a bridge: from a channel to a stream of frames. One message
 * at a time, and the next is taken when that is all written: whoever is slow
 * there keeps the channel's other end waiting.
 */
#ifndef EXEC_BRIDGE_OUT_H
#define EXEC_BRIDGE_OUT_H

#include "exec/bridge_wire.h"
#include "privsep/channel.h"

struct bridge_out {
	struct channel *channel; /* borrowed */
	int fd;			 /* of the stream, non-blocking, borrowed */
	struct buf buf;		 /* frames to be written */
	size_t at;		 /* and how much of it was */
	int body;   /* what follows, owned: memfd, file or pipe; -1: nothing */
	bool piped; /* it is a pipe */
	bool drained;	   /* which has ended: FS_STREAMED will tell how */
	uint64_t len, max; /* of the body */
	uint32_t number;   /* of the message that brought a pipe */
};

void bridge_out_init(struct bridge_out *out, struct channel *channel, int fd);
void bridge_out_done(struct bridge_out *out);

/* What it waits for: the channel's next message, room in the stream, or bytes
 * of the pipe body. */
bool bridge_out_takes(const struct bridge_out *out);
bool bridge_out_writes(const struct bridge_out *out);
bool bridge_out_pumps(const struct bridge_out *out);

/* Take a message. Returns 1; 0 at the channel's end; a negative errno with e.
 */
must_use int bridge_out_take(struct bridge_out *out, struct err *e);
/* Write once. Returns 1; -EPIPE if nobody reads; another negative errno. */
must_use int bridge_out_write(struct bridge_out *out, struct err *e);
/* Read from the pipe once. Returns 1 or a negative errno with e. */
must_use int bridge_out_pump(struct bridge_out *out, struct err *e);

#endif
