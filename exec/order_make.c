#include "exec/order_make.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exec/landlock.h"
#include "privsep/filters.h"

/* What an execvp(3) without PATH in its environment uses. */
#define DEFAULT_PATH "/bin:/usr/bin"

static void
add_rlimit(struct order *o, int resource, uint64_t value)
{
	o->rlimits[o->rlimit_count++] =
	    (struct order_rlimit){.resource = resource, .value = value};
}

/* The lesser of two limits, where 0 is none. */
static uint64_t
lesser(uint64_t a, uint64_t b)
{
	return b > 0 && (a == 0 || b < a) ? b : a;
}

/* Without control groups a total holds each process alone, at least. */
static struct limits
with_totals(const struct limits *limits, const struct probe *probe)
{
	struct limits l = *limits;

	if (probe->errnum[LAYER_CGROUP] == 0)
		return l;
	l.child_memory = lesser(l.child_memory, l.child_memory_total);
	l.child_memory = lesser(l.child_memory, l.session_memory_total);
	l.child_processes = lesser(l.child_processes, l.child_processes_total);
	l.child_cpu_time = lesser(l.child_cpu_time, l.child_cpu_time_total);
	l.child_processes =
	    lesser(l.child_processes, l.session_processes_total);
	return l;
}

static void
set_rlimits(struct order *o, const struct limits *l)
{
	add_rlimit(o, RLIMIT_CORE, 0);
	add_rlimit(o, RLIMIT_NPROC, l->child_processes);
	add_rlimit(o, RLIMIT_NOFILE, l->child_open_files);
	if (l->child_file_size > 0)
		add_rlimit(o, RLIMIT_FSIZE, l->child_file_size);
	if (l->child_memory > 0)
		add_rlimit(o, RLIMIT_DATA, l->child_memory);
	/* In seconds. */
	if (l->child_cpu_time > 0)
		add_rlimit(o, RLIMIT_CPU, (l->child_cpu_time + 999) / 1000);
}

static bool
writes(const struct plan *plan)
{
	for (size_t i = 0; i < plan->path_count; i++)
		if (plan->paths[i].access == PLAN_WRITE)
			return true;
	return false;
}

/* Its own comes last: it says which filters it still may load. */
static void
set_filters(struct order *o, const struct order_source *from, bool confined)
{
	const struct exec_config *c = from->config;
	const struct plan *plan = from->plan;
	/* It is in the host's network, but is to have none: of what belongs to
	 * that, Landlock holds abstract sockets. */
	bool shared = !plan->network_enabled && !from->probe->netns;
	const struct {
		bool due;
		const struct sock_fprog *filter;
	} rows[ORDER_FILTERS] = {
	    {plan->unix_sockets == PLAN_UNIX_DENY || (o->bare && confined) ||
		    (shared && o->landlock_abi < LANDLOCK_SCOPE_ABI),
		&filter_child_no_unix},
	    {shared, &filter_child_no_network},
	    {o->bare && confined, &filter_child_bare},
	    {o->bare && confined && !writes(plan), &filter_child_no_attributes},
	    {true, c->child_filter.len > 0 ? &c->child_filter : &filter_child},
	};

	for (size_t i = 0; i < ORDER_FILTERS; i++)
		if (rows[i].due)
			o->filters[o->filter_count++] = rows[i].filter;
}

static void
set_confinement(struct order_store *s, const struct order_source *from)
{
	const struct identity *id = &from->start->id;
	/* Nothing is as the host has it but under the preset open, where
	 * nothing is asked for. */
	bool confined = from->plan->view != PLAN_VIEW_OPEN ||
			from->plan->never_root || !from->plan->network_enabled;
	struct order *o = &s->order;

	memcpy(o->ns, from->start->ns, sizeof o->ns);
	if (from->plan->network_enabled)
		o->ns[TEMPLATE_NET] = -1;
	o->id = *id;
	o->plan = from->plan;
	o->config = from->config;
	o->sockets = from->sockets;
	o->workspaces = from->config->workspaces;
	o->workspace_count = from->config->workspace_count;
	o->scratch = from->config->scratch;
	o->bare = from->probe->bare;
	o->bounding = from->probe->bounding;
	/* A plain user has the right only in a namespace of its own. */
	o->bounds = from->config->root || !o->bare;
	o->become = from->config->root && confined;
	o->userns = from->probe->userns && confined;
	o->dumpable = !from->config->root;
	o->own_proc = from->probe->own_proc;
	o->raise_oom_score =
	    from->probe->raise_oom_score && (from->probe->own_proc || o->bare);
	o->landlock_abi = confined ? from->probe->landlock_abi : 0;
	o->scope_abstract = from->plan->network_enabled || !from->probe->netns;
	(void)snprintf(s->uid_map, sizeof s->uid_map, "%u %u 1", id->inside_uid,
	    id->uid);
	(void)snprintf(s->gid_map, sizeof s->gid_map, "%u %u 1", id->inside_gid,
	    id->gid);
	(void)snprintf(s->devpts, sizeof s->devpts,
	    "newinstance,ptmxmode=0666,mode=0620,uid=%u,gid=%u", id->uid,
	    id->gid);
	o->uid_map = s->uid_map;
	o->gid_map = s->gid_map;
	o->devpts = confined && !o->bare ? s->devpts : NULL;
	set_filters(o, from, confined);
}

static int
set_program(struct order_store *s, const struct order_source *from)
{
	const struct spec *spec = from->spec;
	struct order *o = &s->order;
	const char *path;

	s->cwd = bytes_dup(spec->cwd);
	if (s->cwd == NULL || cvec_make(&s->argv, spec->argv) < 0 ||
	    cvec_make(&s->envp, from->env) < 0)
		return -ENOMEM;
	o->file = s->argv.v[0];
	if (spec->has_arg0) {
		s->arg0 = bytes_dup(spec->arg0);
		if (s->arg0 == NULL)
			return -ENOMEM;
		s->argv.v[0] = s->arg0;
	}
	path = cvec_value(&s->envp, "PATH");
	o->path = path == NULL ? DEFAULT_PATH : path;
	o->argv = s->argv.v;
	o->envp = s->envp.v;
	o->cwd = s->cwd;
	o->tty = spec->tty;
	o->pipe_stdin = spec->pipe_stdin && !spec->tty;
	return 0;
}

int
order_make(struct order_store *s, const struct order_source *from)
{
	struct limits limits;
	int r = 0;

	*s = (struct order_store){.order = {.worker_fd = -1, .program_fd = -1}};
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
		s->order.cgroups[h] = -1;
	if (from->spec != NULL)
		r = set_program(s, from);
	if (r < 0)
		return r;
	s->order.quiet = from->quiet;
	s->order.umask = from->config->umask;
	limits = with_totals(&from->config->limits, from->probe);
	set_rlimits(&s->order, &limits);
	set_confinement(s, from);
	return 0;
}

void
order_done(struct order_store *s)
{
	cvec_done(&s->argv);
	cvec_done(&s->envp);
	free(s->arg0);
	free(s->cwd);
}
