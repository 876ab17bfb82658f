/* What the tests of a bridge share: one with all its far ends. */
#ifndef TESTS_UNIT_BRIDGE_H
#define TESTS_UNIT_BRIDGE_H

#include "exec/bridge.h"

/* A bridge with the far end of its channel, and of its streams. */
struct rig {
	struct bridge bridge;
	struct channel *far;
	int feed, drain; /* what the bridge reads from, and writes to */
	int in, out;
	struct err e;
};

/* A pipe, non-blocking. */
void pipe_of(int *reader, int *writer);

/* self: whose place the bridge takes. */
struct rig *rig_new(enum role self);
void rig_free(struct rig *g);

/* Turn until nothing is to be done, or it is over. */
enum bridge_result run(struct rig *g);

/* Feed a frame, whose length may be a lie; the record of a message; the end of
 * a body, and len bytes of one. */
enum bridge_result feed(struct rig *g, uint8_t kind, uint32_t len,
    const void *payload, size_t n);
enum bridge_result feed_record(struct rig *g, uint8_t kind, enum msg_type type,
    const void *m);
enum bridge_result feed_end(struct rig *g, uint32_t errnum);
enum bridge_result feed_part(struct rig *g, size_t len);

/* The message that comes out of the channel, which is to be of that type; and
 * that there is none. */
struct msg hear(struct rig *g, enum msg_type type);
void hear_nothing(struct rig *g);

#endif
