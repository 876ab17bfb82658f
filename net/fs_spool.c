#include "net/fs_spool.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "net/fs_call.h"

/* Add len bytes of the scratch buffer. Returns 0 or a negative errno. */
static int
add(struct fs_spool *s, size_t len)
{
	struct net *n = s->net;
	size_t done = 0;

	if (len > n->config.limits.message_budget - n->message_bytes)
		return -ENOBUFS;
	n->message_bytes += len;
	s->len += len;
	while (done < len) {
		ssize_t w = write(s->memfd, n->scratch + done, len - done);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		done += (size_t)w;
	}
	return s->len > FS_READ_MAX ? -EFBIG : 0;
}

static void
readable(struct watch *w, uint32_t events)
{
	struct fs_spool *s = container_of(w, struct fs_spool, watch);
	ssize_t len =
	    read(s->watch.fd, s->net->scratch, sizeof s->net->scratch);
	int r;

	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		poller_forget(s->net->poller, &s->watch);
		s->drained = true;
		if (s->told)
			fs_call_spooled(s->call, 0);
		return;
	}
	r = add(s, (size_t)len);
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
	s->net->message_bytes -= s->len;
	free(s);
}

bool
fs_spool_told(struct fs_spool *s)
{
	s->told = true;
	return s->drained;
}
