#include "exec/source.h"

#include <errno.h>
#include <sys/epoll.h>

int
source_watch(int epfd, struct source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};
	int op = EPOLL_CTL_MOD;

	if (events == s->events)
		return 0;
	if (s->events == 0)
		op = EPOLL_CTL_ADD;
	else if (events == 0)
		op = EPOLL_CTL_DEL;
	if (epoll_ctl(epfd, op, s->fd, &ev) < 0)
		return -errno;
	s->events = events;
	s->epfd = epfd;
	return 0;
}

void
source_forget(struct source *s)
{
	if (s->fd >= 0 && s->events != 0)
		(void)epoll_ctl(s->epfd, EPOLL_CTL_DEL, s->fd, NULL);
	s->events = 0;
}

void
source_close(struct source *s)
{
	source_forget(s);
	fd_close(&s->fd);
}
