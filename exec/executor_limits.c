#include "exec/executor_limits.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "exec/executor_backend.h"

/* The least time between two looks at the CPU time of a command. */
#define CPU_CHECK_MS   20
/* Looks in a row that fail, until its CPU time is taken for used up. */
#define CPU_MISSES_MAX 5

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
    struct order *order, struct limits_entry *entry)
{
	const struct cgroup *g = &s->group;
	bool program = order->worker_fd < 0;
	int r = 0;

	cgroup_init(&entry->own);
	if (cgroup_has_members(x->cgroups)) {
		struct err e = {0};

		r = cgroup_make_member(x->cgroups, &s->group, id, program,
		    &entry->own, &e);
		g = &entry->own;
	}
	memcpy(order->cgroups, g->dir, sizeof order->cgroups);
	/* Now: init may fail before it is looked at again. */
	entry->refused_forks = cgroup_refused_forks(x->cgroups, g);
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

/* Milliseconds in which so much CPU time can be used up, on all CPUs. */
static int64_t
shortest(uint64_t cpu_ms)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t ms = (int64_t)cpu_ms / (cpus > 0 ? cpus : 1);

	return ms > CPU_CHECK_MS ? ms : CPU_CHECK_MS;
}

void
executor_limits_start(struct executor *x, struct lease *l,
    const struct limits_entry *entry, bool program)
{
	const struct limits *limits = &x->sessions[l->slot]->config->limits;
	uint64_t wall = limits->child_wall_time;
	uint64_t cpu = limits->child_cpu_time_total;

	l->group = entry->own;
	l->refused_forks = entry->refused_forks;
	if (program && wall > 0)
		l->deadline_ms = clock_ms() + (int64_t)wall;
	if (program && cgroup_has_members(x->cgroups) && cpu > 0)
		l->cpu_check_ms = clock_ms() + shortest(cpu);
}

static void
end_for(struct executor *x, struct lease *l, enum end_reason reason)
{
	l->deadline_ms = 0;
	l->cpu_check_ms = 0;
	if (!l->killed)
		l->limit = reason;
	executor_lease_end(x, l);
}

static void
check_cpu_time(struct executor *x, struct lease *l, int64_t now_ms)
{
	const struct limits *limits = &x->sessions[l->slot]->config->limits;
	uint64_t all = limits->child_cpu_time_total;
	uint64_t used = 0;
	int r = cgroup_cpu_time_ms(&l->group, &used);

	l->cpu_misses = r < 0 ? l->cpu_misses + 1 : 0;
	if (r < 0 && l->cpu_misses < CPU_MISSES_MAX) {
		l->cpu_check_ms = now_ms + CPU_CHECK_MS;
		return;
	}
	/* A bound that cannot be kept is taken for reached. */
	if (r < 0) {
		log_error("cpu_time_unknown errno=%d effect=\"the command is "
			  "ended\"",
		    -r);
		used = all;
	}
	if (used >= all)
		end_for(x, l, END_CPU_TOTAL);
	else
		l->cpu_check_ms = now_ms + shortest(all - used);
}

/* Times where 0 is none, and -1 for the result. */
static void
earlier(int64_t *due, int64_t at)
{
	if (at > 0 && (*due < 0 || at < *due))
		*due = at;
}

int64_t
executor_limits_deadlines(struct executor *x, int64_t now_ms)
{
	int64_t due = -1;
	struct lease *l;

	LIST_FOREACH (l, &x->leases, link) {
		if (l->cpu_check_ms > 0 && l->cpu_check_ms <= now_ms)
			check_cpu_time(x, l, now_ms);
		if (l->deadline_ms > 0 && l->deadline_ms <= now_ms &&
		    !executor_backend_due(x, l))
			end_for(x, l, END_WALL_TIME);
		earlier(&due, l->deadline_ms);
		earlier(&due, l->cpu_check_ms);
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

	if (l->job != NULL)
		return executor_backend_lost(l) ? END_BACKEND : l->limit;
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
