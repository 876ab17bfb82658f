#include "net/confine.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "privsep/filters.h"
#include "privsep/jail.h"
#include "privsep/lockdown.h"
#include "privsep/report.h"
#include "privsep/role_drop.h"

/* Address space: the largest message budget plus all that is bounded apart
 * from it. */
#define ADDRESS_SPACE_MAX (UINT64_C(4) << 30)

int
confine_wait(struct channel *c, struct msg *m, struct err *e)
{
	struct pollfd p = {.fd = channel_fd(c), .events = POLLIN};
	int r;

	do {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return err_errno(e, errno, "poll");
		r = channel_recv(c, m, e);
	} while (r == -EAGAIN);
	if (r == 0)
		return err_set(e, EPIPE, "the supervisor has gone");
	return r < 0 ? r : 0;
}

static int
drop_rights(const struct config *config, pid_t parent, struct err *e)
{
	const struct role_rlimit rlimits[] = {
	    /* memfds count as files: no content is larger. */
	    {RLIMIT_FSIZE, FS_READ_MAX},
#ifndef SANITIZED
	    {RLIMIT_AS, ADDRESS_SPACE_MAX + 2 * config->limits.message_budget},
#endif
	};
	const struct role_drop all = {.uid = config->uid,
	    .gid = config->gid,
	    .bare = (config->lacks & ROLE_NS_MNT) != 0,
	    .parent = parent,
	    .rlimits = rlimits,
	    .rlimit_count = sizeof rlimits / sizeof rlimits[0]};

	return role_drop(&all, e);
}

int
confine(struct net *n, struct err *e)
{
	struct msg_role_ready ready = {0};
	pid_t parent = getppid();
	struct namespaces before, after;
	int r, abi;

	r = namespaces_read(&before);
	if (r < 0)
		return err_errno(e, -r, "namespaces");
	r = jail_enter_without(n->config.lacks, &after, e);
	if (r < 0)
		return r;
	abi = drop_rights(&n->config, parent, e);
	if (abi < 0)
		return abi;
	r = lockdown(&filter_net);
	if (r < 0)
		return err_errno(e, -r, "system call filter");
	ready.landlock_abi = (uint32_t)abi;
	ready.namespaces = namespaces_differ(&before, &after);
	r = report_fill(&ready);
	if (r == 0)
		r = channel_send_role_ready(n->supervisor, &ready, NULL, 0);
	return r < 0 ? err_errno(e, -r, "report") : 0;
}
