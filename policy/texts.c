#include "policy/texts.h"

#include <assert.h>
#include <string.h>

const struct policy_source *
policy_source_find(const char *role)
{
	for (const struct policy_source *s = policy_sources; s->role != NULL;
	     s++)
		if (strcmp(s->role, role) == 0)
			return s;
	return NULL;
}

/* Add texts until rule is among p's; returns the last text that was added. */
static const char *
parse_until(const struct policy_source *s, size_t rule,
    struct syscall_policy *p)
{
	struct err e = {0};
	const char *name = NULL;

	for (size_t i = 0; i < POLICY_TEXTS_MAX && s->texts[i].name != NULL &&
			   p->rule_count <= rule;
	     i++) {
		int r = syscall_text_parse(bytes_of(s->texts[i].text), p, &e);

		/* The build has parsed the same bytes. */
		assert(r == 0);
		name = s->texts[i].name;
	}
	return p->rule_count > rule ? name : NULL;
}

struct syscall_policy *
policy_source_parse(const struct policy_source *s)
{
	struct syscall_policy *p = syscall_policy_new();

	if (p != NULL)
		(void)parse_until(s, SIZE_MAX, p);
	return p;
}

const char *
policy_source_of_rule(const struct policy_source *s, size_t i)
{
	struct syscall_policy *p = syscall_policy_new();
	const char *name = NULL;

	if (p != NULL)
		name = parse_until(s, i, p);
	syscall_policy_free(p);
	return name;
}
