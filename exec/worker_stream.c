#include "exec/worker_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "exec/worker_data.h"

/* Bytes read at a time: what a pipe holds. */
#define CHUNK_MAX (64u * 1024u)

struct stream {
	struct channel *channel;
	int from, to;
	uint64_t at;
	uint8_t *chunk; /* CHUNK_MAX bytes */
	size_t len;	/* of chunk */
};

/* Wait for events on fd, or for net's end. Returns 0 or a negative errno. */
static int
wait_for(int channel_fd, int fd, short events)
{
	struct pollfd p[2] = {
	    {.fd = fd, .events = events},
	    {.fd = channel_fd, .events = POLLRDHUP},
	};

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return p[1].revents != 0 ? -EPIPE : 0;
}

int
worker_stream_settle(struct channel *c)
{
	int r = channel_flush(c);

	while (r == 0 && channel_pending(c)) {
		r = wait_for(channel_fd(c), channel_fd(c), POLLOUT);
		if (r == 0)
			r = channel_flush(c);
	}
	return r;
}

static int
fill(struct stream *s)
{
	uint64_t left = FS_READ_MAX - s->at;
	int r;

	/* One byte past the bound tells a file that is too long. */
	r = worker_data_get(s->from, s->chunk,
	    left < CHUNK_MAX ? (size_t)left + 1 : CHUNK_MAX, s->at, &s->len);
	if (r == 0 && s->len > left)
		r = -EFBIG;
	return r;
}

/*
 * Put the chunk into the pipe. Returns 0; 1 if net has closed its end, which
 * ends this file only; a negative errno of the channel.
 */
static int
drain(struct stream *s)
{
	size_t done = 0;

	while (done < s->len) {
		ssize_t n = write(s->to, s->chunk + done, s->len - done);
		int r;

		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return 1;
		r = wait_for(channel_fd(s->channel), s->to, POLLOUT);
		if (r < 0)
			return r;
	}
	s->at += s->len;
	return 0;
}

/* From the second chunk on. *errnum: what ended the file early, or 0. */
static int
pump(struct stream *s, uint32_t *errnum)
{
	*errnum = 0;
	for (;;) {
		int r = drain(s);

		if (r < 0)
			return r;
		if (r > 0) {
			*errnum = EPIPE;
			return 0;
		}
		if (s->len < CHUNK_MAX)
			return 0;
		r = fill(s);
		if (r < 0) {
			*errnum = (uint32_t)-r;
			return 0;
		}
	}
}

static int
fail(struct channel *c, uint32_t number, int errnum)
{
	const struct msg_fs_failed m = {.number = number,
	    .errnum = (uint32_t)errnum};

	return channel_send_fs_failed(c, &m, NULL, 0);
}

static int
stream(struct stream *s, uint32_t number, uint64_t size)
{
	struct msg_fs_file head = {.number = number,
	    .size = size,
	    .streamed = 1};
	struct msg_fs_streamed tail = {.number = number};
	int r, ends[2];

	/* Before anything is promised: most errors come with the first read. */
	r = fill(s);
	if (r < 0)
		return fail(s->channel, number, -r);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return fail(s->channel, number, errno);
	s->to = ends[1];
	r = channel_send_fs_file(s->channel, &head, &ends[0], 1);
	if (r == 0)
		r = worker_stream_settle(s->channel);
	if (r == 0)
		r = pump(s, &tail.errnum);
	fd_close(&s->to);
	if (r == 0)
		r = channel_send_fs_streamed(s->channel, &tail, NULL, 0);
	return r;
}

int
worker_stream(struct channel *c, uint32_t number, int fd, uint64_t size)
{
	struct stream s = {.channel = c, .from = fd, .to = -1};
	int r;

	s.chunk = malloc(CHUNK_MAX);
	r = s.chunk == NULL ? fail(c, number, ENOMEM)
			    : stream(&s, number, size);
	free(s.chunk);
	return r;
}
