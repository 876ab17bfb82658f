#include "exec/bridge.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { AT_CHANNEL, AT_IN, AT_OUT, AT_SINK, AT_BODY, AT_NOTE, AT_COUNT };

int
bridge_init(struct bridge *b, const struct bridge_ends *ends)
{
	enum role peer = ends->self == ROLE_NET ? ROLE_WORKER : ROLE_NET;

	b->self = ends->self;
	b->note_fd = ends->note;
	b->note_len = 0;
	b->channel = channel_new(ends->channel_fd, ends->self, peer);
	bridge_in_init(&b->in, b->channel, ends->self, peer, ends->in);
	bridge_out_init(&b->out, b->channel, ends->out);
	return b->channel == NULL ? -ENOMEM : 0;
}

void
bridge_done(struct bridge *b)
{
	bridge_in_done(&b->in);
	bridge_out_done(&b->out);
	channel_free(b->channel);
}

void
bridge_read_note(struct bridge *b)
{
	char more[256];
	ssize_t n = read(b->note_fd, more, sizeof more);
	size_t len, over;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		b->note_fd = -1;
		return;
	}
	len = (size_t)n;
	over = b->note_len + len > sizeof b->note
		   ? b->note_len + len - sizeof b->note
		   : 0;
	memmove(b->note, b->note + over, b->note_len - over);
	b->note_len -= over;
	memcpy(b->note + b->note_len, more, len);
	b->note_len += len;
}

/* What each of the two halves waits for. */
static void
set_polls(const struct bridge *b, struct pollfd p[AT_COUNT])
{
	int sink = bridge_in_waits(&b->in);
	bool pending = channel_pending(b->channel);
	bool reads = sink < 0 && !pending;

	p[AT_CHANNEL] = (struct pollfd){.fd = channel_fd(b->channel),
	    .events = (short)((bridge_out_takes(&b->out) ? POLLIN : 0) |
			      (pending ? POLLOUT : 0))};
	/* There the stream's end is to be seen whatever else is on the way:
	 * then nobody is left to serve. Here what came before it is due. */
	p[AT_IN] =
	    (struct pollfd){.fd = reads || b->self == ROLE_NET ? b->in.fd : -1,
		.events = reads ? POLLIN : 0};
	p[AT_OUT] =
	    (struct pollfd){.fd = bridge_out_writes(&b->out) ? b->out.fd : -1,
		.events = POLLOUT};
	p[AT_SINK] = (struct pollfd){.fd = sink, .events = POLLOUT};
	p[AT_BODY] =
	    (struct pollfd){.fd = bridge_out_pumps(&b->out) ? b->out.body : -1,
		.events = POLLIN};
	p[AT_NOTE] = (struct pollfd){.fd = b->note_fd, .events = POLLIN};
}

static enum bridge_result
judge(int r, enum bridge_result at_end, enum bridge_result at_eproto)
{
	if (r > 0)
		return BRIDGE_GOES_ON;
	if (r == 0)
		return at_end;
	return r == -EPROTO ? at_eproto : BRIDGE_FAILED;
}

/* What the channel has. */
static enum bridge_result
serve_channel(struct bridge *b, struct err *e)
{
	int r;

	if (channel_flush(b->channel) < 0)
		return BRIDGE_CHANNEL_ENDED;
	/* Nothing but its end can be new to one that takes nothing now. */
	if (!bridge_out_takes(&b->out))
		return BRIDGE_CHANNEL_ENDED;
	r = bridge_out_take(&b->out, e);
	return judge(r, BRIDGE_CHANNEL_ENDED, BRIDGE_FAILED);
}

/* What the stream has, or its reader makes room for. */
static enum bridge_result
serve_stream(struct bridge *b, const struct pollfd p[AT_COUNT], struct err *e)
{
	int r = 1;

	if (p[AT_SINK].revents != 0)
		r = bridge_in_write(&b->in, e);
	else if (p[AT_IN].revents != 0 && p[AT_IN].events == 0)
		r = 0;
	else if (p[AT_IN].revents != 0)
		r = bridge_in_read(&b->in, e);
	return judge(r, BRIDGE_STREAM_ENDED, BRIDGE_BROKEN);
}

static enum bridge_result
serve_out(struct bridge *b, const struct pollfd p[AT_COUNT], struct err *e)
{
	int r = 1;

	if (p[AT_OUT].revents != 0)
		r = bridge_out_write(&b->out, e);
	else if (p[AT_BODY].revents != 0)
		r = bridge_out_pump(&b->out, e);
	return judge(r == -EPIPE ? 0 : r, BRIDGE_STREAM_ENDED, BRIDGE_FAILED);
}

enum bridge_result
bridge_turn(struct bridge *b, int timeout_ms, struct err *e)
{
	enum bridge_result result = BRIDGE_GOES_ON;
	struct pollfd p[AT_COUNT];
	int n;

	set_polls(b, p);
	n = poll(p, AT_COUNT, timeout_ms);
	if (n < 0 && errno != EINTR) {
		(void)err_errno(e, errno, "poll");
		return BRIDGE_FAILED;
	}
	if (n <= 0)
		return BRIDGE_GOES_ON;
	if (p[AT_NOTE].revents != 0)
		bridge_read_note(b);
	if (p[AT_CHANNEL].revents & ~POLLOUT)
		result = serve_channel(b, e);
	else if (p[AT_CHANNEL].revents != 0 && channel_flush(b->channel) < 0)
		result = BRIDGE_CHANNEL_ENDED;
	if (result == BRIDGE_GOES_ON)
		result = serve_stream(b, p, e);
	/* What was taken just now has not been waited for. */
	if (result == BRIDGE_GOES_ON)
		result = serve_out(b, p, e);
	return result;
}
