#include "exec/child_bridge.h"

#include <errno.h>
#include <fcntl.h>

#include "exec/bridge_here.h"
#include "exec/raw.h"
#include "privsep/filters.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"

/* Pipes between the two; ours[i] is the bridge's end of the command's i. */
struct pipes {
	int ours[3], theirs[3];
	int go[2]; /* a byte lets the command go */
};

static int
make_pipe(struct pipes *p, int i)
{
	int ends[2], far = i == 0 ? 1 : 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	p->ours[i] = ends[far];
	p->theirs[i] = ends[1 - far];
	return fcntl(p->ours[i], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int
make_pipes(struct pipes *p)
{
	for (int i = 0; i < 3; i++) {
		int r = make_pipe(p, i);

		if (r < 0)
			return r;
	}
	return pipe2(p->go, O_CLOEXEC) < 0 ? -errno : 0;
}

/* In the command's process. */
static int
become_command(const struct pipes *p, pid_t bridge)
{
	char byte;
	ssize_t n;
	int r = privdrop_end_with_parent(bridge);

	for (int i = 0; i < 3 && r == 0; i++)
		if (dup2(p->theirs[i], i) < 0)
			r = -errno;
	(void)close(p->go[1]);
	while (r == 0) {
		n = read(p->go[0], &byte, 1);
		if (n == 1)
			return 0;
		if (n == 0 || errno != EINTR)
			r = n == 0 ? -ECANCELED : -errno;
	}
	return r;
}

/* In this process: what it is not to have is closed, as a worker's. */
static int
confine(const struct order *o, const struct pipes *p)
{
	int keep[] = {p->ours[0], p->ours[1], p->ours[2], p->go[1],
	    o->worker_fd, o->program_fd, o->status_fd};
	int r = raw_close_except(keep, sizeof keep / sizeof keep[0]);

	return r < 0 ? r : lockdown(&filter_bridge);
}

static _Noreturn void
become_bridge(const struct order *o, const struct pipes *p)
{
	const struct bridge_here h = {.channel_fd = o->worker_fd,
	    .in = p->ours[1],
	    .out = p->ours[0],
	    .note = p->ours[2],
	    .program_fd = o->program_fd,
	    .program_len = o->program_len};
	int r = confine(o, p);

	if (r < 0)
		raw_fail(o->status_fd, STAGE_SECCOMP, -r);
	/* What is told of the start from here on is the command's. */
	(void)close(o->status_fd);
	if (write(p->go[1], "", 1) < 0)
		_exit(1);
	(void)close(p->go[1]);
	_exit(bridge_here_run(&h));
}

int
child_part(const struct order *o)
{
	pid_t self = getpid(), pid;
	struct pipes p;
	int r = make_pipes(&p);

	if (r < 0)
		return r;
	pid = raw_clone(0, NULL);
	if (pid == 0)
		return become_command(&p, self);
	if (pid < 0)
		return (int)pid;
	become_bridge(o, &p);
}
