#include "policy/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/path.h"
#include "policy/glob.h"

const char *const profile_minimal[] = {"/usr", "/bin", "/sbin", "/lib",
    "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
    "/etc/ssl", "/etc/localtime", "/etc/hosts", "/etc/resolv.conf",
    "/etc/alternatives", NULL};

/* --- paths ---------------------------------------------------------------- */

bool
profile_is_in(struct bytes path, struct bytes dir)
{
	if (dir.len == 1)
		return true;
	if (path.len < dir.len || memcmp(path.data, dir.data, dir.len) != 0)
		return false;
	return path.len == dir.len || path.data[dir.len] == '/';
}

uint32_t
profile_depth(struct bytes path)
{
	uint32_t depth = 0;

	if (path.len == 1)
		return 0;
	for (size_t i = 0; i < path.len; i++)
		depth += path.data[i] == '/';
	return depth;
}

enum plan_access
profile_min(enum plan_access a, enum plan_access b)
{
	if (a == PLAN_NONE || b == PLAN_NONE)
		return PLAN_NONE;
	if (a == PLAN_DENY || b == PLAN_DENY)
		return PLAN_DENY;
	return a == PLAN_READ || b == PLAN_READ ? PLAN_READ : PLAN_WRITE;
}

/* --- making one ----------------------------------------------------------- */

static int
make_room(struct profile *p, struct err *e)
{
	struct profile_rule *grown;
	size_t room = p->room == 0 ? 16 : p->room * 2;

	if (p->count < p->room)
		return 0;
	if (p->count >= SANDBOX_RULES_MAX)
		return err_set(e, E2BIG, "the sandbox has more than %d rules",
		    SANDBOX_RULES_MAX);
	grown = reallocarray(p->rules, room, sizeof *grown);
	if (grown == NULL)
		return err_set(e, ENOMEM, "out of memory");
	p->rules = grown;
	p->room = room;
	return 0;
}

/* Add a rule whose path is a copy of the given one. */
static int
add_rule(struct profile *p, struct bytes path, struct profile_rule rule,
    struct err *e)
{
	int r = make_room(p, e);

	if (r < 0)
		return r;
	/* Text is compared: a path with ".." would pass for another. */
	if (!rule.glob && !path_is_canonical(path))
		return err_set(e, EINVAL, "a sandbox path is not canonical");
	rule.path = bytes_dup(path);
	if (rule.path == NULL)
		return err_set(e, ENOMEM, "out of memory");
	rule.len = path.len;
	if (!rule.glob)
		rule.depth = profile_depth(path);
	p->rules[p->count++] = rule;
	return 0;
}

int
profile_add(struct profile *p, struct bytes path, enum plan_access access,
    struct err *e)
{
	return add_rule(p, path, (struct profile_rule){.access = access}, e);
}

static int
add_minimal(struct profile *p, struct profile_rule rule, struct err *e)
{
	int r = 0;

	for (size_t i = 0; profile_minimal[i] != NULL && r == 0; i++)
		r = add_rule(p, bytes_of(profile_minimal[i]), rule, e);
	return r;
}

int
profile_add_minimal(struct profile *p, struct err *e)
{
	return add_minimal(p, (struct profile_rule){.access = PLAN_READ}, e);
}

void
profile_done(struct profile *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->rules[i].path);
	free(p->rules);
	*p = (struct profile){0};
}

/* --- from a request ------------------------------------------------------- */

static int
add_below(struct profile *p, struct bytes root, struct bytes subpath,
    struct profile_rule rule, struct err *e)
{
	scoped_buf path;
	int r = 0;

	buf_init(&path, PATH_LEN_MAX - 1);
	if (root.len > 1 || subpath.len == 0)
		r = buf_put(&path, root.data, root.len);
	if (r == 0 && subpath.len > 0)
		r = buf_put_u8(&path, '/');
	if (r == 0)
		r = buf_put(&path, subpath.data, subpath.len);
	if (r == -EMSGSIZE)
		return err_set(e, EINVAL, "a subpath makes too long a path");
	if (r < 0)
		return err_set(e, -r, "out of memory");
	return add_rule(p, (struct bytes){.data = path.data, .len = path.len},
	    rule, e);
}

static int
add_roots(struct profile *p, const struct profile_names *names,
    struct bytes subpath, struct profile_rule rule, struct err *e)
{
	int r = 0;

	if (names->roots == NULL && names->cwd.len == 0)
		return err_set(e, EINVAL,
		    "project_roots needs workspaceRoots or a cwd");
	if (names->roots == NULL)
		return add_below(p, names->cwd, subpath, rule, e);
	for (size_t i = 0; i < names->root_count && r == 0; i++)
		r = add_below(p, names->roots[i], subpath, rule, e);
	return r;
}

static int
add_cwd(struct profile *p, const struct profile_names *names,
    struct profile_rule rule, struct err *e)
{
	if (names->cwd.len == 0)
		return err_set(e, EINVAL,
		    "current_working_directory needs a cwd");
	return add_rule(p, names->cwd, rule, e);
}

static int
add_scratch(struct profile *p, struct bytes path, struct profile_rule rule,
    struct err *e)
{
	int r = add_rule(p, path, rule, e);

	return r < 0 ? r : add_rule(p, bytes_of("/dev/shm"), rule, e);
}

/*
 * A pattern that can only mean a whole directory becomes a rule on it. Others
 * hold for what exists when the program starts, which is of use to deny; what
 * they grant would be missing a moment later.
 */
static int
add_glob(struct profile *p, const struct profile_names *names,
    struct bytes text, struct profile_rule rule, struct err *e)
{
	struct bytes pattern, base;
	scoped_buf absolute;
	int r;

	buf_init(&absolute, PATH_LEN_MAX - 1);
	r = glob_resolve(text, names->cwd, &absolute, e);
	if (r < 0)
		return r == -ENAMETOOLONG ? -EINVAL : r;
	pattern = (struct bytes){.data = absolute.data, .len = absolute.len};
	base = (struct bytes){.data = absolute.data, .len = glob_base(pattern)};
	if (!glob_is_pattern(pattern))
		return add_rule(p, pattern, rule, e);
	if (glob_is_subtree(pattern) ||
	    (rule.access == PLAN_DENY && glob_is_children(pattern)))
		return add_rule(p, base, rule, e);
	if (rule.access != PLAN_DENY)
		return err_set(e, ENOTSUP,
		    "Codex filesystem sandbox restrictions cannot be enforced "
		    "by the backend: a glob pattern can only deny, or end in "
		    "/**");
	rule.glob = true;
	rule.depth = profile_depth(base);
	return add_rule(p, pattern, rule, e);
}

/* A name that is unknown gives nothing; but what it would deny is unknown. */
static int
check_unknown(const struct profile_entry *entry, struct err *e)
{
	if (entry->access != PROFILE_DENY)
		return 0;
	return err_set(e, ENOTSUP,
	    "Codex filesystem sandbox restrictions cannot be enforced by the "
	    "backend: an unknown special path is denied");
}

static enum plan_access
access_of(enum profile_access access)
{
	switch (access) {
	case PROFILE_READ:
		return PLAN_READ;
	case PROFILE_WRITE:
		return PLAN_WRITE;
	case PROFILE_DENY:
		break;
	}
	return PLAN_DENY;
}

static int
add_entry(struct profile *p, const struct profile_entry *entry,
    const struct profile_names *names, struct err *e)
{
	const struct profile_rule rule = {.access = access_of(entry->access),
	    .skip_missing = entry->skip_missing};

	switch (entry->path) {
	case PROFILE_PATH:
		return add_rule(p, entry->text, rule, e);
	case PROFILE_GLOB:
		return add_glob(p, names, entry->text, rule, e);
	case PROFILE_ROOT:
		return add_rule(p, bytes_of("/"), rule, e);
	case PROFILE_MINIMAL:
		return add_minimal(p, rule, e);
	case PROFILE_CWD:
		return add_cwd(p, names, rule, e);
	case PROFILE_PROJECT_ROOTS:
		return add_roots(p, names, entry->text, rule, e);
	case PROFILE_TMPDIR:
		return add_scratch(p, names->tmpdir, rule, e);
	case PROFILE_SLASH_TMP:
		return add_scratch(p, bytes_of("/tmp"), rule, e);
	case PROFILE_UNKNOWN:
		return check_unknown(entry, e);
	}
	return err_set(e, EINVAL, "a sandbox entry has no known path");
}

int
profile_of_entries(struct profile *p, const struct profile_entry *entries,
    size_t count, const struct profile_names *names, struct err *e)
{
	int r = 0;

	*p = (struct profile){0};
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_entry(p, &entries[i], names, e);
	return r;
}

/* --- asking one ----------------------------------------------------------- */

static bool
applies(const struct profile_rule *rule, struct bytes path)
{
	struct bytes own = {.data = (const uint8_t *)rule->path,
	    .len = rule->len};

	return rule->glob ? glob_covers(own, path) : profile_is_in(path, own);
}

enum plan_access
profile_access(const struct profile *p, struct bytes path,
    const struct profile_rule **rule)
{
	const struct profile_rule *best = NULL;
	bool given = false;

	for (size_t i = 0; i < p->count; i++) {
		const struct profile_rule *it = &p->rules[i];

		if (!applies(it, path))
			continue;
		given |= !it->glob;
		if (best == NULL || it->depth > best->depth ||
		    (it->depth == best->depth && it->access > best->access))
			best = it;
	}
	/* A glob takes away; where nothing was given, nothing is. */
	if (!given)
		best = NULL;
	if (rule != NULL)
		*rule = best;
	return best == NULL ? PLAN_NONE : best->access;
}
