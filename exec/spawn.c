#include "exec/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/socket.h>

#include "exec/init.h"
#include "exec/raw.h"

/*
 * Init, born in its group of version 2: entering one later makes every fork of
 * the host wait. Where that cannot be, it enters as it does the others.
 */
static pid_t
clone_init(struct order *o, int *pidfd)
{
	const uint64_t flags = o->bare ? 0 : CLONE_NEWPID;
	int group = o->cgroups[CGROUP_V2];
	pid_t pid;

	if (group < 0)
		return raw_clone(flags, pidfd);
	o->cgroups[CGROUP_V2] = -1;
	pid = raw_clone_into(flags, pidfd, group);
	if (pid != -ENOSYS)
		return pid;
	o->cgroups[CGROUP_V2] = group;
	return raw_clone(flags, pidfd);
}

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
	pid = clone_init(o, &out->pidfd);
	if (pid < 0)
		return pid;
	if (pid == 0)
		init_run(o);
	out->status = fd_take(&status_read);
	out->control = fd_take(&ours);
	return 0;
}
