#include "policy/syscall_print.h"

#include <errno.h>
#include <string.h>

bool
syscall_print_is_hidden(const struct syscall_policy *p, size_t i)
{
	const struct syscall_rule *rule = &p->rules[i];

	for (size_t k = 0; k < i; k++) {
		const struct syscall_rule *other = &p->rules[k];

		if (strcmp(other->name, rule->name) == 0 &&
		    (rule->arches & ~other->arches) == 0 &&
		    (other->count == 0 || bytes_equal(other->test, rule->test)))
			return true;
	}
	return false;
}

int
syscall_print_action(struct syscall_action a, struct buf *out)
{
	switch (a.kind) {
	case SYSCALL_ALLOW:
		return buf_printf(out, "allow");
	case SYSCALL_KILL:
		return buf_printf(out, "kill");
	case SYSCALL_ERRNO:
		return buf_printf(out, "%s", syscall_errno_name(a.errnum));
	}
	return -EINVAL;
}

static int
put_directive(const char *word, bool has, struct syscall_action a,
    struct buf *out)
{
	int r;

	if (!has)
		return 0;
	r = buf_printf(out, "%s ", word);
	if (r == 0)
		r = syscall_print_action(a, out);
	return r < 0 ? r : buf_put(out, "\n", 1);
}

static const char *
arch_note(unsigned int arches)
{
	if (arches == SYSCALL_ARCH_X86_64)
		return " [x86_64]";
	return arches == SYSCALL_ARCH_AARCH64 ? " [aarch64]" : "";
}

static int
put_rule(const struct syscall_rule *rule, struct buf *out)
{
	int r = buf_printf(out, "%s%s", rule->name, arch_note(rule->arches));

	if (r == 0 && rule->test.len > 0)
		r = buf_printf(out, ": %.*s", (int)rule->test.len,
		    (const char *)rule->test.data);
	if (r == 0 && rule->action.kind != SYSCALL_ALLOW) {
		r = buf_printf(out, " -> ");
		if (r == 0)
			r = syscall_print_action(rule->action, out);
	}
	return r < 0
		   ? r
		   : buf_printf(out, " # %.*s: %.*s\n", (int)rule->caller.len,
			 (const char *)rule->caller.data, (int)rule->reason.len,
			 (const char *)rule->reason.data);
}

int
syscall_print(const struct syscall_policy *p, struct buf *out)
{
	int r = put_directive("default", p->has_fallback, p->fallback, out);

	if (r == 0)
		r = put_directive("unknown", p->has_unknown, p->unknown, out);
	for (size_t i = 0; i < p->rule_count && r == 0; i++)
		if (!syscall_print_is_hidden(p, i))
			r = put_rule(&p->rules[i], out);
	return r;
}
