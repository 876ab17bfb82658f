#include "supervisor/policy_syscalls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/texts.h"
#include "supervisor/child_policy.h"

/* Of one argument: far above what a policy's tests of a call tell apart. */
#define VALUES_MAX	 256
#define COMBINATIONS_MAX (UINT64_C(1) << 24)

struct side {
	struct policy_file file;
	const struct policy_source *source;
	const struct syscall_policy *policy;
};

/* The values of one argument that are to be tried. */
struct axis {
	uint64_t values[VALUES_MAX];
	size_t count;
	bool overflow;
};

struct trial {
	const struct syscall_policy *a, *b;
	const char *name;
	struct axis axes[SYSCALL_ARGS];
};

static int
open_side(struct side *s, const char *path, struct err *e)
{
	scoped_buf errors;
	int r;

	*s = (struct side){0};
	buf_init(&errors, CHILD_POLICY_ERRORS_MAX);
	if (path == NULL) {
		s->source = policy_source_find("child");
		s->file.policy = policy_source_parse(s->source);
		s->policy = s->file.policy;
		return s->policy == NULL ? err_set(e, ENOMEM, "out of memory")
					 : 0;
	}
	r = policy_file_load(&s->file, path, &errors);
	s->policy = s->file.policy;
	if (r == 0)
		return 0;
	(void)fwrite(errors.data, 1, errors.len, stderr);
	return err_set(e, EINVAL, "%.150s: not compared", path);
}

static void
add(struct axis *x, uint64_t v)
{
	for (size_t i = 0; i < x->count; i++)
		if (x->values[i] == v)
			return;
	if (x->count == VALUES_MAX) {
		x->overflow = true;
		return;
	}
	x->values[x->count++] = v;
}

/* Values on both sides of a comparison: what it names; and that with the
 * lowest and the highest bit that it looks at turned, with one that it does
 * not look at, and with the upper half set. */
static void
add_value(struct axis *x, uint64_t mask, uint64_t v)
{
	uint64_t low = mask & -mask, outside = ~mask & UINT32_MAX;

	add(x, v);
	add(x, v ^ low);
	add(x, v ^ mask);
	add(x, v | (outside & -outside));
	add(x, v | UINT64_C(1) << 32);
}

static void
add_compares(struct trial *t, const struct syscall_policy *p,
    const struct syscall_rule *rule)
{
	for (size_t i = 0; i < rule->count; i++) {
		const struct syscall_compare *c = &p->compares[rule->first + i];
		struct axis *x = &t->axes[c->arg];

		for (size_t k = 0; k < c->count; k++)
			add_value(x, c->mask, p->values[c->first + k]);
	}
}

/* Two comparisons of one argument look at different bits: values that please
 * both. */
static void
add_joined(struct axis *x)
{
	size_t count = x->count;

	for (size_t i = 0; i < count && !x->overflow; i++)
		for (size_t j = 0; j < i && x->count < VALUES_MAX; j++)
			add(x, x->values[i] | x->values[j]);
}

static void
collect(struct trial *t, const struct syscall_policy *p)
{
	for (size_t i = 0; i < p->rule_count; i++)
		if (strcmp(p->rules[i].name, t->name) == 0)
			add_compares(t, p, &p->rules[i]);
}

/* The combination number n. */
static void
choose(const struct trial *t, uint64_t n, uint64_t args[SYSCALL_ARGS])
{
	for (size_t i = 0; i < SYSCALL_ARGS; i++) {
		args[i] = t->axes[i].values[n % t->axes[i].count];
		n /= t->axes[i].count;
	}
}

static void
tell(const struct trial *t, const uint64_t args[SYSCALL_ARGS])
{
	(void)printf("%s", t->name);
	for (size_t i = 0; i < SYSCALL_ARGS; i++)
		if (t->axes[i].count > 1)
			(void)printf(" arg%zu=0x%" PRIx64, i, args[i]);
	(void)printf(": allowed (was refused)\n");
}

static bool
allows(const struct syscall_policy *p, const char *name,
    const uint64_t args[SYSCALL_ARGS])
{
	return syscall_policy_decide(p, name, compile_arch(), args).kind ==
	       SYSCALL_ALLOW;
}

/* 1 if b allows the call in a case where a does not. */
static int
compare_call(struct trial *t, struct err *e)
{
	uint64_t args[SYSCALL_ARGS], total = 1;

	for (size_t i = 0; i < SYSCALL_ARGS; i++) {
		struct axis *x = &t->axes[i];

		add(x, 0);
		if (x->count > 1)
			add_joined(x);
		if (x->overflow || total > COMBINATIONS_MAX / x->count)
			return err_set(e, E2BIG,
			    "%s has more cases than can be tried", t->name);
		total *= x->count;
	}
	for (uint64_t n = 0; n < total; n++) {
		choose(t, n, args);
		if (!allows(t->b, t->name, args) || allows(t->a, t->name, args))
			continue;
		tell(t, args);
		return 1;
	}
	return 0;
}

static bool
names_before(const struct syscall_policy *p, size_t until, const char *name)
{
	for (size_t i = 0; i < until; i++)
		if (strcmp(p->rules[i].name, name) == 0)
			return true;
	return false;
}

static int
compare_named(const struct syscall_policy *a, const struct syscall_policy *b,
    const char *name, struct err *e)
{
	scoped_free struct trial *t = calloc(1, sizeof *t);

	if (t == NULL)
		return err_set(e, ENOMEM, "out of memory");
	t->a = a;
	t->b = b;
	t->name = name;
	collect(t, a);
	collect(t, b);
	return compare_call(t, e);
}

static bool
is_allow(bool has, struct syscall_action a)
{
	return has && a.kind == SYSCALL_ALLOW;
}

/* What no rule is about. */
static int
compare_rest(const struct syscall_policy *a, const struct syscall_policy *b)
{
	if (is_allow(b->has_fallback, b->fallback) &&
	    !is_allow(a->has_fallback, a->fallback)) {
		(void)printf("default: allow (was refused)\n");
		return 1;
	}
	if (is_allow(b->has_unknown, b->unknown) &&
	    !is_allow(a->has_unknown, a->unknown)) {
		(void)printf("unknown: allow (was refused)\n");
		return 1;
	}
	return 0;
}

static int
compare(const struct syscall_policy *a, const struct syscall_policy *b,
    struct err *e)
{
	int found = compare_rest(a, b), r = 0;

	for (size_t i = 0; i < b->rule_count && r >= 0; i++) {
		if (names_before(b, i, b->rules[i].name))
			continue;
		r = compare_named(a, b, b->rules[i].name, e);
		found |= r > 0;
	}
	for (size_t i = 0; i < a->rule_count && r >= 0; i++) {
		if (names_before(a, i, a->rules[i].name) ||
		    names_before(b, b->rule_count, a->rules[i].name))
			continue;
		r = compare_named(a, b, a->rules[i].name, e);
		found |= r > 0;
	}
	return r < 0 ? r : found;
}

int
policy_syscalls_compare(const char *a, const char *b, struct err *e)
{
	struct side sides[2];
	int r = open_side(&sides[0], a, e);
	int s = open_side(&sides[1], b, e);

	if (r == 0 && s == 0)
		r = compare(sides[0].policy, sides[1].policy, e);
	policy_file_done(&sides[0].file);
	policy_file_done(&sides[1].file);
	return s < 0 ? s : r;
}
