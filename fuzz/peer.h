/* A client of the world, honest in its framing: messages to and from net. */
#ifndef FUZZ_PEER_H
#define FUZZ_PEER_H

#include <jansson.h>

#include "base/buf.h"

struct peer {
	int fd;		    /* -1: none */
	bool deaf;	    /* does not read */
	struct buf got;	    /* what has come and was not looked at */
	struct buf message; /* fragments of one */
	bool upgraded, closed;
};

/* Connect and upgrade. */
void peer_open(struct peer *p);
/* Close without a word. */
void peer_lose(struct peer *p);
/* Send one frame, or as much of it as net takes; of one that it does not take
 * whole the connection is lost. opcode is that of RFC 6455. */
void peer_send(struct peer *p, uint8_t opcode, struct bytes text);
/* Read what is there. */
void peer_read(struct peer *p);
/*
 * The next whole message that has come, NULL for none; the caller frees it.
 * Asserts that what comes are frames that may come, in UTF-8, JSON objects
 * each, and that nothing comes after a close frame.
 */
json_t *peer_next(struct peer *p);

#endif
