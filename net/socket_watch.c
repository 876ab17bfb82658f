#include "net/socket_watch.h"

#include <errno.h>

#include "net/connection.h"

/* A writable global, because recv(2) has no room for a context. */
static struct connection **by_fd;
static size_t by_fd_count;

int
socket_watch_init(size_t fd_max)
{
	by_fd = calloc(fd_max, sizeof(struct connection *));
	if (by_fd == NULL)
		return -ENOMEM;
	by_fd_count = fd_max;
	return 0;
}

void
socket_watch_done(void)
{
	free(by_fd);
	by_fd = NULL;
	by_fd_count = 0;
}

int
socket_watch_set(int fd, struct connection *c)
{
	if (fd < 0 || (size_t)fd >= by_fd_count)
		return -ERANGE;
	by_fd[fd] = c;
	return 0;
}

void
socket_watch_clear(int fd)
{
	if (fd >= 0 && (size_t)fd < by_fd_count)
		by_fd[fd] = NULL;
}

size_t
socket_watch_filter(int fd, const void *data, size_t len)
{
	struct connection *c;
	size_t pass;

	if (fd < 0 || (size_t)fd >= by_fd_count || by_fd[fd] == NULL)
		return len;
	c = by_fd[fd];
	pass = framewatch_scan(&c->framewatch, data, len);
	/* The library would answer bad UTF-8 with a close frame of its own,
	 * after ours. */
	if (c->close_sent) {
		connection_discarded(c);
		return 0;
	}
	if (pass < len)
		connection_close(c, 1002, "protocol error");
	return pass;
}
