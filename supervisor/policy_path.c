/* What a path is to a command, and which line says so. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/policy_command.h"
#include "supervisor/policy_place.h"

struct verdict {
	enum plan_access access;
	const char *path;		  /* of the rule; NULL: there is none */
	const struct policy_place *place; /* NULL: the rule decides */
};

static unsigned int
rank(enum plan_access access)
{
	switch (access) {
	case PLAN_NONE:
	case PLAN_DENY:
		return 0;
	case PLAN_READ:
		return 1;
	case PLAN_WRITE:
		break;
	}
	return 2;
}

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

static struct verdict
judge_text(const struct policy_ceiling *p, const struct config *c,
    const char *path)
{
	const struct plan_answer got = plan_access(&p->plan, bytes_of(path));
	const struct policy_place *place = policy_place_find(path);
	struct verdict v = {.access = got.access,
	    .path = got.path != NULL ? got.path->path : NULL};

	if (place == NULL || p->ceiling.view == PLAN_VIEW_OPEN ||
	    is_mounted(c, path) || got.access == PLAN_DENY)
		return v;
	if (profile_is_in(bytes_of(path), bytes_of("/run")) &&
	    is_resolver(path))
		return v;
	if (!place->always && rank(got.access) <= rank(place->access))
		return v;
	v.access = place->access;
	v.place = place;
	return v;
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
    const char *path, struct buf *out)
{
	const struct config_rule *rule;
	int r;

	if (path == NULL)
		return buf_printf(out, "no rule: it is not there");
	rule = policy_ceiling_rule(p, path);
	if (list_has(&p->workspaces.read_only, path))
		return buf_printf(out,
		    "built-in: %s is sallyport's own, read-only in every "
		    "workspace",
		    path);
	if (rule == NULL && p->has_profile)
		return buf_printf(out, "the minimal root of profile %s, for %s",
		    c->profile, path);
	if (rule == NULL)
		return put_preset(c, path, out);
	r = config_place_put(rule->at, out);
	return r < 0 ? r
		     : buf_printf(out, ": %s = %s",
			   config_access_name(rule->access), rule->path);
}

static int
put(const struct policy_ceiling *p, const struct config *c,
    const struct verdict *v, struct buf *out)
{
	if (v->place != NULL)
		return buf_printf(out, "built-in: %s", v->place->what);
	return put_rule(p, c, v->path, out);
}

int
policy_path_judge(const struct policy_ceiling *p, const struct config *c,
    const char *path, enum plan_access *access, struct buf *why)
{
	struct verdict v = judge_text(p, c, path), behind;
	scoped_free char *real = NULL;
	int r;

	if (is_of_host(p, c, path))
		real = realpath(path, NULL);
	if (real != NULL && strcmp(real, path) != 0) {
		behind = judge_text(p, c, real);
		if (rank(behind.access) < rank(v.access)) {
			r = buf_printf(why, "%s, where a link leads: ", real);
			if (r == 0)
				r = put(p, c, &behind, why);
			if (r == 0)
				*access = behind.access;
			return r;
		}
	}
	r = put(p, c, &v, why);
	if (r == 0)
		*access = v.access;
	return r;
}
