#include "exec/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "exec/cgroup.h"
#include "exec/landlock.h"
#include "exec/mount.h"
#include "exec/nsmake.h"
#include "exec/raw.h"
#include "privsep/privdrop.h"

/* An errno as an exit status: those that matter here are small. */
#define STATUS_MAX 255

/* Run try in a new process with namespaces of these kinds. 0, or the positive
 * errno of the clone or of try. */
static int
try_in(uint64_t flags, int (*try)(const void *arg), const void *arg)
{
	pid_t pid = raw_clone(flags, NULL);
	int status;

	if (pid == 0) {
		int errnum = try == NULL ? 0 : -try(arg);

		_exit(errnum > STATUS_MAX ? STATUS_MAX : errnum);
	}
	if (pid < 0)
		return -pid;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return ECHILD;
	return WEXITSTATUS(status);
}

static int
try_proc(const void *arg)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	(void)arg;
	return mount("proc", "/proc", "proc", flags, NULL) < 0 ? -errno : 0;
}

static int
try_landlock(const void *arg)
{
	const unsigned int *abi = arg;
	const struct plan nothing = {.view = PLAN_VIEW_EMPTY};
	int r = privdrop_no_new_privs();

	return r < 0 ? r : landlock_confine(&nothing, *abi, false);
}

static int
try_loopback(void)
{
	scoped_fd fd = nsmake_loopback(NULL);

	return fd < 0 ? -fd : 0;
}

/* Whether the files of a workspace can be given to a session. */
static int
try_idmap(const struct exec_config *c, const struct workspace *w)
{
	const struct identity id = {.uid = c->uid_base, .gid = c->uid_base};
	scoped_fd mount = mount_clone(w->fd, "", NULL);
	scoped_fd ns = nsmake_idmap(w->uid, w->gid, &id, NULL);

	if (mount < 0 || ns < 0)
		return mount < 0 ? -mount : -ns;
	return -mount_map_ids(mount, ns);
}

/* Those of root depend on it; any other can do without. */
static int
try_idmaps(const struct exec_config *c, char unmapped[MOUNT_TYPE_MAX])
{
	int errnum = 0;
	bool of_root = false;

	for (size_t i = 0; i < c->workspace_count; i++) {
		const struct workspace *w = &c->workspaces[i];
		int r;

		if (of_root && w->uid != 0)
			continue;
		r = try_idmap(c, w);
		if (w->uid == 0 && !of_root)
			errnum = 0;
		of_root = of_root || w->uid == 0;
		if (errnum == 0 && r != 0)
			mount_type(w->fd, unmapped);
		errnum = errnum != 0 ? errnum : r;
	}
	return errnum;
}

static bool
has_negative_oom_score(void)
{
	scoped_fd fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	char first = '0';

	return fd >= 0 && read(fd, &first, 1) == 1 && first == '-';
}

void
probe_init(struct probe *p)
{
	*p = (struct probe){0};
	for (size_t i = 0; i < LAYER_COUNT; i++)
		p->errnum[i] = -1;
	p->errnum[LAYER_USERNS] = layer_try_userns();
	p->errnum[LAYER_VIEWS] = layer_try_mounts();
	p->bare = p->errnum[LAYER_VIEWS] != 0;
	if (geteuid() == 0 && p->bare)
		p->errnum[LAYER_NAMESPACES] = p->errnum[LAYER_VIEWS];
}

static void
probe_landlock(struct probe *p)
{
	unsigned int abi = landlock_abi();
	int *errnum = p->errnum;

	errnum[LAYER_LANDLOCK] =
	    abi == 0 ? EOPNOTSUPP : try_in(0, try_landlock, &abi);
	p->landlock_abi = errnum[LAYER_LANDLOCK] == 0 ? abi : 0;
	errnum[LAYER_SCOPE] =
	    p->landlock_abi >= LANDLOCK_SCOPE_ABI ? 0 : EOPNOTSUPP;
}

void
probe_layers(struct probe *p)
{
	/* It is what probes run under. */
	p->errnum[LAYER_SECCOMP] = 0;
	p->raise_oom_score = has_negative_oom_score();
	probe_landlock(p);
}

void
probe_run(struct probe *p, const struct exec_config *c)
{
	int *errnum = p->errnum;

	probe_layers(p);
	errnum[LAYER_NAMESPACES] =
	    try_in(CLONE_NEWPID | CLONE_NEWNS, NULL, NULL);
	errnum[LAYER_PROC] = try_in(CLONE_NEWPID | CLONE_NEWNS, try_proc, NULL);
	errnum[LAYER_NETNS] = try_loopback();
	if (c->root)
		errnum[LAYER_IDMAP] = try_idmaps(c, p->unmapped);
	p->own_proc = errnum[LAYER_PROC] == 0;
	p->userns = errnum[LAYER_USERNS] == 0 && p->own_proc;
	p->netns = errnum[LAYER_NETNS] == 0;
}

static bool
may_degrade(const struct exec_config *c)
{
	return (c->flags & EXEC_FLAG_DEGRADED) != 0;
}

bool
probe_may_be_bare(const struct exec_config *c)
{
	return may_degrade(c) || c->preset == PRESET_OPEN;
}

/* For a workspace of root: without them there are no mapped ids. */
static int
lacks_userns(const struct probe *p, struct err *e)
{
	char why[LAYER_USERNS_WHY_MAX];

	layer_userns_why(why);
	return err_set(e, ENOTSUP,
	    "no user namespaces (%s), needed for a workspace of root: chown it "
	    "to another user, or %s",
	    strerrorname_np(p->errnum[LAYER_USERNS]), why);
}

/* Words for the log and for a client alike: no path of the host. */
static int
lacks(const struct probe *p, enum layer layer, struct err *e)
{
	const struct layer_row *row = layer_row(layer);
	int errnum = p->errnum[layer];
	const char *name = strerrorname_np(errnum);

	return err_set(e, ENOTSUP, "this host gives no %s (%s): %s", row->words,
	    name == NULL ? "not tried" : name, row->remedy);
}

/* A workspace of root cannot be a session's without mapped ids. */
static bool
needs_idmap(const struct exec_config *c)
{
	for (size_t i = 0; i < c->workspace_count; i++)
		if (c->workspaces[i].uid == 0)
			return c->root;
	return false;
}

/* Whether programs, which are never root, would be: without maps they are the
 * owner of the first workspace. */
static bool
is_of_root(const struct exec_config *c)
{
	return c->root && c->workspaces[0].uid == 0;
}

/* Without namespaces Landlock must hold files and signals: a program could
 * else end the init that is to end it. */
static enum layer
missing_for_bare(const struct probe *p, const struct exec_config *c,
    enum preset preset)
{
	if (!may_degrade(c) && preset != PRESET_OPEN)
		return c->root ? LAYER_NAMESPACES : LAYER_USERNS;
	if (p->errnum[LAYER_SCOPE] != 0)
		return LAYER_SCOPE;
	if (preset == PRESET_STRICT)
		return LAYER_VIEWS;
	return preset != PRESET_OPEN && is_of_root(c) ? LAYER_IDMAP
						      : LAYER_NONE;
}

/* What is missing for a preset, or LAYER_NONE. */
static enum layer
missing_for(const struct probe *p, const struct exec_config *c,
    enum preset preset)
{
	bool idmap = preset != PRESET_OPEN && needs_idmap(c);
	const struct {
		enum layer layer;
		bool needed;
	} needs[] = {
	    {LAYER_USERNS, idmap || !c->root},
	    {LAYER_NAMESPACES, true},
	    {LAYER_PROC, !may_degrade(c)},
	    {LAYER_IDMAP, idmap},
	    {LAYER_NETNS, !may_degrade(c)},
	};

	if (p->bare)
		return missing_for_bare(p, c, preset);
	for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
		if (needs[i].needed && p->errnum[needs[i].layer] != 0)
			return needs[i].layer;
	return LAYER_NONE;
}

int
probe_serves(const struct probe *p, const struct exec_config *c, struct err *e)
{
	enum layer layer = missing_for(p, c, c->preset);

	if (layer == LAYER_NONE)
		return 0;
	return layer == LAYER_USERNS ? lacks_userns(p, e) : lacks(p, layer, e);
}

/* The layer that programs with the host's network miss. */
static enum layer
missing_for_network(const struct probe *p, const struct exec_config *c)
{
	return p->errnum[LAYER_SCOPE] != 0 && !may_degrade(c) ? LAYER_SCOPE
							      : LAYER_NONE;
}

/* Whether a path has less access than the directory that it lies in. */
static bool
is_less(const struct plan_path *path)
{
	if (path->path[1] == '\0')
		return false;
	return path->around == PLAN_WRITE
		   ? path->access != PLAN_WRITE
		   : path->around == PLAN_READ && path->access != PLAN_READ &&
			 path->access != PLAN_WRITE;
}

/* The layer that a plan misses where there are no namespaces: rules of
 * Landlock only add, and without mounts the root is the host's. */
static enum layer
missing_for_plan(const struct exec_config *c, const struct plan *plan)
{
	if (plan->view == PLAN_VIEW_OPEN && !plan->never_root &&
	    plan->network_enabled)
		return LAYER_NONE;
	if (!may_degrade(c) || plan->glob_count > 0 ||
	    plan->view == PLAN_VIEW_MINIMAL || plan->view == PLAN_VIEW_EMPTY)
		return LAYER_VIEWS;
	if (is_of_root(c))
		return LAYER_IDMAP;
	for (size_t i = 0; i < plan->path_count; i++)
		if (is_less(&plan->paths[i]))
			return LAYER_VIEWS;
	return LAYER_NONE;
}

/* The layer that the totals of the configuration miss. */
static enum layer
missing_for_totals(const struct probe *p, const struct exec_config *c)
{
	return cgroup_wanted(&c->limits) && p->errnum[LAYER_CGROUP] != 0 &&
		       !may_degrade(c)
		   ? LAYER_CGROUP
		   : LAYER_NONE;
}

enum layer
probe_lacks(const struct probe *p, const struct exec_config *c,
    const struct plan *plan, struct err *e)
{
	enum layer layer = LAYER_NONE;

	if (p->bare)
		layer = missing_for_plan(c, plan);
	else if (plan->network_enabled && plan->view != PLAN_VIEW_OPEN)
		layer = missing_for_network(p, c);
	if (layer == LAYER_NONE)
		layer = missing_for_totals(p, c);
	if (layer != LAYER_NONE)
		(void)lacks(p, layer, e);
	return layer;
}

/* --- in words ------------------------------------------------------------ */

static void
append(char out[PROBE_TEXT_MAX], const char *key, const char *value)
{
	size_t used = strlen(out);

	(void)snprintf(out + used, PROBE_TEXT_MAX - used, "%s%s=%s",
	    used == 0 ? "" : " ", key, value);
}

static void
append_layer(const struct probe *p, uint32_t layer, char out[PROBE_TEXT_MAX])
{
	int errnum = p->errnum[layer];
	const char *name = errnum < 0 ? "untried" : strerrorname_np(errnum);
	char abi[16], where[48];

	if (errnum == 0)
		name = "yes";
	if (layer == LAYER_IDMAP && errnum > 0) {
		(void)snprintf(where, sizeof where, "%s:%s",
		    name == NULL ? "no" : name, p->unmapped);
		name = where;
	}
	if (layer == LAYER_LANDLOCK) {
		(void)snprintf(abi, sizeof abi, "%u", p->landlock_abi);
		name = abi;
	}
	append(out, layer_row(layer)->key, name == NULL ? "no" : name);
}

static void
append_judgement(const char *key, enum layer missing, char out[PROBE_TEXT_MAX])
{
	append(out, key,
	    missing == LAYER_NONE ? "yes" : layer_row(missing)->key);
}

void
probe_text(const struct probe *p, const struct exec_config *c,
    char out[PROBE_TEXT_MAX])
{
	out[0] = '\0';
	for (uint32_t i = LAYER_NONE + 1; i < LAYER_COUNT; i++)
		if (i != LAYER_VIEWS)
			append_layer(p, i, out);
	append(out, "limits",
	    p->errnum[LAYER_CGROUP] == 0 ? "cgroup" : "rlimit");
	append(out, "totals", cgroup_wanted(&c->limits) ? "yes" : "no");
	if ((c->flags & EXEC_FLAG_PROBE) == 0)
		return;
	append_judgement("preset.workspace",
	    missing_for(p, c, PRESET_WORKSPACE), out);
	append_judgement("preset.strict", missing_for(p, c, PRESET_STRICT),
	    out);
	append_judgement("preset.open", missing_for(p, c, PRESET_OPEN), out);
	append_judgement("network.enabled", missing_for_network(p, c), out);
	append_judgement("views", p->bare ? LAYER_VIEWS : LAYER_NONE, out);
}
