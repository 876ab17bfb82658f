/* What a path is to a command, and which line says so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/policy_command.h"

static bool
is_in_any(const char *path, const struct list *dirs)
{
	for (size_t i = 0; i < dirs->count; i++)
		if (profile_is_in(bytes_of(path), bytes_of(dirs->items[i])))
			return true;
	return false;
}

/* What the session mounts itself lies over the host's trees. */
static bool
is_mounted(const struct config *c, const char *path)
{
	return is_in_any(path, &c->workspaces) ||
	       profile_is_in(bytes_of(path), bytes_of("/tmp")) ||
	       profile_is_in(bytes_of(path), bytes_of("/dev/shm"));
}

/* /etc/resolv.conf leads to a file of /run that every view has. */
static bool
is_resolver(const char *path)
{
	scoped_free char *real = realpath("/etc/resolv.conf", NULL);

	return real != NULL && profile_is_in(bytes_of(real), bytes_of(path));
}

/* Whether the host has a link at path, or on the way to it. */
static bool
is_through_link(const char *path)
{
	scoped_free char *real = realpath(path, NULL);

	return real != NULL && strcmp(real, path) != 0;
}

/*
 * The last of the first count rules that holds path as it is written; NULL:
 * there is none. One that stands on a link and gives more than is around it is
 * left out of a view, as nothing is gained through a link.
 */
static const struct plan_path *
find_among(const struct plan *plan, size_t count, const char *path)
{
	while (count-- > 0) {
		const struct plan_path *it = &plan->paths[count];

		if (profile_is_in(bytes_of(path), bytes_of(it->path)) &&
		    (profile_access_rank(it->access) <=
			    profile_access_rank(it->around) ||
			it->in_view || !is_through_link(it->path)))
			return it;
	}
	return NULL;
}

static const struct plan_path *
find_rule(const struct plan *plan, const char *path)
{
	return find_among(plan, plan->path_count, path);
}

/* The place that decides what path is, where a rule gives it that access; NULL:
 * the rule does. */
static const struct policy_place *
place_over(const struct policy_ceiling *p, const struct config *c,
    const char *path, enum plan_access access)
{
	const struct policy_place *place = policy_place_find(path);

	if (place == NULL || p->ceiling.view == PLAN_VIEW_OPEN ||
	    is_mounted(c, path) || access == PLAN_DENY)
		return NULL;
	if (profile_is_in(bytes_of(path), bytes_of("/run")) &&
	    is_resolver(path))
		return NULL;
	/* A session has them all; a profile gives each command its own view. */
	if (place->of != PLACE_ALWAYS && p->has_profile &&
	    profile_access_rank(access) <= profile_access_rank(place->access))
		return NULL;
	if (place->of == PLACE_OF_STRICT &&
	    (p->has_profile || p->ceiling.view != PLAN_VIEW_MINIMAL))
		return NULL;
	return place;
}

static void
judge_text(const struct policy_ceiling *p, const struct config *c,
    const char *path, struct policy_verdict *v)
{
	const struct plan_path *got = find_rule(&p->plan, path);

	*v = (struct policy_verdict){.access = PLAN_NONE};
	if (got != NULL) {
		v->access = got->access;
		v->path = got->path;
		v->rule = policy_ceiling_rule(p, v->path);
		v->own = list_has(&p->workspaces.read_only, v->path);
	}
	v->place = place_over(p, c, path, v->access);
	if (v->place != NULL)
		v->access = v->place->access;
}

/* Whether the host's links are what the command finds at path, too. */
static bool
is_of_host(const struct policy_ceiling *p, const struct config *c,
    const char *path)
{
	if (p->ceiling.view == PLAN_VIEW_OPEN ||
	    is_in_any(path, &c->workspaces))
		return true;
	return policy_place_find(path) == NULL && !is_mounted(c, path);
}

/* --- words ---------------------------------------------------------------- */

int
policy_origin_put(const struct config *c, enum config_key key,
    const char *value, struct buf *out)
{
	const struct config_note *note =
	    config_notes_find(&c->notes, (int)key, value);
	const struct config_profile *p = config_profile_of(c);

	if (note != NULL && note->level != CONFIG_PRESET)
		return config_place_put(note->at, out);
	if (key == KEY_NETWORK && c->level[key] == CONFIG_PRESET && p != NULL &&
	    p->has_network)
		return config_place_put(p->network_at, out);
	if (c->level[key] == CONFIG_PRESET)
		return buf_printf(out, "preset %s",
		    config_preset_name(c->preset));
	return buf_printf(out, "built-in");
}

/* The line that names the workspace, which it may have written another way. */
static int
put_workspace(const struct config *c, const char *path, struct buf *out)
{
	for (size_t i = c->notes.count; i > 0; i--) {
		const struct config_note *note = &c->notes.items[i - 1];
		scoped_free char *real = NULL;
		int r;

		if (note->key != KEY_WORKSPACE)
			continue;
		real = realpath(note->value, NULL);
		if (strcmp(real != NULL ? real : note->value, path) != 0)
			continue;
		r = config_place_put(note->at, out);
		return r < 0 ? r
			     : buf_printf(out, ": server.workspace = %s",
				   note->value);
	}
	return buf_printf(out, "the workspace, which is the current directory");
}

static int
put_preset(const struct config *c, const char *path, struct buf *out)
{
	int r = buf_printf(out, "preset %s", config_preset_name(c->preset));

	if (r < 0)
		return r;
	if (list_has(&c->workspaces, path)) {
		r = buf_printf(out, ", for ");
		return r < 0 ? r : put_workspace(c, path, out);
	}
	if (strcmp(path, "/tmp") == 0 || strcmp(path, "/dev/shm") == 0)
		return buf_printf(out, ", for %s, the session's own", path);
	return buf_printf(out, ", for %s", path);
}

static int
put_rule(const struct policy_ceiling *p, const struct config *c,
    const struct policy_verdict *v, struct buf *out)
{
	int r;

	if (v->way)
		return buf_printf(out,
		    "built-in: an empty directory on the way to %s", v->path);
	if (v->path == NULL)
		return buf_printf(out, "no rule: it is not there");
	if (v->own)
		return buf_printf(out,
		    "built-in: %s is sallyport's own, read-only in every "
		    "workspace",
		    v->path);
	if (v->rule == NULL && p->has_profile)
		return buf_printf(out, "the minimal root of profile %s, for %s",
		    c->profile, v->path);
	if (v->rule == NULL)
		return put_preset(c, v->path, out);
	r = config_place_put(v->rule->at, out);
	return r < 0 ? r
		     : buf_printf(out, ": %s = %s",
			   config_access_name(v->rule->access), v->rule->path);
}

int
policy_verdict_put(const struct policy_ceiling *p, const struct config *c,
    const struct policy_verdict *v, struct buf *out)
{
	int r = 0;

	if (v->real[0] != '\0')
		r = buf_printf(out, "%s, where a link leads: ", v->real);
	if (r < 0)
		return r;
	return v->place != NULL
		   ? buf_printf(out, "built-in: %s", v->place->what)
		   : put_rule(p, c, v, out);
}

/* --- what a view makes of it ---------------------------------------------- */

/* Whether the nearest rule stands on a link and gives less than is around it:
 * the link is masked then, so that it leads nowhere. */
static bool
is_masked(const struct policy_ceiling *p, const char *path)
{
	const struct plan_path *got = find_rule(&p->plan, path);

	return got != NULL &&
	       profile_access_rank(got->access) <
		   profile_access_rank(got->around) &&
	       is_through_link(got->path);
}

/*
 * Whether path lies in what a view masks: the denial that holds there, or one
 * around that, takes something away. A denial with nothing around it has
 * nothing to mask.
 */
static bool
is_under_mask(const struct plan *plan, const char *path)
{
	const struct plan_path *it = find_rule(plan, path);

	while (it != NULL && it->access == PLAN_DENY) {
		if (profile_access_rank(it->around) > 0)
			return true;
		it = find_among(plan, (size_t)(it - plan->paths), it->path);
	}
	return false;
}

/* Whether a view of its own has what the rule names: it is there, no link and
 * none on the way, and not the host's where the session has its own. */
static bool
is_given(const struct policy_ceiling *p, const struct config *c,
    const struct plan_path *it)
{
	const struct policy_place *place =
	    place_over(p, c, it->path, it->access);

	if (profile_access_rank(it->access) == 0 ||
	    (place != NULL && profile_access_rank(place->access) == 0))
		return false;
	if (is_mounted(c, it->path) && !is_in_any(it->path, &c->workspaces))
		return strcmp(it->path, "/tmp") == 0 ||
		       strcmp(it->path, "/dev/shm") == 0;
	return access(it->path, F_OK) == 0 && !is_through_link(it->path);
}

const char *
policy_path_way(const struct policy_ceiling *p, const struct config *c,
    const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->path_count; i++) {
		const struct plan_path *it = &plan->paths[i];

		if (strcmp(it->path, path) != 0 &&
		    profile_is_in(bytes_of(it->path), bytes_of(path)) &&
		    is_given(p, c, it))
			return is_under_mask(plan, path) ? NULL : it->path;
	}
	return NULL;
}

static void
judge_way(const struct policy_ceiling *p, const struct config *c,
    const char *path, struct policy_verdict *v)
{
	const char *to = policy_path_way(p, c, &p->plan, path);

	if (to != NULL)
		*v = (struct policy_verdict){.access = PLAN_READ,
		    .path = to,
		    .way = true};
}

void
policy_path_judge(const struct policy_ceiling *p, const struct config *c,
    const char *path, struct policy_verdict *out)
{
	scoped_free char *real = NULL;

	judge_text(p, c, path, out);
	if (profile_access_rank(out->access) == 0)
		judge_way(p, c, path, out);
	if (profile_access_rank(out->access) == 0 || out->way ||
	    !is_of_host(p, c, path))
		return;
	if (is_masked(p, path)) {
		out->access = PLAN_DENY;
		return;
	}
	real = realpath(path, NULL);
	if (real == NULL || strcmp(real, path) == 0)
		return;
	judge_text(p, c, real, out);
	(void)snprintf(out->real, sizeof out->real, "%s", real);
}
