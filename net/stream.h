/* The ends of a child's pipes or pty that net holds. */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include "base/buf.h"
#include "net/output.h"
#include "net/poller.h"

struct process;

/* Something to read: stdout, stderr or a pty. */
struct stream {
	struct watch watch;
	struct process *process;
	enum stream_kind kind;
	bool open, paused;
};

/* Read fd (taken, non-blocking) from now on; each piece goes to
 * process_on_output, the end to process_on_eof. A failure to watch it counts
 * as its end. */
void stream_open(struct stream *s, struct process *p, int fd,
    enum stream_kind kind);
void stream_close(struct stream *s);
/* Read what is there now, at most STREAM_READ_MAX bytes and if the connection
 * has room. */
void stream_catch_up(struct stream *s);
/* Read again after a pause, if the connection has room. */
void stream_resume(struct stream *s);

/* Something to write: stdin or a pty. */
struct input {
	struct watch watch;
	struct process *process;
	struct buf queue; /* what the child has not read yet */
	uint64_t charged; /* of it, on limits.message_budget */
	bool open, close_when_empty;
};

/* Bytes of a queue that do not count on limits.message_budget, like those of a
 * small message: as much as a pipe holds. */
#define INPUT_FREE (64u * 1024u)

/* Write to fd (taken, non-blocking). queue_max is bytes. */
void input_open(struct input *in, struct process *p, int fd, size_t queue_max);
/*
 * Write data, as much as the child takes now, the rest later. Returns 0;
 * -EPIPE if the reading end is closed; -EMSGSIZE if the queue would pass its
 * maximum, -ENOBUFS if limits.message_budget is used up, -ENOMEM: nothing was
 * written then.
 */
must_use int input_write(struct input *in, struct bytes data);
/* End of input once the queue is written. */
void input_finish(struct input *in);
void input_close(struct input *in);

#endif
