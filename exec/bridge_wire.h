/*
 * A file worker's channel as two streams of bytes, for one that serves in
 * another place. Each stream carries frames: a byte of kind, a u32 of length
 * and so many bytes.
 *
 *   RECORD  a message without a body: its record as on the channel
 *   HEAD    the record of a message whose body follows: a blob too large for
 *           a record, or the contents of its descriptor
 *   PART    bytes of that body
 *   END     the body is whole (u32 0), or, of a file that is read, what ended
 *           it early (a positive errno)
 *
 * The worker begins with a line that says what it is. Whoever starts it
 * compares that with its own and says nothing before.
 */
#ifndef EXEC_BRIDGE_WIRE_H
#define EXEC_BRIDGE_WIRE_H

#include <stdbool.h>

#include "privsep/msg.h"

/* What msg.def does not say: the frames, and the enumerations of role.h. */
#define BRIDGE_VERSION	 1
/* "sallyport-worker 1 DIGEST\n", without a NUL. */
#define BRIDGE_HELLO_LEN 84
#define BRIDGE_HEADER	 5
/* Bytes of a frame behind its header. */
#define BRIDGE_FRAME_MAX CHANNEL_RECORD_MAX

enum bridge_kind {
	BRIDGE_RECORD = 1,
	BRIDGE_HEAD,
	BRIDGE_PART,
	BRIDGE_END,
};

/* What the first line of a program is. */
enum bridge_hello { BRIDGE_OURS, BRIDGE_OTHER_BUILD, BRIDGE_STRANGE };

/*
 * The line, BRIDGE_HELLO_LEN bytes: the version above and a digest of all that
 * msg.def says of the messages between net and a file worker, their numbers
 * too. 0 or -ENOMEM.
 */
must_use int bridge_hello(char out[BRIDGE_HELLO_LEN]);

/* Judge what a program says first: BRIDGE_HELLO_LEN bytes, or fewer if it has
 * ended. ours is the line. */
enum bridge_hello bridge_hello_judge(struct bytes said,
    const char ours[BRIDGE_HELLO_LEN]);

/* Whether what a program has said so far, less than that, may become one. */
bool bridge_hello_begins(struct bytes said);

/* Whether a frame of that kind may have that length. */
bool bridge_frame_is_valid(uint8_t kind, uint32_t len);

/* Append a frame, or the header of one. -EMSGSIZE, -ENOMEM. */
must_use int bridge_head_put(struct buf *out, enum bridge_kind kind,
    uint32_t len);
must_use int bridge_frame_put(struct buf *out, enum bridge_kind kind,
    struct bytes payload);

/* How many bytes of a body a message may have; 0: it has none. */
uint64_t bridge_body_max(enum msg_type type);

/* Whether a message crosses as a record: the file workers' do, but for what a
 * bridge says itself or has another form for. */
bool bridge_crosses(enum msg_type type);

#endif
