#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/path.h"
#include "policy/env.h"
#include "policy/texts.h"
#include "privsep/pack.h"
#include "supervisor/config_value.h"
#include "supervisor/policy_command.h"

#define LINE_MAX_BYTES (16u * 1024u)

/* "allowed" or "refused", what is asked for, and what decides. */
static int
answer(bool allowed, const char *what, const char *because)
{
	(void)printf("%s: %s\n  by %s\n", allowed ? "allowed" : "refused", what,
	    because);
	return allowed ? POLICY_YES : POLICY_NO;
}

static int
fail(const char *text)
{
	options_complain(text);
	return POLICY_ERROR;
}

/* --- a path --------------------------------------------------------------- */

static int
put_rule(const struct policy_ceiling *p, const struct config *c,
    const char *path, struct buf *out)
{
	const struct config_rule *rule = policy_ceiling_rule(p, path);
	int r;

	if (rule == NULL)
		return buf_printf(out, "%s %s, for %s",
		    p->has_profile ? "the minimal root of profile" : "preset",
		    p->has_profile ? c->profile : config_preset_name(c->preset),
		    path);
	r = config_place_put(rule->at, out);
	return r < 0 ? r
		     : buf_printf(out, ": %s = %s",
			   config_access_name(rule->access), rule->path);
}

static int
explain_path(const struct config *c, const char *path)
{
	struct policy_ceiling p;
	struct plan_answer got;
	struct err e = {0};
	scoped_buf why;
	int code = POLICY_ERROR;

	buf_init(&why, LINE_MAX_BYTES);
	if (!path_is_canonical(bytes_of(path)))
		return fail("want an absolute path without . and ..");
	if (policy_ceiling_init(&p, c, &e) < 0) {
		policy_ceiling_done(&p);
		return fail(e.text);
	}
	got = plan_access(&p.plan, bytes_of(path));
	if ((got.path == NULL ? buf_printf(&why, "no rule: it is not there")
			      : put_rule(&p, c, got.path->path, &why)) == 0 &&
	    buf_put_u8(&why, 0) == 0) {
		(void)printf("%s: %s\n  by %s\n",
		    got.path == NULL ? "none" : config_access_name(got.access),
		    path, (char *)why.data);
		code = got.access == PLAN_READ || got.access == PLAN_WRITE
			   ? POLICY_YES
			   : POLICY_NO;
	}
	policy_ceiling_done(&p);
	return code;
}

/* --- a system call -------------------------------------------------------- */

/* "argN=VALUE": a number or a constant's name. */
static int
parse_argument(const char *text, uint64_t args[SYSCALL_ARGS])
{
	const char *equals = strchr(text, '=');
	uint64_t v;

	if (strncmp(text, "arg", 3) != 0 || text[3] < '0' ||
	    text[3] >= '0' + SYSCALL_ARGS || equals != text + 4)
		return -EINVAL;
	if (!syscall_constant(bytes_of(equals + 1), &v) &&
	    value_parse(equals + 1, LIMIT_COUNT, 0, UINT64_MAX, &v, NULL) < 0)
		return -EINVAL;
	args[text[3] - '0'] = v;
	return 0;
}

/* The rule that decides, or p->rule_count: the default does. */
static size_t
find_rule(const struct syscall_policy *p, const char *name,
    const uint64_t args[SYSCALL_ARGS])
{
	size_t i;

	for (i = 0; i < p->rule_count; i++)
		if ((p->rules[i].arches & compile_arch()) &&
		    strcmp(p->rules[i].name, name) == 0 &&
		    syscall_rule_holds(p, &p->rules[i], args))
			break;
	return i;
}

static int
answer_syscall(const struct syscall_policy *p, const char *file,
    const struct policy_source *source, const char *name,
    const uint64_t args[SYSCALL_ARGS])
{
	size_t i = find_rule(p, name, args);
	struct syscall_action a =
	    i < p->rule_count ? p->rules[i].action : p->fallback;

	(void)printf("%s: %s\n  by ", policy_action_name(a), name);
	if (i == p->rule_count)
		(void)printf("the default, as no rule of the call fits\n");
	else
		(void)printf("%s:%u: %s%s%.*s  # %.*s: %.*s\n",
		    source != NULL ? policy_source_of_rule(source, i) : file,
		    p->rules[i].line, name,
		    p->rules[i].test.len > 0 ? ": " : "",
		    (int)p->rules[i].test.len,
		    p->rules[i].test.len > 0
			? (const char *)p->rules[i].test.data
			: "",
		    (int)p->rules[i].caller.len,
		    (const char *)p->rules[i].caller.data,
		    (int)p->rules[i].reason.len,
		    (const char *)p->rules[i].reason.data);
	return a.kind == SYSCALL_ALLOW ? POLICY_YES : POLICY_NO;
}

static int
explain_file(const char *path, const char *name,
    const uint64_t args[SYSCALL_ARGS])
{
	struct policy_file f;
	scoped_buf errors;
	int code = POLICY_ERROR;

	buf_init(&errors, CHILD_POLICY_ERRORS_MAX);
	if (policy_file_load(&f, path, &errors) == 0)
		code = answer_syscall(f.policy, path, NULL, name, args);
	else
		(void)fwrite(errors.data, 1, errors.len, stderr);
	policy_file_done(&f);
	return code;
}

static int
explain_syscall(const struct config *c, const char *role, int argc, char **argv)
{
	const struct policy_source *source = policy_source_find(role);
	uint64_t args[SYSCALL_ARGS] = {0};
	struct syscall_policy *p;
	unsigned int nr;
	int code;

	if (argc < 1 || compile_number(argv[0], compile_arch(), &nr) < 0)
		return fail("there is no such system call");
	for (int i = 1; i < argc; i++)
		if (parse_argument(argv[i], args) < 0)
			return fail("want argN=VALUE, N from 0 to 5");
	if (source == NULL && c->child_policy != NULL)
		return explain_file(c->child_policy, argv[0], args);
	if (source == NULL)
		source = policy_source_find("child");
	p = policy_source_parse(source);
	if (p == NULL)
		return fail("out of memory");
	code = answer_syscall(p, NULL, source, argv[0], args);
	syscall_policy_free(p);
	return code;
}

/* --- a variable ----------------------------------------------------------- */

/* Which pattern takes the name, by asking the same function with one pattern
 * at a time. */
static int
is_dropped(const struct config *c, const char *name, const struct list *scrub,
    bool *dropped)
{
	scoped_buf patterns, allow, env, out, names;
	struct err e;
	int r;

	buf_init(&patterns, ENV_CONFIG_MAX);
	buf_init(&allow, ENV_CONFIG_MAX);
	buf_init(&env, LINE_MAX_BYTES);
	buf_init(&out, LINE_MAX_BYTES);
	buf_init(&names, LINE_MAX_BYTES);
	r = list_pack(scrub, &patterns);
	if (r == 0)
		r = list_pack(&c->env_allow, &allow);
	if (r == 0)
		r = buf_put_cstring(&env, name);
	if (r == 0)
		r = buf_put_cstring(&env, "x");
	if (r == 0)
		r = env_decide(&(struct env_config){.scrub = {patterns.data,
							patterns.len},
				   .allow = {allow.data, allow.len}},
		    &(struct env_request){.env = {env.data, env.len}}, &out,
		    &names, &e);
	*dropped = names.len > 0;
	return r;
}

/* The first pattern of the list that takes name by itself, or NULL. */
static const char *
find_scrub(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->env_scrub.count; i++) {
		const struct list one = {.items = &c->env_scrub.items[i],
		    .count = 1};
		const struct list none = {0};
		bool dropped, always;

		if (is_dropped(c, name, &one, &dropped) == 0 && dropped &&
		    is_dropped(c, name, &none, &always) == 0 && !always)
			return c->env_scrub.items[i];
	}
	return NULL;
}

static const char *
find_allow(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->env_allow.count; i++)
		if (env_match(bytes_of(c->env_allow.items[i]), bytes_of(name)))
			return c->env_allow.items[i];
	return NULL;
}

static int
answer_key(const struct config *c, bool allowed, const char *name,
    enum config_key key, const char *label, const char *value)
{
	const struct config_note *note =
	    config_notes_find(&c->notes, (int)key, value);
	scoped_buf why;

	buf_init(&why, LINE_MAX_BYTES);
	if ((note != NULL ? config_place_put(note->at, &why)
			  : buf_printf(&why, "built-in")) < 0 ||
	    buf_printf(&why, ": %s = %s", label, value) < 0 ||
	    buf_put_u8(&why, 0) < 0)
		return fail("out of memory");
	return answer(allowed, name, (const char *)why.data);
}

static int
explain_env(const struct config *c, const char *name)
{
	const char *scrub = find_scrub(c, name), *allow = find_allow(c, name);
	bool dropped;

	if (name[0] == '\0' || strchr(name, '=') != NULL)
		return fail("want the name of a variable");
	if (is_dropped(c, name, &c->env_scrub, &dropped) < 0)
		return fail("the name cannot be decided");
	if (dropped && scrub != NULL)
		return answer_key(c, false, name, KEY_ENV_SCRUB, "env.scrub",
		    scrub);
	if (dropped)
		return answer(false, name,
		    "built-in: the server's own credentials never pass");
	if (allow != NULL)
		return answer_key(c, true, name, KEY_ENV_ALLOW, "env.allow",
		    allow);
	return answer(true, name, "no pattern of env.scrub");
}

/* --- the network ---------------------------------------------------------- */

static bool
is_loopback(const char *host, size_t len)
{
	return (len == 9 && memcmp(host, "localhost", 9) == 0) ||
	       (len > 4 && memcmp(host, "127.", 4) == 0) ||
	       (len == 5 && memcmp(host, "[::1]", 5) == 0);
}

static int
explain_net(const struct config *c, const char *target)
{
	const char *colon = strrchr(target, ':');
	const struct config_profile *p = config_profile_of(c);
	scoped_buf why;
	uint64_t port;
	int r;

	buf_init(&why, LINE_MAX_BYTES);
	if (colon == NULL || colon == target ||
	    num_parse_u64(colon + 1, 1, 65535, &port) < 0)
		return fail("want HOST:PORT");
	if (c->network == NETWORK_RESTRICTED &&
	    is_loopback(target, (size_t)(colon - target)))
		return answer(true, target,
		    "profile.network = restricted: the session's own loopback, "
		    "not the host's");
	if (c->level[KEY_NETWORK] != CONFIG_PRESET)
		return answer_key(c, c->network == NETWORK_ENABLED, target,
		    KEY_NETWORK, "profile.network",
		    c->network == NETWORK_ENABLED ? "enabled" : "restricted");
	r = p != NULL && p->has_network
		? config_place_put(p->network_at, &why)
		: buf_printf(&why, "preset %s", config_preset_name(c->preset));
	if (r < 0 ||
	    buf_printf(&why, ": network = %s",
		c->network == NETWORK_ENABLED ? "enabled" : "restricted") < 0 ||
	    buf_put_u8(&why, 0) < 0)
		return fail("out of memory");
	return answer(c->network == NETWORK_ENABLED, target,
	    (const char *)why.data);
}

/* --- which ---------------------------------------------------------------- */

static int
choose(struct options *o, const char *name)
{
	static const char *const presets[] = {"workspace", "strict", "open"};
	const char *key = "sandbox.profile";
	scoped_free char *text = NULL;

	if (strcmp(name, "current") == 0 || policy_source_find(name) != NULL)
		return 0;
	for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
		if (strcmp(presets[i], name) == 0)
			key = "sandbox.preset";
	if (strcmp(key, "sandbox.preset") == 0 &&
	    list_add(&o->settings, "sandbox.profile=", SIZE_MAX) < 0)
		return -ENOMEM;
	if (asprintf(&text, "%s=%s", key, name) < 0)
		return -ENOMEM;
	return list_add(&o->settings, text, SIZE_MAX);
}

static int
explain(struct config *c, int argc, char **argv)
{
	struct err e = {0};

	if (policy_real_workspaces(c, &e) < 0)
		return fail(e.text);
	if (strcmp(argv[1], "syscall") == 0)
		return explain_syscall(c, argv[0], argc - 2, argv + 2);
	if (policy_source_find(argv[0]) != NULL)
		return fail("of a process only system calls can be asked");
	if (argc == 3 && strcmp(argv[1], "env") == 0)
		return explain_env(c, argv[2]);
	if (argc == 3 && strcmp(argv[1], "net") == 0)
		return explain_net(c, argv[2]);
	if (argc == 2)
		return explain_path(c, argv[1]);
	return fail("sallyport policy --help tells what there is");
}

int
policy_explain(int argc, char **argv)
{
	struct options o = {0};
	struct config c = {0};
	int code = POLICY_ERROR;

	if (options_parse(&o, argc, argv, true) < 0)
		(void)0;
	else if (argc - o.first < 2)
		(void)fail("sallyport policy --help tells what there is");
	else if (choose(&o, argv[o.first]) == 0 && options_load(&o, &c) == 0)
		code = explain(&c, argc - o.first, argv + o.first);
	config_done(&c);
	options_done(&o);
	return code;
}
