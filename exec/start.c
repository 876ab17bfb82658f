#include "exec/start.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "base/log.h"
#include "exec/caps.h"
#include "exec/cgroup.h"
#include "exec/executor.h"
#include "exec/host.h"
#include "privsep/filters.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"
#include "privsep/report.h"

/* The next message, which is to be of that type. */
static int
receive(struct channel *supervisor, enum msg_type type, struct msg *m,
    struct err *e)
{
	struct pollfd p = {.fd = channel_fd(supervisor), .events = POLLIN};
	int r;

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	r = channel_recv(supervisor, m, e);
	if (r <= 0)
		return r < 0 ? r : err_set(e, EPIPE, "no configuration");
	if (m->type == type)
		return 0;
	r = err_set(e, EPROTO, "message %d first", (int)m->type);
	msg_done(m);
	return r;
}

static int
receive_policy(struct channel *supervisor, struct exec_config *c, struct err *e)
{
	struct msg m;
	int r = receive(supervisor, MSG_EXEC_POLICY, &m, e);

	if (r < 0)
		return r;
	r = config_take_policy(c, &m.u.exec_policy, e);
	msg_done(&m);
	return r;
}

static int
receive_backend(struct channel *supervisor, struct exec_config *c,
    struct err *e)
{
	struct msg m;
	int r = receive(supervisor, MSG_EXEC_BACKEND, &m, e);

	if (r < 0)
		return r;
	r = config_take_backend(c, &m, e);
	msg_done(&m);
	return r;
}

static int
receive_config(struct channel *supervisor, struct exec_config *c, struct err *e)
{
	struct msg m;
	int r = receive(supervisor, MSG_EXEC_CONFIG, &m, e);

	if (r < 0)
		return r;
	r = config_take(c, &m, e);
	msg_done(&m);
	if (r == 0 && (c->flags & EXEC_FLAG_POLICY) != 0)
		r = receive_policy(supervisor, c, e);
	if (r == 0 && (c->flags & EXEC_FLAG_BACKEND) != 0)
		r = receive_backend(supervisor, c, e);
	return r;
}

static int
lock_down(const struct exec_config *c, const struct probe *probe, struct err *e)
{
	/* A plain user without a namespace of its own has no capability, and
	 * no right to cut the bounding set. */
	int r = c->root || !probe->bare ? caps_keep(c, probe, e) : 0;

	if (r < 0)
		return r;
	r = privdrop_undumpable();
	if (r == 0)
		r = privdrop_no_new_privs();
	if (r == 0)
		r = lockdown(&filter_exec);
	return r < 0 ? err_errno(e, -r, "lock-down") : 0;
}

static int
tell_ready(struct channel *supervisor, const struct exec_config *c,
    struct probe *probe, uint32_t namespaces, struct err *e)
{
	struct msg_role_ready m = {.namespaces = namespaces,
	    .landlock_abi = probe->landlock_abi};
	char text[PROBE_TEXT_MAX];
	int r = report_fill(&m);

	probe_text(probe, c, text);
	m.probe = bytes_of(text);
	probe->bounding = m.caps_bounding;
	if (r == 0)
		r = channel_send_role_ready(supervisor, &m, NULL, 0);
	return r < 0 ? err_errno(e, -r, "report") : 0;
}

/* Go to our own place and lock down there. */
static int
settle(struct exec_config *c, const struct probe *probe, uint32_t *namespaces,
    struct err *e)
{
	struct namespaces before, after;
	int r = namespaces_read(&before);

	if (r == 0)
		r = host_leave(c, e);
	if (r == 0)
		r = namespaces_read(&after);
	if (r < 0)
		return r;
	*namespaces = namespaces_differ(&before, &after);
	return lock_down(c, probe, e);
}

/* Totals, where they are asked for: without them nothing is done to the host.
 */
static void
open_groups(struct cgroup_tree *t, const struct exec_config *c,
    struct probe *probe)
{
	struct err e = {0};
	int r;

	cgroup_sweep_all();
	if (!cgroup_wanted(&c->limits))
		return;
	r = cgroup_tree_open(t, &c->limits, &e);
	probe->errnum[LAYER_CGROUP] = -r;
	if (r < 0)
		log_warn("no_totals errno=%d %s effect=\"%s\"", -r, e.text,
		    (c->flags & EXEC_FLAG_DEGRADED) != 0
			? "each process is limited by itself alone"
			: "every command is refused");
}

/* What any configuration may ask for, tried and removed. */
static void
try_groups(const struct exec_config *c, struct probe *probe)
{
	struct limits sample = c->limits;
	struct cgroup_tree t;
	struct err e = {0};

	if (!cgroup_wanted(&sample)) {
		sample.session_memory_total = 64 * MIB;
		sample.session_processes_total = 64;
	}
	cgroup_tree_init(&t);
	probe->errnum[LAYER_CGROUP] = -cgroup_tree_open(&t, &sample, &e);
	cgroup_tree_close(&t);
}

/* For the doctor: what cannot be reached is a finding as well. */
static int
report_alone(struct channel *supervisor, struct exec_config *c,
    struct probe *probe, struct err *e)
{
	uint32_t namespaces = 0;
	int r;

	if (probe->bare) {
		r = lock_down(c, probe, e);
		if (r == 0)
			probe_layers(probe);
		probe->errnum[LAYER_SECCOMP] = -r;
	} else {
		r = settle(c, probe, &namespaces, e);
		if (r == 0)
			probe_run(probe, c);
		else
			probe->errnum[LAYER_NAMESPACES] = -r;
	}
	try_groups(c, probe);
	return tell_ready(supervisor, c, probe, namespaces, e);
}

int
start_serve(struct channel *supervisor, struct exec_config *c, struct err *e)
{
	uint32_t namespaces = 0;
	struct cgroup_tree cgroups;
	struct probe probe;
	int r = receive_config(supervisor, c, e);

	if (r < 0)
		return r;
	cgroup_tree_init(&cgroups);
	log_set_level((enum log_level)c->log_level);
	probe_init(&probe);
	if (c->flags & EXEC_FLAG_PROBE)
		return report_alone(supervisor, c, &probe, e);
	probe.bare = probe.bare && probe_may_be_bare(c);
	r = probe.bare ? lock_down(c, &probe, e)
		       : settle(c, &probe, &namespaces, e);
	if (r < 0)
		return r;
	if (probe.bare) {
		c->bare = true;
		probe_layers(&probe);
		r = config_share_nothing(c, e);
	} else {
		probe_run(&probe, c);
		c->no_netns = !probe.netns;
	}
	if (r == 0)
		r = probe_serves(&probe, c, e);
	if (r == 0) {
		open_groups(&cgroups, c, &probe);
		r = tell_ready(supervisor, c, &probe, namespaces, e);
	}
	if (r == 0)
		return executor_run(c, &probe, &cgroups, supervisor, e);
	cgroup_tree_close(&cgroups);
	return r;
}
