#include "supervisor/policy_layers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/policy_command.h"

static int
add_builtin(struct policy_layers *l, const char *role)
{
	struct policy_layer *to = &l->items[l->count++];

	*to = (struct policy_layer){.source = policy_source_find(role)};
	to->builtin = policy_source_parse(to->source);
	to->policy = to->builtin;
	return to->policy == NULL ? -ENOMEM : 0;
}

static int
add_file(struct policy_layers *l, const char *path)
{
	struct policy_layer *to = &l->items[l->count++];
	scoped_buf errors;
	int r;

	*to = (struct policy_layer){.path = path};
	buf_init(&errors, CHILD_POLICY_ERRORS_MAX);
	r = policy_file_load(&to->file, path, &errors);
	to->policy = to->file.policy;
	if (errors.len > 0)
		(void)fwrite(errors.data, 1, errors.len, stderr);
	return r;
}

/* Whose filters a process has besides its own. */
static bool
is_below_exec(const char *role)
{
	static const char *const roles[] = {"worker", "http", "init"};

	for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
		if (strcmp(roles[i], role) == 0)
			return true;
	/* Its own, and those that stand before it. */
	return strncmp(role, "child", 5) == 0;
}

static int
add_command(struct policy_layers *l, const struct config *c, bool no_unix)
{
	int r = c->child_policy != NULL ? add_file(l, c->child_policy)
					: add_builtin(l, "child");

	return r == 0 && no_unix ? add_builtin(l, "child_no_unix") : r;
}

int
policy_layers_init(struct policy_layers *l, const char *role,
    const struct config *c, bool no_unix)
{
	int r;

	*l = (struct policy_layers){0};
	r = role != NULL ? add_builtin(l, role) : add_command(l, c, no_unix);
	if (r == 0 && (role == NULL || is_below_exec(role)))
		r = add_builtin(l, "exec");
	if (r == 0 && (role == NULL || strcmp(role, "supervisor") != 0))
		r = add_builtin(l, "supervisor");
	return r;
}

int
policy_layers_of_file(struct policy_layers *l, const char *path)
{
	*l = (struct policy_layers){0};
	return add_file(l, path);
}

void
policy_layers_done(struct policy_layers *l)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->items[i].path != NULL)
			policy_file_done(&l->items[i].file);
		syscall_policy_free(l->items[i].builtin);
	}
	l->count = 0;
}

static struct policy_decision
ask(const struct policy_layer *layer, const char *name,
    const uint64_t args[SYSCALL_ARGS])
{
	const struct syscall_policy *p = layer->policy;
	size_t i;

	for (i = 0; i < p->rule_count; i++)
		if ((p->rules[i].arches & compile_arch()) &&
		    strcmp(p->rules[i].name, name) == 0 &&
		    syscall_rule_holds(p, &p->rules[i], args))
			break;
	return (struct policy_decision){.layer = layer,
	    .rule = i,
	    .action = i < p->rule_count ? p->rules[i].action : p->fallback};
}

static bool
is_stricter(struct syscall_action a, struct syscall_action b)
{
	static const int order[] =
	    {[SYSCALL_ALLOW] = 0, [SYSCALL_ERRNO] = 1, [SYSCALL_KILL] = 2};

	return order[a.kind] > order[b.kind];
}

struct policy_decision
policy_layers_decide(const struct policy_layers *l, const char *name,
    const uint64_t args[SYSCALL_ARGS])
{
	struct policy_decision best = ask(&l->items[0], name, args);

	for (size_t i = 1; i < l->count; i++) {
		struct policy_decision other = ask(&l->items[i], name, args);

		if (is_stricter(other.action, best.action))
			best = other;
	}
	return best;
}

/* The default stands in the first text of a policy that has one, which is the
 * one named after the process. */
static int
put_default(const struct policy_decision *d, struct buf *out)
{
	const struct policy_layer *l = d->layer;

	return buf_printf(out, "%s%s: default %s, as no line of the call fits",
	    l->path != NULL ? l->path : l->source->role,
	    l->path != NULL ? "" : ".policy", policy_action_name(d->action));
}

int
policy_decision_put(const struct policy_decision *d, const char *name,
    struct buf *out)
{
	const struct policy_layer *l = d->layer;
	const struct syscall_rule *rule = &l->policy->rules[d->rule];
	int r;

	if (d->rule == l->policy->rule_count)
		return put_default(d, out);
	r = buf_printf(out, "%s:%u: %s",
	    l->path != NULL ? l->path
			    : policy_source_of_rule(l->source, d->rule),
	    rule->line, name);
	if (r == 0 && rule->test.len > 0)
		r = buf_printf(out, ": %.*s", (int)rule->test.len,
		    (const char *)rule->test.data);
	if (r == 0 && rule->action.kind != SYSCALL_ALLOW)
		r = buf_printf(out, " -> %s", policy_action_name(rule->action));
	return r < 0
		   ? r
		   : buf_printf(out, "  # %.*s: %.*s", (int)rule->caller.len,
			 (const char *)rule->caller.data, (int)rule->reason.len,
			 (const char *)rule->reason.data);
}
