#include "net/fs_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "net/fs_call.h"

/* Count len bytes that were moved. Returns 0 or a negative errno. */
static int
count(struct fs_spool *s, uint64_t len)
{
	int r = net_charge(s->net, len);

	if (r < 0)
		return r;
	s->len += len;
	return s->len > FS_READ_MAX ? -EFBIG : 0;
}

static void
readable(struct watch *w, uint32_t events)
{
	struct fs_spool *s = container_of(w, struct fs_spool, watch);
	/* The worker made the pipe and may have its end too: it could make it
	 * blocking, or be the first to read. */
	ssize_t len = splice(s->watch.fd, NULL, s->memfd, NULL, STREAM_READ_MAX,
	    SPLICE_F_NONBLOCK);
	int r;

	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len < 0) {
		fs_call_spooled(s->call, -errno);
		return;
	}
	if (len == 0) {
		poller_forget(s->net->poller, &s->watch);
		s->drained = true;
		if (s->told)
			fs_call_spooled(s->call, 0);
		return;
	}
	r = count(s, (uint64_t)len);
	if (r < 0)
		fs_call_spooled(s->call, r);
}

struct fs_spool *
fs_spool_new(struct fs_call *call, struct fs_worker *w, int pipe_fd)
{
	struct fs_spool *s = calloc(1, sizeof *s);

	if (s == NULL) {
		(void)close(pipe_fd);
		return NULL;
	}
	s->call = call;
	s->net = call->net;
	s->worker = w;
	s->watch.fd = pipe_fd;
	s->watch.fn = readable;
	s->memfd = memfd_create("spool", MFD_CLOEXEC);
	if (s->memfd < 0 ||
	    poller_watch(s->net->poller, &s->watch, EPOLLIN) < 0) {
		fs_spool_free(s);
		return NULL;
	}
	return s;
}

void
fs_spool_free(struct fs_spool *s)
{
	if (s == NULL)
		return;
	poller_forget(s->net->poller, &s->watch);
	(void)close(s->watch.fd);
	fd_close(&s->memfd);
	net_release(s->net, s->len);
	free(s);
}

bool
fs_spool_told(struct fs_spool *s)
{
	s->told = true;
	return s->drained;
}

int
fs_spool_take(struct fs_spool *s, uint64_t *charged)
{
	*charged = s->len;
	s->len = 0;
	return fd_take(&s->memfd);
}
