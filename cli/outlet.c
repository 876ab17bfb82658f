#include "cli/outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "base/base64.h"

void
outlet_init(struct outlet *o, int fd)
{
	*o = (struct outlet){.fd = fd};
	buf_init(&o->waiting, 2 * OUTLET_FULL + OUTLET_PUT_MAX);
}

void
outlet_done(struct outlet *o)
{
	buf_done(&o->waiting);
}

static void
forget_written(struct outlet *o)
{
	buf_consume(&o->waiting, o->written);
	o->written = 0;
}

int
outlet_put_base64(struct outlet *o, const char *text, size_t len)
{
	size_t got, bad;
	int r;

	if (o->broken)
		return 0;
	/* Moving the rest forward now and then, not for every chunk. */
	if (o->written > o->waiting.len / 2)
		forget_written(o);
	r = buf_reserve(&o->waiting, base64_decoded_max(len));
	if (r < 0)
		return r;
	r = base64_decode(o->waiting.data + o->waiting.len, text, len, &got,
	    &bad);
	if (r < 0)
		return r;
	o->waiting.len += got;
	return 0;
}

static bool
is_writable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1;
}

static int
on_write_error(struct outlet *o, int code)
{
	if (code == EINTR || code == EAGAIN)
		return 0;
	if (code != EPIPE)
		return -code;
	o->broken = true;
	buf_clear(&o->waiting);
	o->written = 0;
	return 0;
}

int
outlet_flush(struct outlet *o)
{
	/* A pipe that polls as writable has room for PIPE_BUF bytes, so that
	 * writing no more than these does not block. */
	while (!outlet_is_empty(o) && is_writable(o->fd)) {
		size_t left = o->waiting.len - o->written;
		ssize_t n = write(o->fd, o->waiting.data + o->written,
		    left < PIPE_BUF ? left : PIPE_BUF);

		if (n < 0)
			return on_write_error(o, errno);
		o->written += (size_t)n;
	}
	if (outlet_is_empty(o))
		forget_written(o);
	return 0;
}

bool
outlet_is_empty(const struct outlet *o)
{
	return o->written == o->waiting.len;
}

bool
outlet_is_full(const struct outlet *o)
{
	return o->waiting.len - o->written >= OUTLET_FULL;
}
