#include "exec/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"

/* A turn of the loop reads no more than that. */
#define CHUNK	    4096
/* What a pipe may hold at the end of its writers, and more. */
#define LAST_CHUNKS 64

struct captures *
captures_new(void)
{
	struct captures *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->out.source = SOURCE_NONE;
	c->err.source = SOURCE_NONE;
	return c;
}

void
captures_free(struct captures *c)
{
	if (c == NULL)
		return;
	source_close(&c->out.source);
	source_close(&c->err.source);
	free(c);
}

/* Keep the end of what was kept and of text[0..len). */
static void
keep(struct capture *c, const uint8_t *text, size_t len)
{
	size_t over;

	if (len > CAPTURE_MAX) {
		c->cut = true;
		text += len - CAPTURE_MAX;
		len = CAPTURE_MAX;
	}
	if (len > CAPTURE_MAX - c->len) {
		c->cut = true;
		over = len - (CAPTURE_MAX - c->len);
		memmove(c->text, c->text + over, c->len - over);
		c->len -= over;
	}
	memcpy(c->text + c->len, text, len);
	c->len += len;
}

/* False when there is nothing to be had now, or any more. */
static bool
read_some(struct capture *c)
{
	uint8_t chunk[CHUNK];
	ssize_t n;

	if (c->source.fd < 0)
		return false;
	n = read(c->source.fd, chunk, sizeof chunk);
	if (n > 0) {
		keep(c, chunk, (size_t)n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		source_close(&c->source);
	return n < 0 && errno == EINTR;
}

static void
ready(struct executor *x, struct source *source)
{
	(void)x;
	(void)read_some(source->owner);
}

static int
begin(struct capture *c, int epfd, int fd)
{
	c->source = (struct source){.fd = fd, .ready = ready, .owner = c};
	return source_watch(epfd, &c->source, EPOLLIN);
}

int
captures_begin(struct captures *c, int epfd, int out_fd, int err_fd)
{
	int r = begin(&c->out, epfd, out_fd);
	int other = begin(&c->err, epfd, err_fd);

	return r < 0 ? r : other;
}

static void
finish(struct capture *c)
{
	for (int i = 0; i < LAST_CHUNKS && read_some(c); i++)
		continue;
	source_close(&c->source);
}

void
captures_finish(struct captures *c)
{
	finish(&c->out);
	finish(&c->err);
}

static bool
is_plain(uint8_t c)
{
	return c > ' ' && c < 0x7f;
}

void
capture_words(const struct capture *c, char out[CAPTURE_TEXT_MAX])
{
	size_t end = c->len, begin;

	while (end > 0 && !is_plain(c->text[end - 1]))
		end--;
	begin = end;
	while (begin > 0 && c->text[begin - 1] != '\n')
		begin--;
	log_quotable(c->text + begin, end - begin, out, CAPTURE_TEXT_MAX);
}
