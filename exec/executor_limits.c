#include "exec/executor_limits.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

int
executor_limits_session(struct executor *x, struct session *s, struct err *e)
{
	if (!cgroup_tree_is_open(x->cgroups))
		return 0;
	return cgroup_make_session(x->cgroups, s->slot, &s->group, e);
}

void
executor_limits_session_done(struct executor *x, struct session *s)
{
	cgroup_drop(x->cgroups->dir, &s->group);
}

int
executor_limits_order(struct executor *x, const struct session *s, uint32_t id,
    struct order *order, struct cgroup *own)
{
	const struct cgroup *g = &s->group;
	bool program = order->worker_fd < 0;
	int r = 0;

	cgroup_init(own);
	if (cgroup_has_members(x->cgroups)) {
		struct err e = {0};

		r = cgroup_make_member(x->cgroups, &s->group, id, program, own,
		    &e);
		g = own;
	}
	memcpy(order->cgroups, g->dir, sizeof order->cgroups);
	return r;
}

void
executor_limits_drop(const struct session *s, struct cgroup *own)
{
	cgroup_drop(s->group.dir, own);
}

/* What it is counted in: its own group, or its session's. */
static struct cgroup *
group_of(const struct executor *x, struct lease *l)
{
	return cgroup_has_members(x->cgroups) ? &l->group
					      : &x->sessions[l->slot]->group;
}

void
executor_limits_start(struct executor *x, struct lease *l, bool program)
{
	const struct exec_config *c = x->sessions[l->slot]->config;
	uint64_t wall = c->limits.child_wall_time;

	l->refused_forks = cgroup_refused_forks(x->cgroups, group_of(x, l));
	if (program && wall > 0)
		l->deadline_ms = executor_now_ms() + (int64_t)wall;
}

int64_t
executor_limits_deadlines(struct executor *x, int64_t now_ms)
{
	int64_t due = -1;
	struct lease *l;

	LIST_FOREACH (l, &x->leases, link) {
		if (l->deadline_ms == 0)
			continue;
		if (l->deadline_ms > now_ms) {
			if (due < 0 || l->deadline_ms < due)
				due = l->deadline_ms;
			continue;
		}
		l->deadline_ms = 0;
		if (!l->killed)
			l->limit = END_WALL_TIME;
		lease_kill(l);
	}
	return due;
}

bool
executor_limits_lack_processes(const struct executor *x, struct lease *l)
{
	return cgroup_refused_forks(x->cgroups, group_of(x, l)) >
	       l->refused_forks;
}

/* A shell tells of a program that was killed by its own status. */
enum end_reason
executor_limits_why(struct executor *x, struct lease *l, uint32_t status)
{
	struct oom *oom = &group_of(x, l)->oom;
	int s = (int)status;
	bool killed = WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL;
	bool told = WIFEXITED(s) && WEXITSTATUS(s) == 128 + SIGKILL;

	if (WIFSIGNALED(s) && WTERMSIG(s) == SIGXCPU &&
	    x->sessions[l->slot]->config->limits.child_cpu_time > 0)
		return END_CPU_TIME;
	if (l->killed)
		return l->limit;
	if ((killed || told) && oom_account(oom->fd >= 0 ? oom : &x->oom))
		return END_MEMORY;
	if (s != 0 && executor_limits_lack_processes(x, l))
		return END_PROCESSES;
	return END_ITSELF;
}
