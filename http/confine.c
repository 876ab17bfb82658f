#include "http/confine.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "privsep/filters.h"
#include "privsep/jail.h"
#include "privsep/lockdown.h"
#include "privsep/report.h"
#include "privsep/role_drop.h"

/* Libraries, certificates, a TLS connection each, and what a compressed body
 * may swell to in one step: far above what is used. */
#define ADDRESS_SPACE_MAX (UINT64_C(1) << 30)
/* Connections, their bodies, the resolver's sockets. */
#define FILES_MAX	  512

static int
drop_rights(const struct config *c, pid_t parent, struct err *e)
{
	const struct role_rlimit rlimits[] = {
	    {RLIMIT_NOFILE, FILES_MAX},
	    /* A body that is kept is a file. */
	    {RLIMIT_FSIZE, c->policy.max_body},
#ifndef SANITIZED
	    {RLIMIT_AS, ADDRESS_SPACE_MAX},
#endif
	};
	const struct role_drop all = {.uid = c->uid,
	    .gid = c->gid,
	    .bare = c->bare,
	    .connect = true,
	    .parent = parent,
	    .rlimits = rlimits,
	    .rlimit_count = sizeof rlimits / sizeof rlimits[0]};

	return role_drop(&all, e);
}

static int
tell(const struct config *c, struct channel *exec, struct err *e)
{
	struct msg_role_ready reached = {0};
	struct msg_http_ready m;
	int r = report_fill(&reached);

	m = (struct msg_http_ready){.uid = reached.uid,
	    .gid = reached.gid,
	    .caps =
		reached.caps_effective | reached.caps_permitted |
		(role_drop_bounds(c->uid, c->bare) ? reached.caps_bounding : 0),
	    .no_new_privs = reached.no_new_privs,
	    .seccomp = reached.seccomp,
	    .dumpable = reached.dumpable};
	if (r == 0)
		r = channel_send_http_ready(exec, &m, NULL, 0);
	return r < 0 ? err_errno(e, -r, "report") : 0;
}

int
confine(const struct config *c, struct channel *exec, struct err *e)
{
	pid_t parent = getppid();
	struct namespaces entered;
	int r = c->bare ? 0 : jail_enter_networked(&entered, e);

	if (r == 0)
		r = drop_rights(c, parent, e);
	if (r < 0)
		return r;
	r = lockdown(&filter_http);
	return r < 0 ? err_errno(e, -r, "system call filter")
		     : tell(c, exec, e);
}
