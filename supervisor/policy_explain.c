#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/env.h"
#include "policy/texts.h"
#include "privsep/pack.h"
#include "supervisor/config_value.h"
#include "supervisor/policy_explain.h"
#include "supervisor/policy_layers.h"

int
policy_explain_answer(const char *who, bool allowed, const char *what,
    struct buf *why)
{
	if (buf_put_u8(why, 0) < 0)
		return policy_explain_fail("out of memory");
	(void)printf("%s%s: %s\n  by %s\n", who,
	    allowed ? "allowed" : "refused", what, (char *)why->data);
	return allowed ? POLICY_YES : POLICY_NO;
}

int
policy_explain_fail(const char *text)
{
	options_complain(text);
	return POLICY_ERROR;
}

int
policy_explain_key(const char *who, bool allowed, const char *what,
    const struct policy_reason *reason)
{
	scoped_buf why;

	buf_init(&why, EXPLAIN_LINE_MAX);
	if (policy_origin_put(reason->config, reason->key, reason->item, &why) <
		0 ||
	    buf_printf(&why, ": %s = %s", reason->label, reason->value) < 0 ||
	    (reason->more != NULL &&
		buf_printf(&why, "; %s", reason->more) < 0))
		return policy_explain_fail("out of memory");
	return policy_explain_answer(who, allowed, what, &why);
}

/* --- a path --------------------------------------------------------------- */

static int
judge_path(const struct policy_ceiling *p, const struct config *c,
    const char *path)
{
	struct policy_verdict v;
	scoped_buf why;

	buf_init(&why, EXPLAIN_LINE_MAX);
	policy_path_judge(p, c, path, &v);
	if (policy_verdict_put(p, c, &v, &why) < 0 || buf_put_u8(&why, 0) < 0)
		return policy_explain_fail("out of memory");
	(void)printf("%s: %s\n  by %s\n", config_access_name(v.access), path,
	    (char *)why.data);
	if (p->trouble.code != 0)
		(void)fprintf(stderr,
		    "sallyport: its own files are not among this: %s\n",
		    p->trouble.text);
	return profile_access_rank(v.access) > 0 ? POLICY_YES : POLICY_NO;
}

static int
explain_path(const struct config *c, const char *path)
{
	struct policy_ceiling p;
	struct err e = {0};
	int code;

	if (!path_is_canonical(bytes_of(path)))
		return policy_explain_fail(
		    "want an absolute path without . and ..");
	if (policy_ceiling_init(&p, c, &e) < 0)
		code = policy_explain_fail(e.text);
	else
		code = judge_path(&p, c, path);
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

/* Whether commands get no unix sockets at all. */
static bool
denies_unix(const struct config *c, struct err *e)
{
	struct policy_ceiling p;
	bool denied = policy_ceiling_init(&p, c, e) == 0 &&
		      p.plan.unix_sockets == PLAN_UNIX_DENY;

	policy_ceiling_done(&p);
	return denied;
}

/* Of a process, of a file, or of commands. Complains. */
static int
open_layers(struct policy_layers *l, const char *who, const struct config *c)
{
	struct err e = {0};
	bool no_unix;

	if (policy_is_text(who))
		return policy_layers_of_file(l, who);
	if (policy_source_find(who) != NULL)
		return policy_layers_init(l, who, c, false);
	no_unix = denies_unix(c, &e);
	if (e.code == 0)
		return policy_layers_init(l, NULL, c, no_unix);
	options_complain(e.text);
	*l = (struct policy_layers){0};
	return -e.code;
}

static int
answer_syscall(const struct policy_layers *l, const char *name,
    const uint64_t args[SYSCALL_ARGS])
{
	const struct policy_decision d = policy_layers_decide(l, name, args);
	scoped_buf why;

	buf_init(&why, EXPLAIN_LINE_MAX);
	if (policy_decision_put(&d, name, &why) < 0 || buf_put_u8(&why, 0) < 0)
		return policy_explain_fail("out of memory");
	(void)printf("%s: %s\n  by %s\n", policy_action_name(d.action), name,
	    (char *)why.data);
	return d.action.kind == SYSCALL_ALLOW ? POLICY_YES : POLICY_NO;
}

/* What is refused besides where the host lacks a layer and the configuration
 * goes on without it: exec/order_make.c. */
static void
answer_degraded(const struct config *c, const char *name,
    const uint64_t args[SYSCALL_ARGS])
{
	static const struct {
		const char *filter, *where;
	} rows[] = {
	    {"child_bare", "the host gives no namespaces"},
	    {"child_no_attributes",
		"the host gives no namespaces and nothing can be written"},
	    {"child_no_network", "the host gives no network namespace"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct policy_decision d;
		struct policy_layers l;
		scoped_buf why;
		int r = policy_layers_init(&l, rows[i].filter, c, false);

		buf_init(&why, EXPLAIN_LINE_MAX);
		if (r == 0)
			d = policy_layers_decide(&l, name, args);
		if (r == 0 && d.action.kind != SYSCALL_ALLOW &&
		    policy_decision_put(&d, name, &why) == 0)
			(void)printf("  but %s where %s, by %.*s\n",
			    policy_action_name(d.action), rows[i].where,
			    (int)why.len, (char *)why.data);
		policy_layers_done(&l);
	}
}

static int
explain_syscall(const struct config *c, const char *who, int argc, char **argv)
{
	uint64_t args[SYSCALL_ARGS] = {0};
	struct policy_layers layers;
	int code = POLICY_ERROR;
	unsigned int nr;

	if (argc < 1 || compile_number(argv[0], compile_arch(), &nr) < 0)
		return policy_explain_fail("there is no such system call");
	for (int i = 1; i < argc; i++)
		if (parse_argument(argv[i], args) < 0)
			return policy_explain_fail(
			    "want argN=VALUE, N from 0 to 5");
	if (open_layers(&layers, who, c) == 0)
		code = answer_syscall(&layers, argv[0], args);
	if (code == POLICY_YES && c->degraded && !policy_is_text(who) &&
	    policy_source_find(who) == NULL)
		answer_degraded(c, argv[0], args);
	policy_layers_done(&layers);
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
	buf_init(&env, EXPLAIN_LINE_MAX);
	buf_init(&out, EXPLAIN_LINE_MAX);
	buf_init(&names, EXPLAIN_LINE_MAX);
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
answer_pattern(const struct config *c, bool allowed, const char *name,
    enum config_key key, const char *label, const char *pattern)
{
	return policy_explain_key("", allowed, name,
	    &(struct policy_reason){.config = c,
		.key = key,
		.item = pattern,
		.label = label,
		.value = pattern});
}

static int
answer_words(bool allowed, const char *name, const char *words)
{
	scoped_buf why;

	buf_init(&why, EXPLAIN_LINE_MAX);
	if (buf_printf(&why, "%s", words) < 0)
		return policy_explain_fail("out of memory");
	return policy_explain_answer("", allowed, name, &why);
}

static int
explain_env(const struct config *c, const char *name)
{
	const char *scrub = find_scrub(c, name), *allow = find_allow(c, name);
	bool dropped;

	if (name[0] == '\0' || strchr(name, '=') != NULL)
		return policy_explain_fail("want the name of a variable");
	if (is_dropped(c, name, &c->env_scrub, &dropped) < 0)
		return policy_explain_fail("the name cannot be decided");
	if (dropped && scrub != NULL)
		return answer_pattern(c, false, name, KEY_ENV_SCRUB,
		    "env.scrub", scrub);
	if (dropped)
		return answer_words(false, name,
		    "built-in: the server's own credentials never pass");
	if (allow != NULL)
		return answer_pattern(c, true, name, KEY_ENV_ALLOW, "env.allow",
		    allow);
	return answer_words(true, name, "no pattern of env.scrub");
}

/* --- which ---------------------------------------------------------------- */

int
policy_choose(struct options *o, const char *name)
{
	static const char *const presets[] = {"workspace", "strict", "open"};
	const char *key = "sandbox.profile";
	scoped_free char *text = NULL;

	if (strcmp(name, "current") == 0 || policy_source_find(name) != NULL ||
	    policy_is_text(name))
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
		return policy_explain_fail(e.text);
	if (strcmp(argv[1], "syscall") == 0)
		return explain_syscall(c, argv[0], argc - 2, argv + 2);
	if (policy_source_find(argv[0]) != NULL || policy_is_text(argv[0]))
		return policy_explain_fail(
		    "of a process or a file only system calls can be asked");
	if (argc == 3 && strcmp(argv[1], "env") == 0)
		return explain_env(c, argv[2]);
	if (argc == 3 && strcmp(argv[1], "net") == 0)
		return policy_explain_net(c, argv[2]);
	if (argc == 2)
		return explain_path(c, argv[1]);
	return policy_explain_fail(
	    "sallyport policy --help tells what there is");
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
		(void)policy_explain_fail(
		    "sallyport policy --help tells what there is");
	else if (policy_choose(&o, argv[o.first]) == 0 &&
		 options_load(&o, &c) == 0)
		code = explain(&c, argc - o.first, argv + o.first);
	config_done(&c);
	options_done(&o);
	return code;
}
