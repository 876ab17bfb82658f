#include "net/confine.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "privsep/filters.h"
#include "privsep/jail.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"
#include "privsep/report.h"

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
drop_ids(const struct config *config, struct err *e)
{
	int r = 0;

	/* Without root there is one id in our user namespace: our own. */
	if (config->uid != 0)
		r = privdrop_ids(config->uid, config->gid, true);
	return r < 0 ? err_errno(e, -r, "ids") : 0;
}

static int
set_rlimits(const struct config *config, struct err *e)
{
	uint64_t space = ADDRESS_SPACE_MAX + 2 * config->limits.message_budget;
	const struct {
		int resource;
		rlim_t value;
	} rows[] = {
	    {RLIMIT_CORE, 0},
	    {RLIMIT_NPROC, 0},
	    /* memfds count as files: no content is larger. */
	    {RLIMIT_FSIZE, FS_READ_MAX},
#ifndef SANITIZED
	    {RLIMIT_AS, space},
#endif
	};

	(void)space;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int r = privdrop_rlimit(rows[i].resource, rows[i].value);

		if (r < 0)
			return err_errno(e, -r, "rlimit %d", rows[i].resource);
	}
	return 0;
}

/* The steps that leave nothing to give up but the filter. Returns Landlock's
 * ABI or a negative errno. */
static int
drop_rights(const struct config *config, pid_t parent, struct err *e)
{
	/* Neither root nor in a user namespace there is no right to cut the
	 * set, and no_new_privs makes it meaningless. */
	bool bounds = config->uid != 0 || (config->lacks & ROLE_NS_MNT) == 0;
	int r = bounds ? privdrop_bounding(0) : 0;

	if (r < 0)
		return err_errno(e, -r, "bounding set");
	r = drop_ids(config, e);
	if (r < 0)
		return r;
	r = privdrop_caps(0, false);
	if (r < 0)
		return err_errno(e, -r, "capabilities");
	r = set_rlimits(config, e);
	if (r < 0)
		return r;
	r = privdrop_end_with_parent(parent);
	if (r < 0)
		return err_errno(e, -r, "death with the supervisor");
	r = privdrop_undumpable();
	if (r == 0)
		r = privdrop_no_new_privs();
	if (r < 0)
		return err_errno(e, -r, "dumpable, no_new_privs");
	r = privdrop_landlock_nothing();
	return r < 0 ? err_errno(e, -r, "landlock") : r;
}

int
confine(struct net *n, struct err *e)
{
	struct msg_role_ready ready = {0};
	/* Until the change of ids, our start has seen to it that we end with
	 * the supervisor: so this is the supervisor. */
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
