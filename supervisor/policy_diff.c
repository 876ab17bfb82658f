#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/policy_diff.h"
#include "supervisor/policy_syscalls.h"

void
policy_diff_tell(struct policy_diff *d, const char *what, const char *in_b,
    const char *in_a)
{
	(void)printf("%s: %s (was %s)\n", what, in_b, in_a);
	d->widened = true;
}

/* --- files ---------------------------------------------------------------- */

static int
strength(enum plan_access access)
{
	if (access == PLAN_WRITE)
		return 2;
	return access == PLAN_READ ? 1 : 0;
}

/* A file of sallyport's own is one in either, whichever of them is read. */
static bool
is_own(const struct policy_diff *p, const char *path)
{
	return list_has(&p->in_a.workspaces.read_only, path) ||
	       list_has(&p->in_b.workspaces.read_only, path);
}

static void
compare_path(struct policy_diff *p, const char *path)
{
	enum plan_access a = plan_access(&p->in_a.plan, bytes_of(path)).access;
	enum plan_access b = plan_access(&p->in_b.plan, bytes_of(path)).access;

	if (strength(b) > strength(a) && !is_own(p, path))
		policy_diff_tell(p, path, config_access_name(b),
		    config_access_name(a));
}

/* Between two rules nothing changes: the paths that a rule of either names,
 * and "/" for all that none does, say it all. */
static void
compare_paths(struct policy_diff *p)
{
	compare_path(p, "/");
	for (size_t i = 0; i < p->in_a.plan.path_count; i++)
		if (strcmp(p->in_a.plan.paths[i].path, "/") != 0)
			compare_path(p, p->in_a.plan.paths[i].path);
	for (size_t i = 0; i < p->in_b.plan.path_count; i++) {
		const char *path = p->in_b.plan.paths[i].path;
		bool seen = strcmp(path, "/") == 0;

		for (size_t j = 0; j < p->in_a.plan.path_count; j++)
			seen |= strcmp(p->in_a.plan.paths[j].path, path) == 0;
		if (!seen)
			compare_path(p, path);
	}
}

/* --- words ---------------------------------------------------------------- */

static void
compare_sockets(struct policy_diff *p)
{
	static const int order[] = {[PLAN_UNIX_DENY] = 0,
	    [PLAN_UNIX_PRIVATE] = 1,
	    [PLAN_UNIX_HOST] = 2};
	enum plan_unix_sockets a = p->in_a.plan.unix_sockets;
	enum plan_unix_sockets b = p->in_b.plan.unix_sockets;

	if (order[b] > order[a])
		policy_diff_tell(p, "unix_sockets", config_sockets_name(b),
		    config_sockets_name(a));
}

static void
compare_preset(struct policy_diff *p)
{
	if (p->b->preset == PRESET_OPEN && p->a->preset != PRESET_OPEN)
		policy_diff_tell(p, "sandbox.preset", "open",
		    config_preset_name(p->a->preset));
}

/* --- configurations ------------------------------------------------------- */

static int
compare_child(struct policy_diff *p, struct err *e)
{
	int r;

	/* The built-in policy has nothing more than itself. */
	if (p->a->child_policy == NULL && p->b->child_policy == NULL)
		return 0;
	r = policy_syscalls_compare(p->a->child_policy, p->b->child_policy, e);
	p->widened |= r > 0;
	return r;
}

static int
compare_configs(const struct config *a, const struct config *b)
{
	struct policy_diff p = {.a = a, .b = b};
	struct err e = {0};
	int r = policy_ceiling_init(&p.in_a, a, &e);
	int s = policy_ceiling_init(&p.in_b, b, &e);

	if (r == 0 && s == 0) {
		compare_paths(&p);
		compare_sockets(&p);
		compare_preset(&p);
		policy_diff_limits(&p);
		r = policy_diff_keys(&p);
	}
	if (r < 0 && e.code == 0)
		(void)!err_set(&e, -r, "out of memory");
	if (r == 0 && s == 0)
		r = compare_child(&p, &e);
	policy_ceiling_done(&p.in_a);
	policy_ceiling_done(&p.in_b);
	if (r < 0 || s < 0) {
		options_complain(e.text);
		return POLICY_ERROR;
	}
	return p.widened ? POLICY_NO : POLICY_YES;
}

static int
load(struct config *c, char *path)
{
	const struct options o = {.config_file = path};
	struct err e = {0};
	int r = options_load(&o, c);

	if (r == 0)
		r = policy_real_workspaces(c, &e);
	if (r < 0 && e.text[0] != '\0')
		options_complain(e.text);
	return r;
}

static int
diff_configs(char *a_path, char *b_path)
{
	struct config a = {0}, b = {0};
	int code = POLICY_ERROR;
	int r = load(&a, a_path), s = load(&b, b_path);

	if (r == 0 && s == 0)
		code = compare_configs(&a, &b);
	config_done(&a);
	config_done(&b);
	return code;
}

int
policy_diff(int argc, char **argv)
{
	struct err e = {0};
	int r;

	if (argc != 3 || policy_is_text(argv[1]) != policy_is_text(argv[2])) {
		options_complain("want two configurations or two system call "
				 "policies");
		return POLICY_ERROR;
	}
	if (!policy_is_text(argv[1]))
		return diff_configs(argv[1], argv[2]);
	r = policy_syscalls_compare(argv[1], argv[2], &e);
	if (r < 0)
		options_complain(e.text);
	return r < 0 ? POLICY_ERROR : r > 0 ? POLICY_NO : POLICY_YES;
}
