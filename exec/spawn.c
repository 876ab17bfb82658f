#include "exec/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/socket.h>

#include "exec/init.h"
#include "exec/raw.h"

int
spawn(struct order *o, struct spawned *out)
{
	scoped_fd status_read = -1, status_write = -1;
	scoped_fd ours = -1, theirs = -1;
	int pair[2];
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	status_read = pair[0];
	status_write = pair[1];
	if (fcntl(status_read, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	o->status_fd = status_write;
	o->control_fd = theirs;
	pid = raw_clone(o->bare ? 0 : CLONE_NEWPID, &out->pidfd);
	if (pid < 0)
		return pid;
	if (pid == 0)
		init_run(o);
	out->status = fd_take(&status_read);
	out->control = fd_take(&ours);
	return 0;
}
