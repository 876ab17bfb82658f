#include "net/stream.h"

#include <errno.h>
#include <sys/epoll.h>

#include "net/process.h"
#include "net/session.h"

/* Whether the client's queue is too long to read more for it. */
static bool
must_wait(const struct stream *s)
{
	const struct connection *c = s->process->session->connection;

	return c != NULL && connection_is_full(c);
}

static void
set_paused(struct stream *s, bool paused)
{
	if (s->paused == paused)
		return;
	s->paused = paused;
	if (paused)
		s->process->session->paused_streams++;
	else
		s->process->session->paused_streams--;
}

static void
readable(struct watch *w, uint32_t events)
{
	struct stream *s = container_of(w, struct stream, watch);
	struct process *p = s->process;
	struct net *n = p->session->net;
	ssize_t len;

	(void)events;
	if (must_wait(s)) {
		set_paused(s, true);
		if (poller_watch(n->poller, &s->watch, 0) < 0)
			net_stop(n, 1);
		return;
	}
	len = read(s->watch.fd, n->scratch, sizeof n->scratch);
	if (len > 0) {
		process_on_output(p, s->kind,
		    (struct bytes){.data = n->scratch, .len = (size_t)len});
		return;
	}
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* 0 ends a pipe, EIO a pty whose last slave was closed. */
	stream_close(s);
	process_on_eof(p);
}

void
stream_open(struct stream *s, struct process *p, int fd, enum stream_kind kind)
{
	*s = (struct stream){.process = p, .kind = kind, .open = true};
	s->watch.fd = fd;
	s->watch.fn = readable;
	if (poller_watch(p->session->net->poller, &s->watch, EPOLLIN) < 0)
		stream_close(s);
}

void
stream_close(struct stream *s)
{
	if (!s->open)
		return;
	poller_forget(s->process->session->net->poller, &s->watch);
	(void)close(s->watch.fd);
	set_paused(s, false);
	s->open = false;
}

void
stream_catch_up(struct stream *s)
{
	if (s->open && !s->paused)
		readable(&s->watch, 0);
}

void
stream_resume(struct stream *s)
{
	struct net *n;

	if (!s->open || !s->paused || must_wait(s))
		return;
	n = s->process->session->net;
	set_paused(s, false);
	if (poller_watch(n->poller, &s->watch, EPOLLIN) < 0)
		net_stop(n, 1);
}

/* Count what is queued, and len more that are to be. 0 or -ENOBUFS. */
static int
charge(struct input *in, size_t len)
{
	struct net *n = in->process->session->net;
	uint64_t all = in->queue.len + len;
	uint64_t want = all > INPUT_FREE ? all - INPUT_FREE : 0;
	int r = 0;

	if (want > in->charged)
		r = net_charge(n, want - in->charged);
	else
		net_release(n, in->charged - want);
	if (r == 0)
		in->charged = want;
	return r;
}

/* Write from the front of the queue. Returns 0, also if some is left; -EPIPE
 * when there is no reader any more. */
static int
flush(struct input *in)
{
	while (in->queue.len > 0) {
		ssize_t n = write(in->watch.fd, in->queue.data, in->queue.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return -EPIPE;
		buf_consume(&in->queue, (size_t)n);
	}
	return 0;
}

/* Wait for room while something is queued; finish when that was asked for. */
static void
settle(struct input *in, int r)
{
	struct net *n = in->process->session->net;
	uint32_t events = in->queue.len > 0 ? EPOLLOUT : 0;

	if (r < 0 || (in->close_when_empty && in->queue.len == 0)) {
		input_close(in);
		return;
	}
	/* It has become no longer, so this cannot fail. */
	(void)!charge(in, 0);
	if (in->queue.len == 0)
		buf_done(&in->queue);
	if (poller_watch(n->poller, &in->watch, events) < 0)
		input_close(in);
}

static void
writable(struct watch *w, uint32_t events)
{
	struct input *in = container_of(w, struct input, watch);

	(void)events;
	settle(in, flush(in));
}

void
input_open(struct input *in, struct process *p, int fd, size_t queue_max)
{
	*in = (struct input){.process = p, .open = true};
	buf_init(&in->queue, queue_max);
	in->watch.fd = fd;
	in->watch.fn = writable;
}

int
input_write(struct input *in, struct bytes data)
{
	int r;

	if (!in->open || in->close_when_empty)
		return -EPIPE;
	r = charge(in, data.len);
	if (r == 0) {
		r = buf_put(&in->queue, data.data, data.len);
		if (r < 0)
			(void)!charge(in, 0);
	}
	if (r < 0)
		return r;
	r = flush(in);
	settle(in, r);
	return r;
}

void
input_finish(struct input *in)
{
	if (!in->open)
		return;
	in->close_when_empty = true;
	settle(in, 0);
}

void
input_close(struct input *in)
{
	if (!in->open)
		return;
	poller_forget(in->process->session->net->poller, &in->watch);
	(void)close(in->watch.fd);
	buf_done(&in->queue);
	(void)!charge(in, 0);
	in->open = false;
}
