#include "policy/decide.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "policy/glob.h"
#include "policy/merge.h"

/* --- ceilings ------------------------------------------------------------- */

static enum plan_view
view_of(enum decide_preset preset)
{
	switch (preset) {
	case DECIDE_PRESET_WORKSPACE:
		return PLAN_VIEW_HOST;
	case DECIDE_PRESET_OPEN:
		return PLAN_VIEW_OPEN;
	case DECIDE_PRESET_STRICT:
		break;
	}
	return PLAN_VIEW_MINIMAL;
}

static enum plan_unix_sockets
sockets_of(enum decide_preset preset)
{
	switch (preset) {
	case DECIDE_PRESET_WORKSPACE:
		return PLAN_UNIX_PRIVATE;
	case DECIDE_PRESET_OPEN:
		return PLAN_UNIX_HOST;
	case DECIDE_PRESET_STRICT:
		break;
	}
	return PLAN_UNIX_DENY;
}

void
decide_ceiling_of(enum decide_preset preset, bool network_enabled,
    const struct decide_places *places, struct plan_path paths[PLAN_PATHS_MAX],
    struct decide_ceiling *ceiling)
{
	static const struct plan_path base[] = {
	    {.path = "/", .access = PLAN_READ},
	    {.path = "/tmp", .access = PLAN_WRITE},
	    {.path = "/dev/shm", .access = PLAN_WRITE},
	};
	size_t n = sizeof base / sizeof base[0];

	memcpy(paths, base, sizeof base);
	for (size_t i = 0; i < places->workspace_count; i++)
		paths[n++] = (struct plan_path){.path = places->workspaces[i],
		    .access = PLAN_WRITE};
	for (size_t i = 0; i < places->read_only_count; i++)
		paths[n++] = (struct plan_path){.path = places->read_only[i],
		    .access = PLAN_READ};
	*ceiling = (struct decide_ceiling){
	    .view = view_of(preset),
	    .network_enabled = network_enabled,
	    .unix_sockets = sockets_of(preset),
	    .paths = paths,
	    .path_count = n,
	};
}

static int
profile_of_ceiling(const struct decide_ceiling *c, struct profile *p,
    struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < c->path_count && r == 0; i++) {
		struct bytes path = bytes_of(c->paths[i].path);

		if (path.len == 1 && c->view == PLAN_VIEW_MINIMAL)
			r = profile_add_minimal(p, e);
		else
			r = profile_add(p, path, c->paths[i].access, e);
	}
	if (r == 0 && c->view == PLAN_VIEW_OPEN)
		r = profile_add(p, bytes_of("/"), PLAN_WRITE, e);
	return r;
}

/* --- the request ---------------------------------------------------------- */

/* A kind that says nothing of files takes what the ceiling gives. */
static int
profile_of_request(const struct decide_request *q, struct profile *p,
    struct err *e)
{
	if (q->sandbox != DECIDE_SANDBOX_RESTRICTED)
		return profile_add(p, bytes_of("/"), PLAN_WRITE, e);
	return profile_of_entries(p, q->entries, q->entry_count, &q->names, e);
}

/* Whether the request itself wants no network. */
static bool
wants_restricted(const struct decide_request *q)
{
	switch (q->sandbox) {
	case DECIDE_SANDBOX_NULL:
	case DECIDE_SANDBOX_DISABLED:
		return false;
	case DECIDE_SANDBOX_EXTERNAL:
	case DECIDE_SANDBOX_UNRESTRICTED:
	case DECIDE_SANDBOX_RESTRICTED:
		return !q->network_enabled;
	}
	return true;
}

/* The order of the checks is part of the protocol. */
static int
check_enforceable(const struct decide_request *q, struct err *e)
{
	if (q->network_proxy)
		return err_set(e, ENOTSUP,
		    "Codex sandbox exec-server network proxy launch is not "
		    "supported.");
	if (q->managed_network)
		return err_set(e, ENOTSUP,
		    "Codex managed network restrictions cannot be enforced by "
		    "the sandbox backend.");
	return 0;
}

static bool
grants_writing(const struct profile *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->rules[i].access == PLAN_WRITE)
			return true;
	return false;
}

/* --- the plan ------------------------------------------------------------- */

/* The access that both layers give, and whether it is by a rule on path. */
static enum plan_access
common_access(const struct plan *plan, struct bytes path, bool *named)
{
	enum plan_access access = PLAN_WRITE;

	*named = false;
	for (unsigned int layer = 0; layer < PLAN_LAYERS; layer++) {
		const struct profile_rule *rule;

		access = profile_min(access,
		    profile_access(&plan->layers[layer], path, &rule));
		*named |= rule != NULL && rule->len == path.len;
	}
	return access;
}

/*
 * The root that a plan of its own stands on. A denied part of the minimal root
 * is no obstacle if a rule names it, as it is masked then.
 */
static enum plan_view
own_view(const struct plan *plan)
{
	enum plan_access access;
	bool named;

	access = common_access(plan, bytes_of("/"), &named);
	if (access == PLAN_READ || access == PLAN_WRITE)
		return PLAN_VIEW_HOST;
	for (size_t i = 0; profile_minimal[i] != NULL; i++) {
		access =
		    common_access(plan, bytes_of(profile_minimal[i]), &named);
		if (access == PLAN_NONE || (access == PLAN_DENY && !named))
			return PLAN_VIEW_EMPTY;
	}
	return PLAN_VIEW_MINIMAL;
}

static void
plan_network(const struct decide_request *q, const struct decide_ceiling *c,
    struct plan *plan)
{
	bool restricted = wants_restricted(q);

	plan->network_enabled = c->network_enabled && !restricted;
	plan->network_narrowed = q->sandbox != DECIDE_SANDBOX_NULL &&
				 !c->network_enabled && !restricted;
	plan->tell_network_disabled =
	    q->sandbox != DECIDE_SANDBOX_NULL && !plan->network_enabled;
}

static void
plan_confinement(const struct decide_request *q, const struct decide_ceiling *c,
    struct plan *plan)
{
	bool restricted = q->sandbox == DECIDE_SANDBOX_RESTRICTED;

	plan->own_view = restricted || c->custom;
	plan->view = plan->own_view ? own_view(plan) : c->view;
	plan->never_root = plan->own_view || wants_restricted(q);
	plan->unix_sockets = c->unix_sockets;
	if (!restricted)
		return;
	if (!grants_writing(&plan->layers[PLAN_CLIENT]))
		plan->unix_sockets = PLAN_UNIX_DENY;
	else if (plan->unix_sockets == PLAN_UNIX_HOST)
		plan->unix_sockets = PLAN_UNIX_PRIVATE;
}

/* Before anything is held against them. */
static int
check_globs(const struct profile *p, struct err *e)
{
	size_t count = 0, size = 0;

	for (size_t i = 0; i < p->count; i++) {
		count += p->rules[i].glob;
		size += p->rules[i].glob ? p->rules[i].len : 0;
	}
	if (count > SANDBOX_GLOBS_MAX)
		return err_set(e, E2BIG,
		    "sandbox: %zu denied patterns, at most %d are accepted",
		    count, SANDBOX_GLOBS_MAX);
	if (size > SANDBOX_GLOB_BYTES_MAX)
		return err_set(e, E2BIG,
		    "sandbox: denied patterns of %zu bytes in all, at most %u "
		    "are accepted",
		    size, SANDBOX_GLOB_BYTES_MAX);
	return 0;
}

static int
fill(const struct decide_request *q, const struct decide_ceiling *c,
    struct plan *plan, struct err *e)
{
	int r = profile_of_request(q, &plan->layers[PLAN_CLIENT], e);

	if (r == 0)
		r = check_globs(&plan->layers[PLAN_CLIENT], e);
	if (r == 0)
		r = profile_of_ceiling(c, &plan->layers[PLAN_CEILING], e);
	if (r < 0)
		return r;
	plan_network(q, c, plan);
	plan_confinement(q, c, plan);
	r = merge_layers(plan);
	if (r < 0)
		return err_set(e, -r, "out of memory");
	for (size_t i = 0; i < plan->glob_count; i++)
		if (plan->globs[i].layer == PLAN_CLIENT)
			plan->globs[i].scan_depth = q->glob_scan_max_depth;
	return 0;
}

/* Each is kept count of, over all sessions, for as long as its child lives. */
static int
check_placeholders(const struct plan *plan, struct err *e)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->path_count; i++)
		count += plan->paths[i].missing == PLAN_MISSING_PLACEHOLDER;
	if (count > PLAN_PLACEHOLDERS_MAX)
		return err_set(e, E2BIG,
		    "sandbox: %zu protected paths that may be missing, at "
		    "most %d are accepted",
		    count, PLAN_PLACEHOLDERS_MAX);
	return 0;
}

int
decide(const struct decide_request *request,
    const struct decide_ceiling *ceiling, struct plan *plan, struct err *e)
{
	struct plan made = {0};
	int r = check_enforceable(request, e);

	if (r < 0)
		return r;
	r = fill(request, ceiling, &made, e);
	if (r == 0)
		r = check_placeholders(&made, e);
	if (r < 0) {
		plan_done(&made);
		return r;
	}
	*plan = made;
	return 0;
}

void
plan_done(struct plan *plan)
{
	for (unsigned int layer = 0; layer < PLAN_LAYERS; layer++)
		profile_done(&plan->layers[layer]);
	free(plan->paths);
	free(plan->globs);
	*plan = (struct plan){0};
}

const char *
plan_shown(const struct plan *plan, const char *path, char out[PATH_LEN_MAX])
{
	size_t len = strlen(path), from, to;

	if (plan->moved == NULL ||
	    !profile_is_in(bytes_of(path), bytes_of(plan->moved)))
		return path;
	from = strlen(plan->moved);
	to = strlen(plan->moved_as);
	if (to + len - from >= PATH_LEN_MAX)
		return NULL;
	(void)memcpy(out, plan->moved_as, to);
	(void)memcpy(out + to, path + from, len - from + 1);
	return out;
}

bool
plan_is_brought(const struct plan *plan, struct bytes path)
{
	if (plan->view != PLAN_VIEW_MINIMAL && plan->view != PLAN_VIEW_EMPTY)
		return false;
	return profile_is_in(path, bytes_of("/proc")) ||
	       profile_is_in(path, bytes_of("/dev"));
}

/* The pattern that denies path, which the rules of depth hold; or NULL. */
static const struct plan_glob *
find_glob(const struct plan *plan, struct bytes path,
    const uint32_t depth[PLAN_LAYERS])
{
	for (size_t i = 0; i < plan->glob_count; i++) {
		const struct plan_glob *g = &plan->globs[i];

		if (g->depth >= depth[g->layer] &&
		    glob_covers(g->pattern, path))
			return g;
	}
	return NULL;
}

struct plan_answer
plan_access(const struct plan *plan, struct bytes path)
{
	static const uint32_t none[PLAN_LAYERS] = {0};
	struct plan_answer answer = {.access = PLAN_NONE};

	/* Parents come first: the last that holds path is the nearest. */
	for (size_t i = 0; i < plan->path_count; i++)
		if (profile_is_in(path, bytes_of(plan->paths[i].path)))
			answer.path = &plan->paths[i];
	if (answer.path == NULL && !plan_is_brought(plan, path))
		return answer;
	if (answer.path != NULL)
		answer.access = answer.path->access;
	answer.glob = find_glob(plan, path,
	    answer.path != NULL ? answer.path->depth : none);
	if (answer.glob != NULL)
		answer.access = PLAN_DENY;
	return answer;
}
