#include "privsep/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

struct queued {
	TAILQ_ENTRY(queued) link;
	size_t len, fd_count;
	int fds[CHANNEL_FDS_MAX + 1]; /* one more for a blob */
	uint8_t record[];
};

struct channel {
	int fd;
	enum role self, peer;
	TAILQ_HEAD(, queued) queue;
	size_t queued_count, queued_bytes;
	struct buf out; /* the record being packed */
	uint8_t in[CHANNEL_RECORD_MAX];
};

struct channel *
channel_new(int fd, enum role self, enum role peer)
{
	struct channel *c = malloc(sizeof *c);

	if (c == NULL) {
		(void)close(fd);
		return NULL;
	}
	c->fd = fd;
	c->self = self;
	c->peer = peer;
	TAILQ_INIT(&c->queue);
	c->queued_count = 0;
	c->queued_bytes = 0;
	buf_init(&c->out, CHANNEL_RECORD_MAX);
	return c;
}

static void
close_fds(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

static void
queue_pop(struct channel *c)
{
	struct queued *q = TAILQ_FIRST(&c->queue);

	TAILQ_REMOVE(&c->queue, q, link);
	c->queued_count--;
	c->queued_bytes -= q->len;
	close_fds(q->fds, q->fd_count);
	free(q);
}

void
channel_free(struct channel *c)
{
	if (c == NULL)
		return;
	while (!TAILQ_EMPTY(&c->queue))
		queue_pop(c);
	buf_done(&c->out);
	(void)close(c->fd);
	free(c);
}

int
channel_fd(const struct channel *c)
{
	return c->fd;
}

enum role
channel_peer(const struct channel *c)
{
	return c->peer;
}

int
channel_pair(int fds[2])
{
	int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

	return socketpair(AF_UNIX, type, 0, fds) < 0 ? -errno : 0;
}

/*
 * Collect the descriptors of a received record. Returns false on MSG_CTRUNC,
 * a foreign control message or one descriptor too many (the alignment of the
 * control buffer leaves room for it); what did arrive is then in fds, or
 * closed.
 */
static bool
collect_fds(struct msghdr *h, int *fds, size_t *count)
{
	bool ok = (h->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;

	*count = 0;
	for (struct cmsghdr *m = CMSG_FIRSTHDR(h); m != NULL;
	     m = CMSG_NXTHDR(h, m)) {
		size_t n = (m->cmsg_len - CMSG_LEN(0)) / sizeof fds[0];
		int fd;

		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS) {
			ok = false;
			continue;
		}
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(m) + i * sizeof fd, sizeof fd);
			if (*count <= CHANNEL_FDS_MAX) {
				fds[(*count)++] = fd;
				continue;
			}
			(void)close(fd);
			ok = false;
		}
	}
	return ok;
}

int
channel_recv(struct channel *c, struct msg *m, struct err *e)
{
	union {
		struct cmsghdr align;
		char raw[CMSG_SPACE((CHANNEL_FDS_MAX + 1) * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = c->in, .iov_len = sizeof c->in};
	struct msghdr h = {.msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof control};
	int fds[CHANNEL_FDS_MAX + 1];
	size_t count;
	ssize_t n;
	int r;

	do
		n = recvmsg(c->fd, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	if (!collect_fds(&h, fds, &count)) {
		close_fds(fds, count);
		return err_set(e, EPROTO, "record or descriptors were cut");
	}
	/* No message is empty, so 0 bytes are the end of the stream. */
	if (n == 0) {
		close_fds(fds, count);
		return 0;
	}
	r = msg_unpack((struct bytes){.data = c->in, .len = (size_t)n}, fds,
	    count, c->peer, c->self, m, e);
	return r < 0 ? r : 1;
}

/* Returns 0, -EAGAIN or another negative errno. */
static int
send_record(int fd, struct bytes record, const int *fds, size_t count)
{
	union {
		struct cmsghdr align;
		char raw[CMSG_SPACE((CHANNEL_FDS_MAX + 1) * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)record.data,
	    .iov_len = record.len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (count > 0) {
		struct cmsghdr *m;

		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(count * sizeof fds[0]);
		m = CMSG_FIRSTHDR(&h);
		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(count * sizeof fds[0]);
		memcpy(CMSG_DATA(m), fds, count * sizeof fds[0]);
	}
	do
		n = sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	return errno == ECONNRESET ? -EPIPE : -errno;
}

static int
queue_push(struct channel *c, struct bytes record, const int *fds, size_t count)
{
	struct queued *q;

	if (c->queued_count >= CHANNEL_QUEUE_MAX ||
	    record.len > CHANNEL_BYTES_MAX - c->queued_bytes)
		return -ENOBUFS;
	q = malloc(sizeof *q + record.len);
	if (q == NULL)
		return -ENOMEM;
	q->len = record.len;
	q->fd_count = count;
	if (count > 0)
		memcpy(q->fds, fds, count * sizeof fds[0]);
	memcpy(q->record, record.data, record.len);
	TAILQ_INSERT_TAIL(&c->queue, q, link);
	c->queued_count++;
	c->queued_bytes += record.len;
	return 0;
}

int
channel_flush(struct channel *c)
{
	while (!TAILQ_EMPTY(&c->queue)) {
		struct queued *q = TAILQ_FIRST(&c->queue);
		int r = send_record(c->fd,
		    (struct bytes){.data = q->record, .len = q->len}, q->fds,
		    q->fd_count);

		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return r;
		queue_pop(c);
	}
	return 0;
}

bool
channel_crowded(const struct channel *c)
{
	return c->queued_count > CHANNEL_QUEUE_MAX / 4 * 3 ||
	       c->queued_bytes > CHANNEL_BYTES_MAX / 4 * 3;
}

bool
channel_pending(const struct channel *c)
{
	return !TAILQ_EMPTY(&c->queue);
}

static int
channel_send(struct channel *c, enum msg_type type, const void *body,
    const int *fds, size_t count)
{
	int all[CHANNEL_FDS_MAX + 1], blob_fd, r;
	struct bytes record;

	if (count > CHANNEL_FDS_MAX) {
		close_fds(fds, count);
		return -EMSGSIZE;
	}
	buf_clear(&c->out);
	r = msg_pack(type, body, &c->out, &blob_fd);
	if (r < 0) {
		close_fds(fds, count);
		return r;
	}
	/* A blob comes first: msg.def. */
	if (count > 0)
		memcpy(all + (blob_fd >= 0), fds, count * sizeof fds[0]);
	if (blob_fd >= 0) {
		all[0] = blob_fd;
		count++;
	}
	record = (struct bytes){.data = c->out.data, .len = c->out.len};
	r = channel_pending(c) ? -EAGAIN
			       : send_record(c->fd, record, all, count);
	if (r == -EAGAIN) {
		r = queue_push(c, record, all, count);
		if (r == 0)
			return 0; /* the queue holds the descriptors */
	}
	close_fds(all, count);
	return r;
}

int
channel_forward(struct channel *c, struct msg *m)
{
	int r = channel_send(c, m->type, &m->u, m->fds, m->fd_count);

	m->fd_count = 0;
	msg_done(m);
	return r;
}

#define MSG(NAME, name, from, to, fds_min, fds_max, fields)                    \
	int channel_send_##name(struct channel *c, const struct msg_##name *m, \
	    const int *fds, size_t count)                                      \
	{                                                                      \
		return channel_send(c, MSG_##NAME, m, fds, count);             \
	}
#include "privsep/msg.def"
