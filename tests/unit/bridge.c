#include "tests/unit/bridge.h"

#include <errno.h>
#include <fcntl.h>

#include "tests/unit/unit.h"

void
pipe_of(int *reader, int *writer)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	*reader = ends[0];
	*writer = ends[1];
}

struct rig *
rig_new(enum role self)
{
	enum role peer = self == ROLE_NET ? ROLE_WORKER : ROLE_NET;
	struct rig *g = calloc(1, sizeof *g);
	int ends[2];

	assert_non_null(g);
	assert_int_equal(channel_pair(ends), 0);
	pipe_of(&g->in, &g->feed);
	pipe_of(&g->drain, &g->out);
	g->far = channel_new(ends[1], peer, self);
	assert_non_null(g->far);
	assert_int_equal(bridge_init(&g->bridge,
			     &(struct bridge_ends){.channel_fd = ends[0],
				 .self = self,
				 .in = g->in,
				 .out = g->out,
				 .note = -1}),
	    0);
	return g;
}

void
rig_free(struct rig *g)
{
	int fds[] = {g->in, g->out, g->feed, g->drain};

	bridge_done(&g->bridge);
	channel_free(g->far);
	for (size_t i = 0; i < COUNT(fds); i++)
		fd_close(&fds[i]);
	free(g);
}

enum bridge_result
run(struct rig *g)
{
	enum bridge_result r = BRIDGE_GOES_ON;

	for (int i = 0; i < 8 && r == BRIDGE_GOES_ON; i++)
		r = bridge_turn(&g->bridge, 0, &g->e);
	return r;
}

enum bridge_result
feed(struct rig *g, uint8_t kind, uint32_t len, const void *payload, size_t n)
{
	scoped_buf frame = {.max = BRIDGE_HEADER + BRIDGE_FRAME_MAX + 16};

	assert_int_equal(buf_put_u8(&frame, kind), 0);
	assert_int_equal(buf_put_u32(&frame, len), 0);
	assert_int_equal(buf_put(&frame, payload, n), 0);
	for (size_t at = 0; at < frame.len;) {
		ssize_t w = write(g->feed, frame.data + at, frame.len - at);
		enum bridge_result r = run(g);

		if (r != BRIDGE_GOES_ON)
			return r;
		if (w < 0)
			assert_int_equal(errno, EAGAIN);
		at += w < 0 ? 0 : (size_t)w;
	}
	return run(g);
}

enum bridge_result
feed_record(struct rig *g, uint8_t kind, enum msg_type type, const void *m)
{
	scoped_buf record = {.max = CHANNEL_RECORD_MAX};
	int blob;

	assert_int_equal(msg_pack(type, m, &record, &blob), 0);
	fd_close(&blob);
	return feed(g, kind, (uint32_t)record.len, record.data, record.len);
}

enum bridge_result
feed_end(struct rig *g, uint32_t errnum)
{
	const uint8_t end[] = {(uint8_t)errnum, (uint8_t)(errnum >> 8), 0, 0};

	return feed(g, BRIDGE_END, 4, end, sizeof end);
}

enum bridge_result
feed_part(struct rig *g, size_t len)
{
	static const uint8_t bytes[BRIDGE_FRAME_MAX + 1];

	return feed(g, BRIDGE_PART, (uint32_t)len, bytes, len);
}

struct msg
hear(struct rig *g, enum msg_type type)
{
	struct msg m;

	assert_int_equal(channel_recv(g->far, &m, &g->e), 1);
	assert_int_equal(m.type, type);
	return m;
}

void
hear_nothing(struct rig *g)
{
	struct msg m;

	assert_int_equal(channel_recv(g->far, &m, &g->e), -EAGAIN);
}
