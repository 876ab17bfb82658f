#include "http/loop.h"

#include <errno.h>
#include <sys/epoll.h>

int
source_watch(int epfd, struct source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data = {.ptr = s}};
	int op = events == 0	  ? EPOLL_CTL_DEL
		 : s->events == 0 ? EPOLL_CTL_ADD
				  : EPOLL_CTL_MOD;

	if (s->events == events)
		return 0;
	s->events = events;
	return epoll_ctl(epfd, op, s->fd, &ev) < 0 ? -errno : 0;
}

int
loop_turn(int epfd, int timeout_ms)
{
	struct epoll_event ev;
	struct source *s;
	int n = epoll_wait(epfd, &ev, 1, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return 0;
	s = ev.data.ptr;
	s->fn(s, ev.events);
	return 0;
}
