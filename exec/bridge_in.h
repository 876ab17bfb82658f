/*
 * One half of a bridge: from a stream of frames, whose writer is hostile, to a
 * channel. Every message is unpacked and checked like one from a channel, and
 * what goes on is packed anew. A body becomes a sealed memfd, that of a file
 * which is read a pipe.
 */
#ifndef EXEC_BRIDGE_IN_H
#define EXEC_BRIDGE_IN_H

#include "exec/bridge_wire.h"
#include "privsep/channel.h"

struct bridge_in {
	struct channel *channel; /* borrowed */
	enum role from, to;	 /* of the messages */
	int fd;			 /* of the stream, non-blocking, borrowed */
	struct buf frame;	 /* the present one, as far as it was read */
	struct buf record;	 /* of the message whose body is coming */
	bool body;		 /* one is */
	int sink; /* where to: memfd, or pipe; -1: nobody wants it any more */
	bool piped;
	uint64_t len, max; /* of the body */
	size_t part_at;	   /* written of the present part */
	uint32_t number;   /* of a file's message */
};

void bridge_in_init(struct bridge_in *in, struct channel *channel,
    enum role from, enum role to, int fd);
void bridge_in_done(struct bridge_in *in);

/* The pipe that must take more before anything is read; -1: read. */
int bridge_in_waits(const struct bridge_in *in);

/*
 * Read once and do what has become complete. Returns 1; 0 at the stream's end;
 * -EPROTO with e if it broke the contract; another negative errno with e.
 */
must_use int bridge_in_read(struct bridge_in *in, struct err *e);
/* Go on with the pipe that is waited for. Returns 1 or a negative errno. */
must_use int bridge_in_write(struct bridge_in *in, struct err *e);

#endif
