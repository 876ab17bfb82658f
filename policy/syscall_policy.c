/* A policy as it is in memory, and what it means. */
#include <stdlib.h>
#include <string.h>

#include "policy/syscall_text.h"

struct syscall_policy *
syscall_policy_new(void)
{
	return calloc(1, sizeof(struct syscall_policy));
}

void
syscall_policy_free(struct syscall_policy *p)
{
	free(p);
}

static bool
compare_holds(const struct syscall_policy *p, const struct syscall_compare *c,
    const uint64_t args[SYSCALL_ARGS])
{
	uint64_t v = args[c->arg] & c->mask;

	for (size_t i = 0; i < c->count; i++)
		if (p->values[c->first + i] == v)
			return !c->negated;
	return c->negated;
}

bool
syscall_rule_holds(const struct syscall_policy *p,
    const struct syscall_rule *rule, const uint64_t args[SYSCALL_ARGS])
{
	bool all = true;

	for (size_t i = 0; i < rule->count; i++) {
		const struct syscall_compare *c = &p->compares[rule->first + i];

		all = all && compare_holds(p, c, args);
		if (c->ends_all && all)
			return true;
		if (c->ends_all)
			all = true;
	}
	return rule->count == 0;
}

struct syscall_action
syscall_policy_decide(const struct syscall_policy *p, const char *name,
    enum syscall_arch arch, const uint64_t args[SYSCALL_ARGS])
{
	for (size_t i = 0; i < p->rule_count; i++) {
		const struct syscall_rule *rule = &p->rules[i];

		if ((rule->arches & arch) && strcmp(rule->name, name) == 0 &&
		    syscall_rule_holds(p, rule, args))
			return rule->action;
	}
	if (p->has_fallback)
		return p->fallback;
	return (struct syscall_action){.kind = SYSCALL_KILL};
}
