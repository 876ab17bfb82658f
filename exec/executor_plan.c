#include "exec/executor_plan.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "privsep/pack.h"
#include "privsep/sandbox_spec.h"

/* The lists of a restricting object as decide takes them. */
struct lists {
	struct profile_entry *entries;
	size_t entry_count;
	struct bytes *roots;
	size_t root_count;
};

static void
lists_done(struct lists *l)
{
	free(l->entries);
	free(l->roots);
}

static size_t
count_entries(struct bytes entries)
{
	struct sandbox_entry entry;
	struct reader r;
	size_t count = 0;

	reader_init(&r, entries.data, entries.len);
	while (sandbox_entry_next(&r, &entry))
		count++;
	return count;
}

static int
take_entries(struct lists *l, struct bytes packed)
{
	struct sandbox_entry entry;
	struct reader r;

	l->entries = calloc(count_entries(packed) + 1, sizeof *l->entries);
	if (l->entries == NULL)
		return -ENOMEM;
	reader_init(&r, packed.data, packed.len);
	while (sandbox_entry_next(&r, &entry))
		l->entries[l->entry_count++] =
		    (struct profile_entry){.path =
					       (enum profile_path)entry.path,
			.access = (enum profile_access)entry.access,
			.skip_missing = entry.skip_missing,
			.text = entry.text};
	return 0;
}

static int
take_roots(struct lists *l, struct bytes packed)
{
	struct bytes root;
	struct reader r;

	l->roots = calloc(SANDBOX_ROOTS_MAX, sizeof *l->roots);
	if (l->roots == NULL)
		return -ENOMEM;
	reader_init(&r, packed.data, packed.len);
	while (l->root_count < SANDBOX_ROOTS_MAX && strings_next(&r, &root))
		l->roots[l->root_count++] = root;
	return 0;
}

/* The TMPDIR that programs are given, unless a request says otherwise. */
static struct bytes
tmpdir_of(const struct exec_config *config)
{
	struct bytes name, value, tmpdir = bytes_of("/tmp");
	struct reader r;

	reader_init(&r, config->env.base.data, config->env.base.len);
	while (strings_next(&r, &name) && strings_next(&r, &value))
		if (bytes_is(name, "TMPDIR") && path_is_canonical(value))
			tmpdir = value;
	return tmpdir;
}

enum refuse_reason
executor_plan_reason(int r)
{
	if (r == -EINVAL || r == -E2BIG)
		return REFUSE_INVALID;
	return r == -ENOMEM ? REFUSE_BUSY : REFUSE_UNENFORCEABLE;
}

/* A session that has nothing to start from for such a request. */
static int
check_session(const struct plan_request *q, const struct exec_config *config,
    struct plan *plan, struct err *e)
{
	bool network =
	    !plan->network_enabled && config->ceiling.network_enabled;

	if (template_for(q->template, config, plan) != NULL)
		return 0;
	plan_done(plan);
	return err_set(e, ENOTSUP,
	    network ? "Codex network restrictions cannot be enforced by the "
		      "sandbox backend."
		    : "Codex process filesystem sandbox restrictions cannot be "
		      "enforced by the backend.");
}

static int
check_host(const struct plan_request *q, const struct exec_config *config,
    struct plan *plan, struct err *e)
{
	enum layer missing = probe_lacks(q->probe, config, plan, e);

	if (missing == LAYER_NONE)
		return 0;
	if (q->missing != NULL)
		*q->missing = missing;
	plan_done(plan);
	return -ENOTSUP;
}

/* --- a directory that is bound ---------------------------------------------
 */

static bool
is_in(const char *path, const char *dir)
{
	return profile_is_in(bytes_of(path), bytes_of(dir));
}

/* What the ceiling gives at dir. */
static enum plan_access
access_at(const struct decide_ceiling *c, const char *dir)
{
	enum plan_access access =
	    c->view == PLAN_VIEW_OPEN ? PLAN_WRITE : PLAN_NONE;
	size_t best = 0;

	for (size_t i = 0; i < c->path_count; i++) {
		const struct plan_path *p = &c->paths[i];
		size_t len = strlen(p->path);

		if (len >= best && is_in(dir, p->path)) {
			access = p->access;
			best = len;
		}
	}
	return access;
}

/* *out is the part of the ceiling c that lies at and in dir, with the paths in
 * its room. 0 or -E2BIG. */
static int
cut(const struct decide_ceiling *c, const char *dir,
    struct plan_path paths[PLAN_PATHS_MAX], struct decide_ceiling *out)
{
	size_t n = 0;

	paths[n++] =
	    (struct plan_path){.path = dir, .access = access_at(c, dir)};
	for (size_t i = 0; i < c->path_count; i++) {
		if (!is_in(c->paths[i].path, dir) ||
		    strcmp(c->paths[i].path, dir) == 0)
			continue;
		if (n == PLAN_PATHS_MAX)
			return -E2BIG;
		paths[n++] = c->paths[i];
	}
	*out = *c;
	out->view = PLAN_VIEW_HOST;
	out->custom = true;
	out->paths = paths;
	out->path_count = n;
	return 0;
}

int
executor_plan(const struct exec_config *config,
    const struct plan_request *request, struct plan *plan, struct err *e)
{
	struct sandbox_spec spec;
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling = config->ceiling;
	struct lists l = {0};
	int r = sandbox_spec_unpack(request->sandbox, &spec, e);

	if (r == 0 && request->bound &&
	    cut(&config->ceiling, config->backend.bind, paths, &ceiling) < 0)
		r = err_set(e, E2BIG, "backend.bind: too many paths in it");
	if (r < 0)
		return r;
	r = take_entries(&l, spec.entries);
	if (r == 0 && spec.has_roots)
		r = take_roots(&l, spec.roots);
	if (r == 0)
		r = decide(
		    &(struct decide_request){.sandbox =
						 (enum decide_sandbox)spec.kind,
			.network_enabled = spec.network_enabled,
			.managed_network = request->managed_network,
			.network_proxy = request->network_proxy,
			.entries = l.entries,
			.entry_count = l.entry_count,
			.names = {.cwd = spec.cwd.len > 0 ? spec.cwd
							  : request->cwd,
			    .roots = l.roots,
			    .root_count = l.root_count,
			    .tmpdir = tmpdir_of(config)},
			.glob_scan_max_depth = spec.glob_scan_max_depth},
		    &ceiling, plan, e);
	lists_done(&l);
	if (r == 0 && request->bound) {
		plan->moved = config->backend.bind;
		plan->moved_as = config->backend.bind_as;
	}
	if (r == 0)
		r = check_host(request, config, plan, e);
	if (r == 0)
		r = check_session(request, config, plan, e);
	return r;
}
