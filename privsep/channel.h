/*
 * A channel: one end of a SOCK_SEQPACKET socketpair between two of our
 * processes. One record is one message, so there is no partial read and
 * descriptors cannot drift between messages. Nothing here blocks.
 */
#ifndef PRIVSEP_CHANNEL_H
#define PRIVSEP_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "privsep/msg.h"

struct channel;

/*
 * A channel over fd (taken, made non-blocking by the caller) on which self
 * talks to peer. Returns NULL when out of memory; fd is then closed.
 */
struct channel *channel_new(int fd, enum role self, enum role peer);
/* Close it and drop what was queued. NULL is fine. */
void channel_free(struct channel *c);

int channel_fd(const struct channel *c);
enum role channel_peer(const struct channel *c);

/*
 * Make a pair of connected, non-blocking, close-on-exec ends.
 * Returns 0 or a negative errno.
 */
must_use int channel_pair(int fds[2]);

/*
 * Receive one message. Returns 1 with *m filled (release with msg_done); 0 at
 * the peer's end; -EAGAIN if none is waiting; -EPROTO (with e) if the record
 * broke the contract; -ENOMEM; another negative errno of recvmsg(2). After
 * anything but 1 and -EAGAIN the channel is of no more use.
 */
must_use int channel_recv(struct channel *c, struct msg *m, struct err *e);

/*
 * channel_send_<name>: send that message with count descriptors, which are
 * taken in every case. If the peer is slow the record is queued. Returns 0;
 * -ENOBUFS if the queue is full (nothing was sent: tell the requester that we
 * are busy); -EMSGSIZE; -ENOMEM; -EPIPE if the peer is gone.
 */
#define MSG(NAME, name, from, to, fds_min, fds_max, fields)                    \
	must_use int channel_send_##name(struct channel *c,                    \
	    const struct msg_##name *m, const int *fds, size_t count);
#include "privsep/msg.def"

/*
 * Send a received message on, with its descriptors; m is released in every
 * case. The same errors.
 */
must_use int channel_forward(struct channel *c, struct msg *m);

/* Whether so much is queued that what can be refused should be: the rest of the
 * queue is for what must arrive. */
bool channel_crowded(const struct channel *c);

/* Whether records are queued, so that writability should be waited for. */
bool channel_pending(const struct channel *c);
/* Send what is queued. Returns 0, also if some is left; -EPIPE. */
must_use int channel_flush(struct channel *c);

#endif
