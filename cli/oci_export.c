#include <errno.h>
#include <string.h>

#include "cli/oci.h"

/* One argument's test in an entry. */
struct term {
	unsigned int arg;
	const char *op;
	uint64_t value, value_two;
	bool has_two;
};

/* The alternatives of one argument. */
struct choice {
	struct term terms[OCI_CASES_MAX / 8];
	size_t count;
};

struct entry {
	struct choice choices[SYSCALL_ARGS];
	size_t count; /* of choices */
};

static int
refuse(const struct syscall_rule *rule, const char *what, struct err *e)
{
	return err_set(e, ENOTSUP, "%u:1: %s: %s", rule->line, rule->name,
	    what);
}

static int
add_term(const struct syscall_rule *rule, struct choice *c, struct term t,
    struct err *e)
{
	if (c->count == sizeof c->terms / sizeof c->terms[0])
		return refuse(rule, "too many values", e);
	c->terms[c->count++] = t;
	return 0;
}

static struct term
masked(unsigned int arg, uint64_t mask, uint64_t value)
{
	return (struct term){arg, "SCMP_CMP_MASKED_EQ", mask, value, true};
}

/* --- what is not ---------------------------------------------------------- */

static bool
is_excluded(const uint64_t *values, size_t count, uint64_t mask, uint64_t v)
{
	for (size_t i = 0; i < count; i++)
		if ((values[i] & mask) == v)
			return true;
	return false;
}

/*
 * "None of values", of an int, has no operator: a runtime's "not equal" looks
 * at all 64 bits, where the upper half could be anything. It is said by the
 * prefixes that no value has: walking down each value's bits, the other way at
 * each bit, unless another value is there.
 */
static int
add_complement(const struct syscall_rule *rule, struct choice *c,
    unsigned int arg, uint64_t mask, const uint64_t *values, size_t count,
    struct err *e)
{
	uint64_t seen = 0;
	int r = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit > 0 && r == 0; bit >>= 1) {
		if ((mask & bit) == 0)
			continue;
		seen |= bit;
		for (size_t i = 0; i < count && r == 0; i++) {
			uint64_t other = (values[i] & seen) ^ bit;

			if (is_excluded(values, count, seen, other) ||
			    is_excluded(values, i, seen, other ^ bit))
				continue;
			r = add_term(rule, c, masked(arg, seen, other), e);
		}
	}
	return r;
}

static int
compare_terms(const void *a, const void *b)
{
	const struct term *x = a, *y = b;

	if (x->value_two != y->value_two)
		return x->value_two < y->value_two ? -1 : 1;
	return 0;
}

/* All "not" tests of one argument from first on; *used is how many. */
static int
add_negated(const struct syscall_policy *p, const struct syscall_rule *rule,
    size_t first, struct choice *c, size_t *used, struct err *e)
{
	const struct syscall_compare *one = &p->compares[rule->first + first];
	uint64_t values[32];
	size_t count = 0;
	int r;

	for (*used = 0;; (*used)++) {
		const struct syscall_compare *it = one + *used;

		if (!it->negated || it->wide || it->arg != one->arg ||
		    it->mask != one->mask || it->count != 1)
			return refuse(rule, "tests that JSON cannot say", e);
		if (count == sizeof values / sizeof values[0])
			return refuse(rule, "too many values", e);
		values[count++] = p->values[it->first];
		if (it->ends_all || it[1].arg != one->arg)
			break;
	}
	(*used)++;
	r = add_complement(rule, c, one->arg, one->mask, values, count, e);
	qsort(c->terms, c->count, sizeof c->terms[0], compare_terms);
	return r;
}

/* --- a rule --------------------------------------------------------------- */

static int
add_plain(const struct syscall_policy *p, const struct syscall_rule *rule,
    const struct syscall_compare *t, struct choice *c, struct err *e)
{
	int r = 0;

	if (t->wide && t->negated && t->mask != UINT64_MAX)
		return refuse(rule, "a masked 64 bit inequality", e);
	for (size_t i = 0; i < t->count && r == 0; i++) {
		uint64_t v = p->values[t->first + i];

		if (v > INT64_MAX ||
		    (t->wide && t->mask > INT64_MAX && t->mask != UINT64_MAX))
			return refuse(rule, "a number that JSON cannot say", e);
		if (t->wide && t->mask == UINT64_MAX)
			r = add_term(rule, c,
			    (struct term){t->arg,
				t->negated ? "SCMP_CMP_NE" : "SCMP_CMP_EQ", v,
				0, false},
			    e);
		else
			r = add_term(rule, c, masked(t->arg, t->mask, v), e);
	}
	return r;
}

/* Runtimes take two tests of one argument for alternatives. */
static int
check_new(const struct syscall_rule *rule, const struct entry *entry,
    unsigned int arg, struct err *e)
{
	for (size_t i = 0; i < entry->count; i++)
		if (entry->choices[i].terms[0].arg == arg)
			return refuse(rule, "two tests of one argument", e);
	return 0;
}

/* The && that begins at *at, which moves behind it. */
static int
read_entry(const struct syscall_policy *p, const struct syscall_rule *rule,
    size_t *at, struct entry *entry, struct err *e)
{
	bool more = true;
	int r = 0;

	entry->count = 0;
	while (more && r == 0) {
		const struct syscall_compare *t =
		    &p->compares[rule->first + *at];
		struct choice *c = &entry->choices[entry->count];
		size_t used = 1;

		r = check_new(rule, entry, t->arg, e);
		if (r < 0)
			break;
		c->count = 0;
		if (t->negated && !t->wide)
			r = add_negated(p, rule, *at, c, &used, e);
		else
			r = add_plain(p, rule, t, c, e);
		*at += used;
		entry->count++;
		more = !p->compares[rule->first + *at - 1].ends_all;
	}
	return r;
}

static const char *
action_word(struct syscall_action a)
{
	switch (a.kind) {
	case SYSCALL_ALLOW:
		return "SCMP_ACT_ALLOW";
	case SYSCALL_KILL:
		return "SCMP_ACT_KILL_PROCESS";
	case SYSCALL_ERRNO:
		break;
	}
	return "SCMP_ACT_ERRNO";
}

static json_t *
entry_new(const struct syscall_rule *rule)
{
	json_t *o = json_pack("{s:[s],s:s,s:s%}", "names", rule->name, "action",
	    action_word(rule->action), "comment",
	    (const char *)rule->reason.data, rule->reason.len);

	if (rule->action.kind == SYSCALL_ERRNO)
		(void)json_object_set_new(o, "errnoRet",
		    json_integer(rule->action.errnum));
	if (rule->arches != SYSCALL_ARCH_ALL)
		(void)json_object_set_new(o, "includes",
		    json_pack("{s:[s]}", "arches",
			rule->arches == SYSCALL_ARCH_X86_64 ? "amd64"
							    : "arm64"));
	return o;
}

static json_t *
term_new(const struct term *t)
{
	json_t *o = json_pack("{s:i,s:s,s:I}", "index", (int)t->arg, "op",
	    t->op, "value", (json_int_t)t->value);

	if (t->has_two)
		(void)json_object_set_new(o, "valueTwo",
		    json_integer((json_int_t)t->value_two));
	return o;
}

/* Every combination of an entry's choices, the last argument fastest. */
static int
put_entries(const struct syscall_rule *rule, const struct entry *entry,
    json_t *list, struct err *e)
{
	size_t total = 1;

	for (size_t i = 0; i < entry->count; i++)
		total *= entry->choices[i].count;
	if (total > OCI_CASES_MAX)
		return refuse(rule, "too many cases", e);
	for (size_t n = 0; n < total; n++) {
		json_t *o = entry_new(rule), *args = json_array();
		size_t rest = n, step = total;

		for (size_t i = 0; i < entry->count; i++) {
			const struct choice *c = &entry->choices[i];

			step /= c->count;
			(void)json_array_append_new(args,
			    term_new(&c->terms[rest / step]));
			rest %= step;
		}
		(void)json_object_set_new(o, "args", args);
		if (json_array_append_new(list, o) < 0)
			return err_set(e, ENOMEM, "out of memory");
	}
	return 0;
}

static int
put_rule(const struct syscall_policy *p, const struct syscall_rule *rule,
    json_t *list, struct err *e)
{
	struct entry *entry = calloc(1, sizeof *entry);
	size_t at = 0;
	int r = entry == NULL ? -ENOMEM : 0;

	if (r == 0 && rule->count == 0)
		r = json_array_append_new(list, entry_new(rule)) < 0 ? -ENOMEM
								     : 0;
	while (r == 0 && at < rule->count) {
		r = read_entry(p, rule, &at, entry, e);
		if (r == 0)
			r = put_entries(rule, entry, list, e);
	}
	free(entry);
	return r;
}

/* Runtimes know no order: of one call all rules must do the same. */
static int
check_order(const struct syscall_policy *p, size_t i, struct err *e)
{
	const struct syscall_rule *rule = &p->rules[i];

	for (size_t k = 0; k < i; k++)
		if (strcmp(p->rules[k].name, rule->name) == 0 &&
		    (p->rules[k].arches & rule->arches) != 0 &&
		    (p->rules[k].action.kind != rule->action.kind ||
			p->rules[k].action.errnum != rule->action.errnum))
			return refuse(rule, "rules with several actions", e);
	return 0;
}

static int
check_unknown(const struct syscall_policy *p, struct err *e)
{
	bool by_itself =
	    p->unknown.kind == SYSCALL_ERRNO && p->unknown.errnum == ENOSYS;

	if (!p->has_fallback)
		return err_set(e, EINVAL, "1:1: there is no default");
	if (p->has_unknown != (p->fallback.kind == SYSCALL_ERRNO) ||
	    (p->has_unknown && !by_itself))
		return err_set(e, ENOTSUP,
		    "1:1: runtimes answer ENOSYS to unknown numbers where the "
		    "default is an errno, and only there");
	return 0;
}

int
oci_export(const struct syscall_policy *p, json_t **out, struct err *e)
{
	json_t *list = json_array(), *root;
	int r = check_unknown(p, e);

	for (size_t i = 0; i < p->rule_count && r == 0; i++) {
		r = check_order(p, i, e);
		if (r == 0)
			r = put_rule(p, &p->rules[i], list, e);
	}
	if (r < 0) {
		json_decref(list);
		return r;
	}
	root = json_pack("{s:s,s:[{s:s,s:[]},{s:s,s:[]}],s:o}", "defaultAction",
	    action_word(p->fallback), "archMap", "architecture",
	    "SCMP_ARCH_X86_64", "subArchitectures", "architecture",
	    "SCMP_ARCH_AARCH64", "subArchitectures", "syscalls", list);
	if (root != NULL && p->fallback.kind == SYSCALL_ERRNO)
		(void)json_object_set_new(root, "defaultErrnoRet",
		    json_integer(p->fallback.errnum));
	*out = root;
	return root == NULL ? err_set(e, ENOMEM, "out of memory") : 0;
}
