/*
 * A second look at the bytes of a WebSocket client, because the library lets
 * some of what RFC 6455 forbids pass: unmasked frames (section 5.1), reserved
 * bits and opcodes (5.2), control frames that are fragmented or longer than
 * 125 bytes (5.5), close frames of one byte (5.5.1), a continuation of nothing
 * and a new message amid another (5.4). Header arithmetic only; payload bytes
 * are counted, not read.
 */
#ifndef NET_FRAMEWATCH_H
#define NET_FRAMEWATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum framewatch_state {
	FRAMEWATCH_HANDSHAKE, /* HTTP, up to the empty line */
	FRAMEWATCH_HEADER,    /* in a frame header */
	FRAMEWATCH_PAYLOAD,
	FRAMEWATCH_BROKEN, /* a rule was broken; see framewatch_scan */
};

/* 24 bytes a socket; all zero bytes are the start of a connection. */
struct framewatch {
	uint64_t payload_left;
	uint8_t header[10]; /* up to the end of the length; the mask follows */
	uint8_t header_len;
	uint8_t mask_left; /* bytes of the masking key still to come */
	uint8_t state;	   /* enum framewatch_state */
	uint8_t crlf;	   /* how much of CR LF CR LF was seen */
	bool fragmented;   /* a message is open: RFC 6455 section 5.4 */
	bool close_began;  /* the header of a close frame has come */
};

/*
 * Follow len bytes. Returns how many of them may be passed on: len, or fewer
 * if a frame header that breaks a rule begins there; the state is then
 * FRAMEWATCH_BROKEN for good and further calls return 0.
 */
size_t framewatch_scan(struct framewatch *f, const uint8_t *data, size_t len);

/* Whether a close frame has come, and all frames so far are whole. */
bool framewatch_closed(const struct framewatch *f);

#endif
