#include "policy/compile.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

/* Numbers from here on belong to the x32 ABI, which shares AUDIT_ARCH_X86_64.
 */
#define X32_FIRST 0x40000000u

#define JUMP_MAX 255 /* instructions that a conditional jump can skip */

/* Calls that libseccomp may be too old for; the same on all architectures. */
static const struct {
	const char *name;
	unsigned int number;
} newer[] = {
    {"cachestat", 451},
    {"fchmodat2", 452},
    {"map_shadow_stack", 453},
    {"futex_wake", 454},
    {"futex_wait", 455},
    {"futex_requeue", 456},
    {"statmount", 457},
    {"listmount", 458},
    {"lsm_get_self_attr", 459},
    {"lsm_set_self_attr", 460},
    {"lsm_list_modules", 461},
    {"mseal", 462},
    {"setxattrat", 463},
    {"getxattrat", 464},
    {"listxattrat", 465},
    {"removexattrat", 466},
    {"open_tree_attr", 467},
    {"file_getattr", 468},
    {"file_setattr", COMPILE_SYSCALL_MAX},
};

enum syscall_arch
compile_arch(void)
{
#if defined(__x86_64__)
	return SYSCALL_ARCH_X86_64;
#elif defined(__aarch64__)
	return SYSCALL_ARCH_AARCH64;
#else
#error "sallyport has system call policies for x86_64 and aarch64 only"
#endif
}

int
compile_number(const char *name, enum syscall_arch arch, unsigned int *out)
{
	uint32_t token =
	    arch == SYSCALL_ARCH_X86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
	int nr = seccomp_syscall_resolve_name_arch(token, name);

	if (nr >= 0) {
		*out = (unsigned int)nr;
		return 0;
	}
	/* Other negative numbers stand for calls of other architectures. */
	if (nr != __NR_SCMP_ERROR)
		return -ENOENT;
	for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++)
		if (strcmp(newer[i].name, name) == 0) {
			*out = newer[i].number;
			return 0;
		}
	return -EINVAL;
}

int
compile_name(unsigned int number, enum syscall_arch arch,
    char out[SYSCALL_NAME_MAX])
{
	uint32_t token =
	    arch == SYSCALL_ARCH_X86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
	scoped_free char *name = NULL;
	const char *found = NULL;

	if (number <= COMPILE_SYSCALL_MAX)
		name = seccomp_syscall_resolve_num_arch(token, (int)number);
	found = name;
	for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++)
		if (found == NULL && newer[i].number == number)
			found = newer[i].name;
	if (found == NULL || strlen(found) >= SYSCALL_NAME_MAX)
		return -ENOENT;
	memcpy(out, found, strlen(found) + 1);
	return 0;
}

static int
rule_number(const struct syscall_rule *rule, enum syscall_arch arch,
    unsigned int *out, struct err *e)
{
	int r = compile_number(rule->name, arch, out);

	if (r == -ENOENT)
		return err_set(e, EINVAL,
		    "%u:1: not every architecture has %s: add [x86_64] or "
		    "[aarch64]",
		    rule->line, rule->name);
	if (r < 0 || *out > COMPILE_SYSCALL_MAX)
		return err_set(e, EINVAL, "%u:1: no such system call: %s",
		    rule->line, rule->name);
	return 0;
}

int
compile_check(const struct syscall_policy *p, size_t first,
    enum syscall_arch arch, struct err *e)
{
	unsigned int nr;

	for (size_t i = first; i < p->rule_count; i++) {
		int r = 0;

		if (p->rules[i].arches & arch)
			r = rule_number(&p->rules[i], arch, &nr, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- writing code ------------------------------------------------------ */

struct writer {
	const struct syscall_policy *p;
	struct compiled *out;
	bool overflow; /* something did not fit: the code is of no use */
	/* Jumps of the && being written that lead to what follows it. */
	struct {
		size_t at;
		bool if_equal;
	} misses[JUMP_MAX];
	size_t miss_count;
};

static void
emit(struct writer *w, unsigned int code, uint32_t k, size_t jt, size_t jf)
{
	if (w->out->len == BPF_MAXINSNS || jt > JUMP_MAX || jf > JUMP_MAX) {
		w->overflow = true;
		return;
	}
	w->out->code[w->out->len++] = (struct sock_filter){
	    .code = (uint16_t)code,
	    .jt = (uint8_t)jt,
	    .jf = (uint8_t)jf,
	    .k = k,
	};
}

static void
emit_load(struct writer *w, size_t offset)
{
	emit(w, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void
emit_equal(struct writer *w, uint32_t k, size_t jt, size_t jf)
{
	emit(w, BPF_JMP | BPF_JEQ | BPF_K, k, jt, jf);
}

static void
emit_return(struct writer *w, struct syscall_action a)
{
	uint32_t k = SECCOMP_RET_KILL_PROCESS;

	switch (a.kind) {
	case SYSCALL_ALLOW:
		k = SECCOMP_RET_ALLOW;
		break;
	case SYSCALL_KILL:
		break;
	case SYSCALL_ERRNO:
		k = SECCOMP_RET_ERRNO | (uint32_t)a.errnum;
		break;
	}
	emit(w, BPF_RET | BPF_K, k, 0, 0);
}

/* The next instruction is a comparison one of whose ways leads to what
 * follows the present &&. */
static void
note_miss(struct writer *w, bool if_equal)
{
	if (w->miss_count == JUMP_MAX) {
		w->overflow = true;
		return;
	}
	w->misses[w->miss_count].at = w->out->len;
	w->misses[w->miss_count++].if_equal = if_equal;
}

/* What follows is here. */
static void
land_misses(struct writer *w)
{
	for (size_t i = 0; i < w->miss_count && !w->overflow; i++) {
		size_t at = w->misses[i].at, skip = w->out->len - at - 1;

		if (skip > JUMP_MAX)
			w->overflow = true;
		else if (w->misses[i].if_equal)
			w->out->code[at].jt = (uint8_t)skip;
		else
			w->out->code[at].jf = (uint8_t)skip;
	}
	w->miss_count = 0;
}

/* Load one half of an argument, masked; both architectures are
 * little-endian. */
static void
emit_half(struct writer *w, const struct syscall_compare *c, bool high)
{
	size_t offset = offsetof(struct seccomp_data, args) +
			c->arg * sizeof(uint64_t) +
			(high ? sizeof(uint32_t) : 0);
	uint32_t mask = (uint32_t)(high ? c->mask >> 32 : c->mask);

	emit_load(w, offset);
	if (mask != UINT32_MAX)
		emit(w, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
}

/* Falls through if the comparison holds, else jumps to the miss. */
static void
emit_compare(struct writer *w, const struct syscall_compare *c)
{
	const uint64_t *values = w->p->values + c->first;

	emit_half(w, c, false);
	for (size_t i = 0; i < c->count; i++) {
		bool last = i + 1 == c->count;

		if (c->negated || last)
			note_miss(w, c->negated);
		emit_equal(w, (uint32_t)values[i],
		    c->negated ? 0 : c->count - 1 - i, 0);
	}
}

/* The same over 64 bits: with != an unequal upper half is enough. */
static void
emit_compare_wide(struct writer *w, const struct syscall_compare *c)
{
	uint64_t value = w->p->values[c->first];
	size_t at;

	emit_half(w, c, true);
	at = w->out->len;
	if (!c->negated)
		note_miss(w, false);
	emit_equal(w, (uint32_t)(value >> 32), 0, 0);
	emit_half(w, c, false);
	note_miss(w, c->negated);
	emit_equal(w, (uint32_t)value, 0, 0);
	if (c->negated && !w->overflow)
		w->out->code[at].jf = (uint8_t)(w->out->len - at - 1);
}

static void
emit_rule(struct writer *w, const struct syscall_rule *rule)
{
	for (size_t i = 0; i < rule->count; i++) {
		const struct syscall_compare *c =
		    &w->p->compares[rule->first + i];

		if (c->wide)
			emit_compare_wide(w, c);
		else
			emit_compare(w, c);
		if (!c->ends_all)
			continue;
		emit_return(w, rule->action);
		land_misses(w);
	}
	if (rule->count == 0)
		emit_return(w, rule->action);
}

/* --- finding the call -------------------------------------------------- */

/* A rule of the policy for this architecture. */
struct numbered {
	unsigned int nr;
	size_t rule;
};

/* All numbers from first up to the next leaf's first. */
struct leaf {
	unsigned int first;
	struct syscall_action action; /* if there are no rules */
	const struct numbered *rules; /* of the one call, in order */
	size_t rule_count;
};

/* At most a call and the gap behind it for each rule, the gap in front and
 * the numbers above the highest. */
#define LEAVES_MAX (2 * SYSCALL_RULES_MAX + 2)

struct layout {
	struct numbered numbered[SYSCALL_RULES_MAX];
	size_t numbered_count;
	struct leaf leaves[LEAVES_MAX];
	size_t leaf_count;
	struct writer writer;
};

static int
by_number(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;

	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	return a->rule < b->rule ? -1 : 1;
}

static int
number_rules(struct layout *layout, const struct syscall_policy *p,
    enum syscall_arch arch, struct err *e)
{
	for (size_t i = 0; i < p->rule_count; i++) {
		struct numbered *n = &layout->numbered[layout->numbered_count];
		int r;

		if ((p->rules[i].arches & arch) == 0)
			continue;
		r = rule_number(&p->rules[i], arch, &n->nr, e);
		if (r < 0)
			return r;
		n->rule = i;
		layout->numbered_count++;
	}
	if (layout->numbered_count > 0)
		qsort(layout->numbered, layout->numbered_count,
		    sizeof layout->numbered[0], by_number);
	return 0;
}

static bool
same_action(struct syscall_action a, struct syscall_action b)
{
	return a.kind == b.kind && a.errnum == b.errnum;
}

/* Neighbours that always get the same are one leaf. */
static void
add_leaf(struct layout *layout, struct leaf leaf)
{
	const struct leaf *last = layout->leaf_count > 0
				      ? &layout->leaves[layout->leaf_count - 1]
				      : NULL;

	if (last != NULL && last->rule_count == 0 && leaf.rule_count == 0 &&
	    same_action(last->action, leaf.action))
		return;
	layout->leaves[layout->leaf_count++] = leaf;
}

static void
add_constant(struct layout *layout, unsigned int first, struct syscall_action a)
{
	add_leaf(layout, (struct leaf){.first = first, .action = a});
}

/* The rules of one call; returns how many. */
static size_t
add_call(struct layout *layout, const struct syscall_policy *p, size_t i)
{
	const struct numbered *n = &layout->numbered[i];
	struct leaf leaf = {.first = n->nr, .rules = n};
	const struct syscall_rule *rule = &p->rules[n->rule];

	while (i + leaf.rule_count < layout->numbered_count &&
	       n[leaf.rule_count].nr == n->nr)
		leaf.rule_count++;
	if (rule->count == 0)
		add_constant(layout, n->nr, rule->action);
	else
		add_leaf(layout, leaf);
	return leaf.rule_count;
}

static void
find_leaves(struct layout *layout, const struct syscall_policy *p)
{
	unsigned int next = 0;
	size_t i = 0;

	while (i < layout->numbered_count) {
		unsigned int nr = layout->numbered[i].nr;

		if (nr > next)
			add_constant(layout, next, p->fallback);
		i += add_call(layout, p, i);
		next = nr + 1;
	}
	if (next <= COMPILE_SYSCALL_MAX)
		add_constant(layout, next, p->fallback);
	add_constant(layout, COMPILE_SYSCALL_MAX + 1,
	    p->has_unknown ? p->unknown : p->fallback);
}

static void
emit_leaf(struct writer *w, const struct leaf *leaf)
{
	if (leaf->rule_count == 0) {
		emit_return(w, leaf->action);
		return;
	}
	for (size_t i = 0; i < leaf->rule_count; i++) {
		const struct syscall_rule *rule =
		    &w->p->rules[leaf->rules[i].rule];

		emit_rule(w, rule);
		if (rule->count == 0)
			return;
	}
	emit_return(w, w->p->fallback);
}

/* Put an unconditional jump at; all jumps behind it are relative and do not
 * cross it. */
static void
insert_jump(struct writer *w, size_t at, size_t skip)
{
	struct sock_filter *code = w->out->code;
	size_t count = w->out->len - at;

	emit(w, BPF_JMP | BPF_JA, 0, 0, 0);
	if (w->overflow)
		return;
	memmove(code + at + 1, code + at, count * sizeof code[0]);
	code[at] =
	    (struct sock_filter){.code = BPF_JMP | BPF_JA, .k = (uint32_t)skip};
}

/*
 * A binary search for the number, which is in the accumulator. Every leaf
 * returns, so the code of the lower half is simply skipped. The depth of the
 * recursion is the logarithm of the leaves, 12 at most.
 */
static void
emit_search(struct writer *w, const struct leaf *leaves, size_t count)
{
	size_t half = count / 2, at, skip;

	if (count == 1) {
		emit_leaf(w, leaves);
		return;
	}
	at = w->out->len;
	emit(w, BPF_JMP | BPF_JGE | BPF_K, leaves[half].first, 0, 0);
	emit_search(w, leaves, half);
	if (w->overflow)
		return;
	skip = w->out->len - at - 1;
	if (skip > JUMP_MAX) {
		insert_jump(w, at + 1, skip);
		w->out->code[at].jf = 1;
	} else {
		w->out->code[at].jt = (uint8_t)skip;
	}
	emit_search(w, leaves + half, count - half);
}

/* Another architecture has other numbers: nothing may be read before this. */
static void
emit_head(struct writer *w, enum syscall_arch arch)
{
	const struct syscall_action kill = {.kind = SYSCALL_KILL};
	bool x86 = arch == SYSCALL_ARCH_X86_64;

	emit_load(w, offsetof(struct seccomp_data, arch));
	emit_equal(w, x86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, 1, 0);
	emit_return(w, kill);
	emit_load(w, offsetof(struct seccomp_data, nr));
	if (!x86)
		return;
	emit(w, BPF_JMP | BPF_JGE | BPF_K, X32_FIRST, 0, 1);
	emit_return(w, kill);
}

int
compile_policy(const struct syscall_policy *p, enum syscall_arch arch,
    struct compiled *out, struct err *e)
{
	scoped_free struct layout *layout = calloc(1, sizeof *layout);
	int r;

	if (layout == NULL)
		return err_set(e, ENOMEM, "out of memory");
	if (!p->has_fallback)
		return err_set(e, EINVAL, "1:1: there is no default");
	r = number_rules(layout, p, arch, e);
	if (r < 0)
		return r;
	find_leaves(layout, p);
	out->len = 0;
	layout->writer.p = p;
	layout->writer.out = out;
	emit_head(&layout->writer, arch);
	emit_search(&layout->writer, layout->leaves, layout->leaf_count);
	if (layout->writer.overflow)
		return err_set(e, E2BIG, "1:1: the filter is too long");
	return 0;
}
