#include "http/confine.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "privsep/filters.h"
#include "privsep/jail.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"
#include "privsep/report.h"

/* Libraries, certificates, a TLS connection each, and what a compressed body
 * may swell to in one step: far above what is used. */
#define ADDRESS_SPACE_MAX (UINT64_C(1) << 30)
/* Connections, their bodies, the resolver's sockets. */
#define FILES_MAX	  512

static int
set_rlimits(const struct config *c, struct err *e)
{
	const struct {
		int resource;
		rlim_t value;
	} rows[] = {
	    {RLIMIT_CORE, 0},
	    {RLIMIT_NPROC, 0},
	    {RLIMIT_NOFILE, FILES_MAX},
	    /* A body that is kept is a file. */
	    {RLIMIT_FSIZE, c->policy.max_body},
#ifndef SANITIZED
	    {RLIMIT_AS, ADDRESS_SPACE_MAX},
#endif
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int r = privdrop_rlimit(rows[i].resource, rows[i].value);

		if (r < 0)
			return err_errno(e, -r, "rlimit %d", rows[i].resource);
	}
	return 0;
}

/* Neither root nor in a user namespace there is no right to cut the bounding
 * set, and no_new_privs makes it meaningless. */
static bool
may_bound(const struct config *c)
{
	return c->uid != 0 || !c->bare;
}

static int
drop_rights(const struct config *c, pid_t parent, struct err *e)
{
	int r = may_bound(c) ? privdrop_bounding(0) : 0;

	if (r == 0 && c->uid != 0)
		r = privdrop_ids(c->uid, c->gid, true);
	if (r == 0)
		r = privdrop_caps(0, false);
	if (r < 0)
		return err_errno(e, -r, "ids and capabilities");
	r = set_rlimits(c, e);
	if (r < 0)
		return r;
	r = privdrop_end_with_parent(parent);
	if (r < 0)
		return err_errno(e, -r, "death with exec");
	r = privdrop_undumpable();
	if (r == 0)
		r = privdrop_no_new_privs();
	if (r == 0)
		r = privdrop_landlock_network();
	return r < 0 ? err_errno(e, -r, "no_new_privs, landlock") : 0;
}

static int
tell(const struct config *c, struct channel *exec, struct err *e)
{
	struct msg_role_ready reached = {0};
	struct msg_http_ready m;
	int r = report_fill(&reached);

	m = (struct msg_http_ready){.uid = reached.uid,
	    .gid = reached.gid,
	    .caps = reached.caps_effective | reached.caps_permitted |
		    (may_bound(c) ? reached.caps_bounding : 0),
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
	/* Until the change of ids, our start has seen to it that we end with
	 * exec: so this is exec. */
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
