#include "exec/probe.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <sys/wait.h>

#include "exec/landlock.h"
#include "exec/raw.h"

static bool
can_clone(uint64_t flags)
{
	pid_t pid = raw_clone(flags, NULL);
	int status;

	if (pid == 0)
		_exit(0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool
has_negative_oom_score(void)
{
	scoped_fd fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	char first = '0';

	return fd >= 0 && read(fd, &first, 1) == 1 && first == '-';
}

void
probe_run(struct probe *p)
{
	p->landlock_abi = landlock_abi();
	p->userns = can_clone(CLONE_NEWUSER);
	p->raise_oom_score = has_negative_oom_score();
}

void
probe_text(const struct probe *p, char *out, size_t size)
{
	(void)snprintf(out, size,
	    "landlock=%u userns=%s cgroup=none limits=rlimit", p->landlock_abi,
	    p->userns ? "yes" : "no");
}
