#include "exec/bridge_here.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "exec/bridge.h"
#include "exec/worker_fs.h"

/* The bytes of the program that are on the way at a time. */
#define CHUNK_MAX (32u * 1024u)

/* Until the worker has said what it is. */
struct greeting {
	const struct bridge_here *ends;
	struct bridge *bridge;
	uint64_t sent; /* of the program */
	struct buf chunk;
	size_t chunk_at;
	char said[BRIDGE_HELLO_LEN];
	size_t said_len;
};

static bool
is_sending(const struct greeting *g)
{
	return g->ends->program_fd >= 0 && g->sent < g->ends->program_len;
}

/* Read on in the program. 0 or a negative errno. */
static int
fill(struct greeting *g)
{
	uint64_t left = g->ends->program_len - g->sent;
	size_t want = left < CHUNK_MAX ? (size_t)left : CHUNK_MAX;
	ssize_t n;
	int r;

	buf_clear(&g->chunk);
	r = buf_reserve(&g->chunk, want);
	if (r < 0)
		return r;
	n = pread(g->ends->program_fd, g->chunk.data, want, (off_t)g->sent);
	if (n <= 0)
		return n < 0 ? -errno : -EIO;
	g->chunk.len = (size_t)n;
	g->chunk_at = 0;
	return 0;
}

/* Write some of the program. 1; 0 if nobody reads; a negative errno. */
static int
send_program(struct greeting *g)
{
	ssize_t n;
	int r = g->chunk_at == g->chunk.len ? fill(g) : 0;

	if (r < 0)
		return r;
	n = write(g->ends->out, g->chunk.data + g->chunk_at,
	    g->chunk.len - g->chunk_at);
	if (n < 0)
		return errno == EAGAIN ? 1 : errno == EPIPE ? 0 : -errno;
	g->chunk_at += (size_t)n;
	g->sent += (uint64_t)n;
	return 1;
}

static struct bytes
said(const struct greeting *g)
{
	return (
	    struct bytes){.data = (const uint8_t *)g->said, .len = g->said_len};
}

/* Read some of the first line. 1; 0 at the end, or if it is none. */
static int
hear(struct greeting *g)
{
	ssize_t n = read(g->ends->in, g->said + g->said_len,
	    sizeof g->said - g->said_len);

	if (n < 0)
		return errno == EAGAIN ? 1 : 0;
	g->said_len += (size_t)n;
	return n > 0 && bridge_hello_begins(said(g));
}

/* Wait for the line. 1 once all its bytes are there; 0 if they will not be;
 * -EPIPE at the channel's end; another negative errno. */
static int
greet(struct greeting *g)
{
	struct bridge *b = g->bridge;
	int r = 1;

	while (r > 0 && g->said_len < BRIDGE_HELLO_LEN) {
		struct pollfd p[] = {
		    {.fd = channel_fd(b->channel), .events = 0},
		    {.fd = g->ends->in, .events = POLLIN},
		    {.fd = is_sending(g) ? g->ends->out : -1,
			.events = POLLOUT},
		    {.fd = b->note_fd, .events = POLLIN},
		};

		if (poll(p, 4, -1) < 0 && errno != EINTR)
			return -errno;
		if (p[0].revents != 0)
			return -EPIPE;
		if (p[3].revents != 0)
			bridge_read_note(b);
		if (p[1].revents != 0)
			r = hear(g);
		if (r > 0 && p[2].revents != 0)
			r = send_program(g);
	}
	return r;
}

/* What the command has said beside its streams. */
static struct bytes
note(struct bridge *b)
{
	/* Its last words may have come after its end. */
	if (b->note_fd >= 0)
		bridge_read_note(b);
	return (
	    struct bytes){.data = (const uint8_t *)b->note, .len = b->note_len};
}

/* Wait for events of the channel, of which its end is one. False on that. */
static bool
wait_channel(const struct bridge *b, short events)
{
	struct pollfd p = {.fd = channel_fd(b->channel), .events = events};

	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return false;
	return (p.revents & ~events) == 0;
}

/* Tell net that this is over, and wait for it to see that. */
static int
lose(struct bridge *b, enum fs_lost_reason reason, struct bytes text)
{
	const struct msg_fs_lost m = {.reason = (uint32_t)reason, .text = text};
	int r = channel_send_fs_lost(b->channel, &m, NULL, 0);

	while (r == 0 && channel_pending(b->channel))
		r = wait_channel(b, POLLOUT) ? channel_flush(b->channel)
					     : -EPIPE;
	if (r == 0)
		(void)wait_channel(b, 0);
	return 1;
}

/* 0 once a worker of ours is there, else what lose said. */
static int
begin(struct bridge *b, const struct bridge_here *h, bool *there)
{
	struct greeting g = {.ends = h, .bridge = b};
	char ours[BRIDGE_HELLO_LEN];
	enum bridge_hello what;
	int r = bridge_hello(ours);

	*there = false;
	buf_init(&g.chunk, CHUNK_MAX);
	if (r == 0)
		r = greet(&g);
	buf_done(&g.chunk);
	if (r == -EPIPE)
		return 0;
	what = bridge_hello_judge(said(&g), ours);
	*there = r > 0 && what == BRIDGE_OURS;
	if (*there)
		return 0;
	if (what == BRIDGE_OTHER_BUILD)
		return lose(b, FS_LOST_OTHER_BUILD, said(&g));
	if (g.said_len > 0)
		return lose(b, FS_LOST_NO_WORKER, said(&g));
	/* An error of ours is no word of the command's. */
	return lose(b, FS_LOST_NO_START,
	    r < 0 ? bytes_of(strerror(-r)) : note(b));
}

static int
serve(struct bridge *b)
{
	enum bridge_result result;
	struct err e = {0};

	do
		result = bridge_turn(b, -1, &e);
	while (result == BRIDGE_GOES_ON);
	switch (result) {
	case BRIDGE_STREAM_ENDED:
		return lose(b, FS_LOST_ENDED, note(b));
	case BRIDGE_BROKEN:
		return lose(b, FS_LOST_BROKEN, bytes_of(e.text));
	case BRIDGE_FAILED:
		return lose(b, FS_LOST_ENDED, bytes_of(e.text));
	case BRIDGE_CHANNEL_ENDED:
	case BRIDGE_GOES_ON:
		break;
	}
	return 0;
}

int
bridge_here_run(const struct bridge_here *h)
{
	struct bridge b;
	bool there = false;
	int r =
	    bridge_init(&b, &(struct bridge_ends){.channel_fd = h->channel_fd,
				.self = ROLE_WORKER,
				.in = h->in,
				.out = h->out,
				.note = h->note});

	worker_fs_block_signals();
	if (r == 0)
		r = begin(&b, h, &there);
	if (r == 0 && there)
		r = serve(&b);
	bridge_done(&b);
	return r != 0;
}
