/*
 * A bridge between a file worker's channel and a pair of streams: on this host
 * it stands in for the worker, on the other for net.
 */
#ifndef EXEC_BRIDGE_H
#define EXEC_BRIDGE_H

#include "exec/bridge_in.h"
#include "exec/bridge_out.h"

/* Bytes kept of what is said beside the streams. */
#define BRIDGE_NOTE_MAX FS_LOST_TEXT_MAX

struct bridge {
	struct channel *channel; /* owned */
	enum role self;
	struct bridge_in in;
	struct bridge_out out;
	int note_fd; /* what is said there is kept; -1: nothing, or its end */
	char note[BRIDGE_NOTE_MAX]; /* the last of it */
	size_t note_len;
};

struct bridge_ends {
	int channel_fd; /* taken */
	enum role self; /* ROLE_WORKER here, ROLE_NET there */
	int in, out;	/* the streams, non-blocking, borrowed */
	int note;	/* the same, or -1 */
};

/* 0 or -ENOMEM. Release it with bridge_done in any case. */
must_use int bridge_init(struct bridge *b, const struct bridge_ends *ends);
void bridge_done(struct bridge *b);

/* Why a bridge has come to its end. */
enum bridge_result {
	BRIDGE_GOES_ON,
	BRIDGE_CHANNEL_ENDED,
	BRIDGE_STREAM_ENDED, /* or cannot be written any more */
	BRIDGE_BROKEN,	     /* the stream broke the contract: e */
	BRIDGE_FAILED,	     /* an error of ours, or of the channel's: e */
};

/* Wait for something to do, up to timeout_ms (-1: for ever), and do it. */
enum bridge_result bridge_turn(struct bridge *b, int timeout_ms, struct err *e);

/* Keep some of what note_fd has; it is readable. */
void bridge_read_note(struct bridge *b);

#endif
