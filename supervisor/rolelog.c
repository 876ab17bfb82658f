#include "supervisor/rolelog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READS_MAX 8 /* of LOG_LINE_MAX bytes before others have their turn */

int
rolelog_open(struct rolelog *l, enum role role, int *write_fd)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	*l = (struct rolelog){.role = role, .fd = fds[0]};
	*write_fd = fds[1];
	return 0;
}

/* Whoever started us may never read what we write: then lines are dropped, so
 * that signals and crashes are still attended to. */
static bool
has_room(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0;
}

static void
forward(struct rolelog *l, const char *line, size_t len)
{
	char out[LOG_LINE_MAX + 64];
	int n;

	if (!has_room()) {
		l->dropped++;
		return;
	}
	if (l->dropped > 0)
		log_warn("lines_dropped role=%s count=%llu", role_name(l->role),
		    (unsigned long long)l->dropped);
	l->dropped = 0;
	n = snprintf(out, sizeof out, "%s: %.*s", role_name(l->role), (int)len,
	    line);
	for (int i = 0; i < n; i++)
		if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
			out[i] = '?';
	out[n++] = '\n';
	while (write(STDERR_FILENO, out, (size_t)n) < 0 && errno == EINTR)
		;
}

/* Forward whole lines; one that fills the buffer is cut in pieces. */
static void
forward_lines(struct rolelog *l, bool all)
{
	for (;;) {
		const char *end = memchr(l->line, '\n', l->len);
		size_t len = end != NULL ? (size_t)(end - l->line) : l->len;
		size_t used = len + (end != NULL);

		if (l->len == 0)
			return;
		if (end == NULL && !all && l->len < sizeof l->line)
			return;
		forward(l, l->line, len);
		l->len -= used;
		memmove(l->line, l->line + used, l->len);
	}
}

bool
rolelog_read(struct rolelog *l)
{
	for (int i = 0; i < READS_MAX; i++) {
		ssize_t n =
		    read(l->fd, l->line + l->len, sizeof l->line - l->len);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false;
		l->len += (size_t)n;
		forward_lines(l, false);
	}
	return true;
}

void
rolelog_close(struct rolelog *l)
{
	if (l->fd < 0)
		return;
	(void)rolelog_read(l);
	forward_lines(l, true);
	fd_close(&l->fd);
}
