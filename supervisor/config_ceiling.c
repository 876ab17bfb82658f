/* From the profile of a configuration to a ceiling. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/path.h"
#include "supervisor/config_profile.h"

static int
refuse(const struct config_rule *rule, struct err *e, const char *what)
{
	return err_set(e, EINVAL, "%.60s:%u: %s %.40s: %s",
	    rule->at.file != NULL ? rule->at.file : "--set", rule->at.line,
	    config_access_name(rule->access), rule->path, what);
}

/* base and rest become one path. */
static int
add(struct config_ceiling *c, const struct config_rule *rule,
    enum plan_access access, const char *base, const char *rest, struct err *e)
{
	size_t n = c->ceiling.path_count;
	char *path = NULL;

	if (n == PLAN_PATHS_MAX)
		return err_set(e, E2BIG,
		    "sandbox.profile: more than %d paths in all",
		    PLAN_PATHS_MAX);
	if (strcmp(base, "/") == 0 && rest[0] != '\0')
		base = "";
	if (asprintf(&path, "%s%s", base, rest) < 0)
		return err_set(e, ENOMEM, "out of memory");
	c->owned[n] = path;
	c->rules[n] = rule;
	c->paths[n] = (struct plan_path){.path = path, .access = access};
	c->ceiling.path_count++;
	if (!path_is_canonical(bytes_of(path)))
		return err_set(e, EINVAL, "sandbox.profile: too long a path");
	return 0;
}

static int
expand(struct config_ceiling *c, const struct config_rule *rule,
    const struct list *workspaces, struct err *e)
{
	const char *path = rule->path;
	size_t len = strlen("{workspace}");
	int r = 0;

	if (strncmp(path, "{tmp}", 5) == 0) {
		r = add(c, rule, rule->access, "/tmp", path + 5, e);
		if (r == 0 && path[5] == '\0')
			r = add(c, rule, rule->access, "/dev/shm", "", e);
		return r;
	}
	if (strncmp(path, "{workspace}", len) != 0)
		return add(c, rule, rule->access, path, "", e);
	for (size_t i = 0; i < workspaces->count && r == 0; i++)
		r = add(c, rule, rule->access, workspaces->items[i], path + len,
		    e);
	return r;
}

static bool
is_in_any(const char *path, const struct list *dirs)
{
	for (size_t i = 0; i < dirs->count; i++)
		if (profile_is_in(bytes_of(path), bytes_of(dirs->items[i])))
			return true;
	return false;
}

/* What is writable lies where the server's own files have been looked for, and
 * is none of them. */
static int
check_writable(const struct config_ceiling *c, size_t i,
    const struct list *workspaces, const struct list *read_only, struct err *e)
{
	const char *path = c->paths[i].path;

	if (c->paths[i].access != PLAN_WRITE)
		return 0;
	if (is_in_any(path, read_only))
		return refuse(c->rules[i], e,
		    "that is a file of the server itself");
	if (is_in_any(path, workspaces) ||
	    profile_is_in(bytes_of(path), bytes_of("/tmp")) ||
	    profile_is_in(bytes_of(path), bytes_of("/dev/shm")))
		return 0;
	return refuse(c->rules[i], e,
	    "lies in no workspace and not in {tmp}; name it as "
	    "server.workspace too");
}

/* A root that starts empty gets them all the same, and nothing would cover
 * them again. */
static int
check_denied(const struct config_ceiling *c, size_t i, struct err *e)
{
	struct bytes path = bytes_of(c->paths[i].path);

	if (c->paths[i].access != PLAN_DENY ||
	    c->ceiling.view != PLAN_VIEW_MINIMAL ||
	    profile_is_in(path, bytes_of("/dev/shm")))
		return 0;
	if (!profile_is_in(path, bytes_of("/proc")) &&
	    !profile_is_in(path, bytes_of("/dev")))
		return 0;
	return refuse(c->rules[i], e,
	    "every command has that, unless read = / is a rule too");
}

/* A workspace's path may be that of a rule that names it. */
static int
check_unique(const struct config_ceiling *c, struct err *e)
{
	for (size_t i = 0; i < c->ceiling.path_count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(c->paths[i].path, c->paths[j].path) == 0 &&
			    c->paths[i].access != c->paths[j].access)
				return refuse(c->rules[i], e,
				    "another rule gives this path another "
				    "access");
	return 0;
}

static int
add_own(struct config_ceiling *c, const struct list *read_only, struct err *e)
{
	int r = 0;

	if (c->ceiling.view == PLAN_VIEW_MINIMAL)
		r = add(c, NULL, PLAN_READ, "/", "", e);
	for (size_t i = 0; i < read_only->count && r == 0; i++)
		r = add(c, NULL, PLAN_READ, read_only->items[i], "", e);
	return r;
}

static bool
reads_root(const struct config_profile *p)
{
	for (size_t i = 0; i < p->rule_count; i++)
		if (strcmp(p->rules[i].path, "/") == 0)
			return true;
	return false;
}

int
config_ceiling_init(struct config_ceiling *c, const struct config_profile *p,
    const struct list *workspaces, const struct list *read_only, struct err *e)
{
	int r = 0;

	*c = (struct config_ceiling){0};
	c->ceiling = (struct decide_ceiling){.custom = true,
	    .view = reads_root(p) ? PLAN_VIEW_HOST : PLAN_VIEW_MINIMAL,
	    .unix_sockets = p->has_sockets ? (enum plan_unix_sockets)p->sockets
					   : PLAN_UNIX_PRIVATE,
	    .paths = c->paths};
	for (size_t i = 0; i < p->rule_count && r == 0; i++)
		r = expand(c, &p->rules[i], workspaces, e);
	for (size_t i = 0; i < c->ceiling.path_count && r == 0; i++)
		r = check_writable(c, i, workspaces, read_only, e);
	for (size_t i = 0; i < c->ceiling.path_count && r == 0; i++)
		r = check_denied(c, i, e);
	if (r == 0)
		r = check_unique(c, e);
	return r < 0 ? r : add_own(c, read_only, e);
}

void
config_ceiling_done(struct config_ceiling *c)
{
	for (size_t i = 0; i < PLAN_PATHS_MAX; i++)
		free(c->owned[i]);
	*c = (struct config_ceiling){0};
}
