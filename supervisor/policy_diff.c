#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/env.h"
#include "supervisor/policy_command.h"
#include "supervisor/policy_syscalls.h"

/* Two configurations, and whether a difference was told. */
struct pair {
	const struct config *a, *b;
	struct policy_ceiling in_a, in_b;
	bool widened;
};

static void
tell(struct pair *p, const char *what, const char *in_b, const char *in_a)
{
	(void)printf("%s: %s (was %s)\n", what, in_b, in_a);
	p->widened = true;
}

/* --- files ---------------------------------------------------------------- */

static int
strength(enum plan_access access)
{
	if (access == PLAN_WRITE)
		return 2;
	return access == PLAN_READ ? 1 : 0;
}

static void
compare_path(struct pair *p, const char *path)
{
	enum plan_access a = plan_access(&p->in_a.plan, bytes_of(path)).access;
	enum plan_access b = plan_access(&p->in_b.plan, bytes_of(path)).access;

	if (strength(b) > strength(a))
		tell(p, path, config_access_name(b), config_access_name(a));
}

/* Between two rules nothing changes: the paths that a rule of either names,
 * and "/" for all that none does, say it all. */
static void
compare_paths(struct pair *p)
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
compare_sockets(struct pair *p)
{
	static const int order[] = {[PLAN_UNIX_DENY] = 0,
	    [PLAN_UNIX_PRIVATE] = 1,
	    [PLAN_UNIX_HOST] = 2};
	enum plan_unix_sockets a = p->in_a.plan.unix_sockets;
	enum plan_unix_sockets b = p->in_b.plan.unix_sockets;

	if (order[b] > order[a])
		tell(p, "unix_sockets", config_sockets_name(b),
		    config_sockets_name(a));
}

static void
compare_words(struct pair *p)
{
	const struct config *a = p->a, *b = p->b;

	if (b->network > a->network)
		tell(p, "profile.network", "enabled", "restricted");
	if (b->preset == PRESET_OPEN && a->preset != PRESET_OPEN)
		tell(p, "sandbox.preset", "open",
		    config_preset_name(a->preset));
	if (b->allow_root > a->allow_root)
		tell(p, "sandbox.allow_root", "true", "false");
	if (b->degraded > a->degraded)
		tell(p, "sandbox.degraded", "allow", "refuse");
}

/* --- environment ---------------------------------------------------------- */

/* What is in list "more" and not in list "fewer". */
static void
compare_lists(struct pair *p, const char *key, const struct list *more,
    const struct list *fewer, const char *now, const char *was)
{
	for (size_t i = 0; i < more->count; i++) {
		char text[160];

		if (list_has(fewer, more->items[i]))
			continue;
		(void)snprintf(text, sizeof text, "%s %.100s", key,
		    more->items[i]);
		tell(p, text, now, was);
	}
}

/* Names alone: a value may be a secret. */
static void
compare_set(struct pair *p)
{
	for (size_t i = 0; i < p->b->env_set.count; i++) {
		const char *item = p->b->env_set.items[i];
		size_t len = strcspn(item, "=") + 1;
		char text[160];
		bool found = false;

		for (size_t j = 0; j < p->a->env_set.count && !found; j++)
			found = strncmp(p->a->env_set.items[j], item, len) == 0;
		if (found)
			continue;
		(void)snprintf(text, sizeof text, "env.set %.*s",
		    len > 100 ? 100 : (int)len - 1, item);
		tell(p, text, "can be inherited", "not there");
	}
}

static void
compare_env(struct pair *p)
{
	compare_lists(p, "env.scrub", &p->a->env_scrub, &p->b->env_scrub,
	    "not in the list", "dropped");
	compare_lists(p, "env.allow", &p->b->env_allow, &p->a->env_allow,
	    "passes", "not in the list");
	compare_set(p);
}

/* --- limits --------------------------------------------------------------- */

/* 0 is no limit where a row's minimum is 0 and it counts what a child has. */
static uint64_t
effective(const char *key, uint64_t v)
{
	bool none = v == 0 && (strcmp(key, "child_file_size") == 0 ||
				  strcmp(key, "child_memory") == 0);

	return none ? UINT64_MAX : v;
}

static void
compare_limits(struct pair *p)
{
	for (unsigned int i = 0; i < LIMIT_ROWS; i++) {
		const char *key = limit_rows[i].key;
		uint64_t a = limits_get(&p->a->limits, i);
		uint64_t b = limits_get(&p->b->limits, i);
		char what[64], now[24], was[24];

		if (effective(key, b) <= effective(key, a))
			continue;
		(void)snprintf(what, sizeof what, "limits.%s", key);
		(void)snprintf(now, sizeof now, "%llu", (unsigned long long)b);
		(void)snprintf(was, sizeof was, "%llu", (unsigned long long)a);
		tell(p, what, now, was);
	}
}

/* --- configurations ------------------------------------------------------- */

static int
compare_child(struct pair *p, struct err *e)
{
	int r =
	    policy_syscalls_compare(p->a->child_policy, p->b->child_policy, e);

	p->widened |= r > 0;
	return r;
}

static int
compare_configs(const struct config *a, const struct config *b)
{
	struct pair p = {.a = a, .b = b};
	struct err e = {0};
	int r = policy_ceiling_init(&p.in_a, a, &e);
	int s = policy_ceiling_init(&p.in_b, b, &e);

	if (r == 0 && s == 0) {
		compare_paths(&p);
		compare_sockets(&p);
		compare_words(&p);
		compare_env(&p);
		compare_limits(&p);
		r = compare_child(&p, &e);
	}
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
