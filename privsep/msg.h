/*
 * The message table of msg.def as types, and records to and from them.
 * A record is a u32 message type and the fields in table order.
 */
#ifndef PRIVSEP_MSG_H
#define PRIVSEP_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "privsep/role.h"

#define MSG(NAME, name, from, to, fds_min, fds_max, fields) MSG_##NAME,
enum msg_type {
	MSG_NONE,
#include "privsep/msg.def"
	MSG_TYPES
};

#define U32(n)	       uint32_t n;
#define U64(n)	       uint64_t n;
#define STRING(n, max) struct bytes n;
#define BLOB(n, max)   struct bytes n;
#define MSG(NAME, name, from, to, fds_min, fds_max, fields)                    \
	struct msg_##name {                                                    \
		fields                                                         \
	};
#include "privsep/msg.def"

/*
 * A received message. Strings are borrowed from the record and stay valid
 * until the channel receives again. Descriptors belong to the message until
 * msg_take_fd.
 */
struct msg {
	enum msg_type type;
	union {
#define MSG(NAME, name, from, to, fds_min, fds_max, fields)                    \
	struct msg_##name name;
#include "privsep/msg.def"
	} u;
	int fds[CHANNEL_FDS_MAX];
	size_t fd_count;
	uint8_t *blob; /* heap copy of a blob that came as a memfd */
};

/* What msg.def says of a type. */
struct msg_row {
	const char *name;
	enum role from, to;
	unsigned int fds_min, fds_max;
};

/* The row of type, or NULL if there is no such message. */
const struct msg_row *msg_row(uint32_t type);

/*
 * Append the record of message type with the fields of body (a struct msg_*
 * of that type) to record. A blob over CHANNEL_INLINE_MAX goes into a sealed
 * memfd instead: *blob_fd, owned by the caller; else *blob_fd is -1.
 * Returns 0; -EMSGSIZE if a field passes its bound; -ENOMEM; the error of
 * memfd_create(2) or write(2).
 */
must_use int msg_pack(enum msg_type type, const void *body, struct buf *record,
    int *blob_fd);

/*
 * A sealed memfd that holds s. Returns the descriptor, owned by the caller, or
 * a negative errno.
 */
must_use int msg_sealed_memfd(struct bytes s);

/*
 * Decode a record that from sent to to, with count descriptors in fds. All
 * descriptors are taken, on failure they are closed. Checks the type, sender,
 * receiver, every bound, the count of descriptors, the seals of a blob and
 * that no byte is left. Returns 0; -EPROTO (with e) if the record breaks the
 * contract; -ENOMEM. m is written only on success; release it with msg_done.
 */
must_use int msg_unpack(struct bytes record, const int *fds, size_t count,
    enum role from, enum role to, struct msg *m, struct err *e);

/* Take descriptor i out of m; the caller owns it. -1 if taken or absent. */
int msg_take_fd(struct msg *m, size_t i);

/* Close every descriptor that nobody took and free the blob. */
void msg_done(struct msg *m);

#endif
