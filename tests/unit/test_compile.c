#include "policy/compile.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define FILES_MAX 4
#define DEAD	  0xdeadbeefu /* what run() answers for code that is broken */

/* --- a seccomp machine ------------------------------------------------- */

static bool
load(const struct seccomp_data *d, uint32_t offset, uint32_t *out)
{
	if (offset % 4 != 0 || offset > sizeof *d - sizeof *out)
		return false;
	memcpy(out, (const uint8_t *)d + offset, sizeof *out);
	return true;
}

/* What the kernel would answer, or DEAD where its checker would refuse. */
static uint32_t
run(const struct compiled *c, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < c->len; pc++) {
		const struct sock_filter *i = &c->code[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (!load(d, i->k, &a))
				return DEAD;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			return DEAD;
		}
	}
	return DEAD;
}

static uint32_t
wanted(struct syscall_action a)
{
	switch (a.kind) {
	case SYSCALL_ALLOW:
		return SECCOMP_RET_ALLOW;
	case SYSCALL_KILL:
		return SECCOMP_RET_KILL_PROCESS;
	case SYSCALL_ERRNO:
		return SECCOMP_RET_ERRNO | (uint32_t)a.errnum;
	}
	return DEAD;
}

static uint32_t
arch_token(enum syscall_arch arch)
{
	return arch == SYSCALL_ARCH_X86_64 ? AUDIT_ARCH_X86_64
					   : AUDIT_ARCH_AARCH64;
}

static struct syscall_policy *
parse(const char *text)
{
	struct syscall_policy *p = syscall_policy_new();
	struct err e = {0};

	assert_non_null(p);
	if (syscall_text_parse(bytes_of(text), p, &e) != 0)
		fail_msg("%s", e.text);
	return p;
}

static struct compiled *
compile(const struct syscall_policy *p, enum syscall_arch arch)
{
	struct compiled *c = malloc(sizeof *c);
	struct err e = {0};

	assert_non_null(c);
	if (compile_policy(p, arch, c, &e) != 0)
		fail_msg("%s", e.text);
	return c;
}

/* --- the shipped policies, against their meaning ------------------------ */

/* The text of a shipped policy, for good: parsed rules borrow it. */
static struct bytes
shipped(const char *name)
{
	const char *source = getenv("SALLYPORT_SOURCE");
	char path[512];
	char *text = malloc(SYSCALL_TEXT_MAX);
	size_t len;
	FILE *f;

	assert_non_null(text);
	assert_non_null(source);
	(void)snprintf(path, sizeof path, "%s/policy/syscalls/%s.policy",
	    source, name);
	f = fopen(path, "re");
	if (f == NULL)
		fail_msg("%s cannot be read", path);
	len = fread(text, 1, SYSCALL_TEXT_MAX, f);
	(void)fclose(f);
	return (struct bytes){.data = (const uint8_t *)text, .len = len};
}

static struct syscall_policy *
parse_files(const char *const *files, struct bytes *texts)
{
	struct syscall_policy *p = syscall_policy_new();
	struct err e = {0};

	assert_non_null(p);
	for (size_t i = 0; files[i] != NULL; i++) {
		texts[i] = shipped(files[i]);
		if (syscall_text_parse(texts[i], p, &e) != 0)
			fail_msg("%s:%s", files[i], e.text);
	}
	return p;
}

static void
free_texts(struct bytes *texts)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		free((void *)(uintptr_t)texts[i].data);
}

static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* A value that some test of p is about, or something beside it, with a clean
 * or a dirty upper half. */
static uint64_t
pick(const struct syscall_policy *p, uint64_t *seed)
{
	uint64_t how = next_random(seed), v = next_random(seed);

	if (p->value_count > 0 && how % 4 != 0)
		v = p->values[v % p->value_count];
	if (p->compare_count > 0 && how % 8 == 1)
		v ^= p->compares[v % p->compare_count].mask;
	if (how % 16 == 2)
		v ^= UINT64_C(1) << (how >> 8) % 64;
	if (how % 3 == 0)
		v |= UINT64_C(1) << 32;
	return v;
}

/* The call that has number nr, if p has a rule for it. */
static const char *
name_of(const struct syscall_policy *p, enum syscall_arch arch, unsigned int nr)
{
	for (size_t i = 0; i < p->rule_count; i++) {
		unsigned int n;

		if ((p->rules[i].arches & arch) &&
		    compile_number(p->rules[i].name, arch, &n) == 0 && n == nr)
			return p->rules[i].name;
	}
	return "";
}

static void
check_number(const struct syscall_policy *p, const struct compiled *c,
    enum syscall_arch arch, unsigned int nr, uint64_t *seed)
{
	const char *name = name_of(p, arch, nr);
	struct seccomp_data d = {.nr = (int)nr, .arch = arch_token(arch)};
	uint64_t args[SYSCALL_ARGS];

	for (int round = 0; round < 100; round++) {
		uint32_t want, got;

		for (size_t i = 0; i < SYSCALL_ARGS; i++)
			d.args[i] = args[i] = pick(p, seed);
		want = wanted(nr > COMPILE_SYSCALL_MAX && p->has_unknown
				  ? p->unknown
				  : syscall_policy_decide(p, name, arch, args));
		got = run(c, &d);
		if (got != want)
			fail_msg("%u %s: got 0x%x, not 0x%x", nr, name, got,
			    want);
	}
}

static void
check_policy(const char *const *files, enum syscall_arch arch)
{
	struct bytes texts[FILES_MAX] = {0};
	struct syscall_policy *p = parse_files(files, texts);
	struct compiled *c = compile(p, arch);
	uint64_t seed = 88172645463325252u;

	for (unsigned int nr = 0; nr < COMPILE_SYSCALL_MAX + 20; nr++)
		check_number(p, c, arch, nr, &seed);
	check_number(p, c, arch, 0x3fffffff, &seed);
	free(c);
	syscall_policy_free(p);
	free_texts(texts);
}

static const char *const policies[][FILES_MAX] = {
    {"supervisor", "exec", "child"},
    {"net"},
    {"exec", "child"},
    {"init"},
    {"child"},
    {"worker"},
    {"http"},
    {"sanitizer", "net"},
};

static void
filters_do_what_their_policies_mean(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(policies); i++) {
		check_policy(policies[i], SYSCALL_ARCH_X86_64);
		check_policy(policies[i], SYSCALL_ARCH_AARCH64);
	}
}

/* A policy with some bytes changed either does not parse, or has a filter that
 * the kernel's checker would take and that always answers. */
static void
check_mutant(struct bytes text, struct compiled *c, uint64_t *seed)
{
	struct syscall_policy *p = syscall_policy_new();
	struct seccomp_data d = {.arch = AUDIT_ARCH_X86_64};
	struct err e = {0};

	assert_non_null(p);
	if (syscall_text_parse(text, p, &e) == 0 &&
	    compile_policy(p, SYSCALL_ARCH_X86_64, c, &e) == 0) {
		for (int round = 0; round < 100; round++) {
			d.nr = (int)(next_random(seed) % 512);
			for (size_t i = 0; i < SYSCALL_ARGS; i++)
				d.args[i] = pick(p, seed);
			assert_int_not_equal(run(c, &d), DEAD);
		}
	} else {
		assert_int_not_equal(e.code, 0);
		assert_true(e.text[0] >= '1' && e.text[0] <= '9');
	}
	syscall_policy_free(p);
}

static void
mutants_are_refused_or_sound(void **state)
{
	static const char spice[] = " \n#:->&|=!~(){},in$0argptr[]x86_64kill";
	struct bytes net = shipped("net");
	struct compiled *c = malloc(sizeof *c);
	uint8_t *copy = malloc(net.len);
	uint64_t seed = 88172645463325252u;

	(void)state;
	assert_non_null(c);
	assert_non_null(copy);
	for (int round = 0; round < 1000; round++) {
		memcpy(copy, net.data, net.len);
		for (uint64_t n = next_random(&seed) % 4 + 1; n > 0; n--)
			copy[next_random(&seed) % net.len] = (uint8_t)
			    spice[next_random(&seed) % (sizeof spice - 1)];
		check_mutant((struct bytes){.data = copy, .len = net.len}, c,
		    &seed);
	}
	free(copy);
	free(c);
	free((void *)(uintptr_t)net.data);
}

/* --- who binds whom ----------------------------------------------------- */

static const struct {
	const char *const above[FILES_MAX];
	const char *const below[FILES_MAX];
} bindings[] = {
    {{"supervisor", "exec", "child"}, {"exec", "child"}},
    {{"supervisor", "exec", "child"}, {"net"}},
    {{"exec", "child"}, {"child"}},
    {{"exec", "child"}, {"init"}},
    {{"exec", "child"}, {"worker"}},
    {{"exec", "child"}, {"http"}},
};

/* A filter above must allow whatever one below allows. */
static void
check_binding(const struct syscall_policy *above,
    const struct syscall_policy *below, enum syscall_arch arch, uint64_t *seed)
{
	for (size_t i = 0; i < below->rule_count; i++) {
		const char *name = below->rules[i].name;
		uint64_t args[SYSCALL_ARGS];

		if ((below->rules[i].arches & arch) == 0)
			continue;
		for (int round = 0; round < 300; round++) {
			for (size_t k = 0; k < SYSCALL_ARGS; k++)
				args[k] = pick(below, seed);
			if (syscall_policy_decide(below, name, arch, args)
				    .kind == SYSCALL_ALLOW &&
			    syscall_policy_decide(above, name, arch, args)
				    .kind != SYSCALL_ALLOW)
				fail_msg("%s is refused above", name);
		}
	}
}

static void
filters_allow_what_their_descendants_need(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (size_t i = 0; i < COUNT(bindings); i++) {
		struct bytes a[FILES_MAX] = {0}, b[FILES_MAX] = {0};
		struct syscall_policy *above =
		    parse_files(bindings[i].above, a);
		struct syscall_policy *below =
		    parse_files(bindings[i].below, b);

		check_binding(above, below, SYSCALL_ARCH_X86_64, &seed);
		check_binding(above, below, SYSCALL_ARCH_AARCH64, &seed);
		syscall_policy_free(above);
		syscall_policy_free(below);
		free_texts(a);
		free_texts(b);
	}
}

/* --- callers ---------------------------------------------------------------
 */

/* Whether a caller that is named like one of our files is one. */
static void
check_caller(const char *source, const struct syscall_rule *rule, char *caller)
{
	char path[512];

	while (*caller == ' ')
		caller++;
	if (strchr(caller, '/') == NULL)
		return;
	(void)snprintf(path, sizeof path, "%s/%s", source, caller);
	if (access(path, F_OK) < 0)
		fail_msg("%s: there is no %s", rule->name, caller);
}

static void
callers_exist(void **state)
{
	const char *source = getenv("SALLYPORT_SOURCE");

	(void)state;
	for (size_t i = 0; i < COUNT(policies); i++) {
		struct bytes texts[FILES_MAX] = {0};
		struct syscall_policy *p = parse_files(policies[i], texts);

		for (size_t k = 0; k < p->rule_count; k++) {
			char *all = bytes_dup(p->rules[k].caller);
			char *rest = all, *caller;

			assert_non_null(all);
			while ((caller = strsep(&rest, ",")) != NULL)
				check_caller(source, &p->rules[k], caller);
			free(all);
		}
		syscall_policy_free(p);
		free_texts(texts);
	}
}

/* --- the head of a filter ---------------------------------------------- */

static void
another_architecture_is_killed(void **state)
{
	static const uint32_t others[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM,
	    AUDIT_ARCH_RISCV64, 0, UINT32_MAX};
	struct syscall_policy *p = parse("default allow\n");
	struct compiled *c = compile(p, SYSCALL_ARCH_X86_64);

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		struct seccomp_data d = {.nr = 1, .arch = others[i]};

		assert_int_equal(run(c, &d), SECCOMP_RET_KILL_PROCESS);
	}
	free(c);
	c = compile(p, SYSCALL_ARCH_AARCH64);
	assert_int_equal(run(c,
			     &(struct seccomp_data){.arch = AUDIT_ARCH_X86_64}),
	    SECCOMP_RET_KILL_PROCESS);
	free(c);
	syscall_policy_free(p);
}

static void
x32_numbers_are_killed_and_unknown_ones_are_not(void **state)
{
	static const struct {
		uint32_t nr, want;
	} rows[] = {
	    {0, SECCOMP_RET_ERRNO | EPERM},
	    {COMPILE_SYSCALL_MAX, SECCOMP_RET_ERRNO | EPERM},
	    {COMPILE_SYSCALL_MAX + 1, SECCOMP_RET_ERRNO | ENOSYS},
	    {0x3fffffff, SECCOMP_RET_ERRNO | ENOSYS},
	    {0x40000000, SECCOMP_RET_KILL_PROCESS},
	    {0x40000001, SECCOMP_RET_KILL_PROCESS},
	    {0x40000220, SECCOMP_RET_KILL_PROCESS},
	    {0x80000000, SECCOMP_RET_KILL_PROCESS},
	    {UINT32_MAX, SECCOMP_RET_KILL_PROCESS},
	};
	struct syscall_policy *p = parse("default EPERM\nunknown ENOSYS\n");
	struct compiled *c = compile(p, SYSCALL_ARCH_X86_64);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct seccomp_data d = {.arch = AUDIT_ARCH_X86_64};

		memcpy(&d.nr, &rows[i].nr, sizeof d.nr);
		assert_int_equal(run(c, &d), rows[i].want);
	}
	free(c);
	syscall_policy_free(p);
}

/* --- refusals ----------------------------------------------------------- */

static void
check_refuses_calls_that_do_not_exist(void **state)
{
	static const struct {
		const char *text;
		enum syscall_arch arch;
		const char *error;
	} rows[] = {
	    {"raed # a: b", SYSCALL_ARCH_X86_64, "1:1: no such system call"},
	    {"# x\npoll # a: b", SYSCALL_ARCH_AARCH64,
		"2:1: not every architecture has poll"},
	    {"poll [x86_64] # a: b", SYSCALL_ARCH_AARCH64, NULL},
	    {"poll # a: b", SYSCALL_ARCH_X86_64, NULL},
	    {"mseal # a: b", SYSCALL_ARCH_X86_64, NULL},
	    {"file_setattr # a: b", SYSCALL_ARCH_AARCH64, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct syscall_policy *p = parse(rows[i].text);
		struct err e = {0};
		int r = compile_check(p, 0, rows[i].arch, &e);

		assert_int_equal(r, rows[i].error != NULL ? -EINVAL : 0);
		if (r < 0)
			assert_memory_equal(e.text, rows[i].error,
			    strlen(rows[i].error));
		syscall_policy_free(p);
	}
}

static void
policy_refuses_to_be_without_default(void **state)
{
	struct syscall_policy *p = parse("read # a: b\n");
	struct compiled *c = malloc(sizeof *c);
	struct err e = {0};

	(void)state;
	assert_non_null(c);
	assert_int_equal(compile_policy(p, SYSCALL_ARCH_X86_64, c, &e),
	    -EINVAL);
	free(c);
	syscall_policy_free(p);
}

/* read with a set of count values. */
static struct syscall_policy *
parse_wide_set(unsigned int count)
{
	struct syscall_policy *p = syscall_policy_new();
	struct err e = {0};
	scoped_buf text;

	assert_non_null(p);
	buf_init(&text, SYSCALL_TEXT_MAX);
	assert_int_equal(buf_printf(&text, "default EPERM\nread: arg0 in {7"),
	    0);
	for (unsigned int i = 1; i < count; i++)
		assert_int_equal(buf_printf(&text, ",%u", 1000 + i), 0);
	assert_int_equal(buf_printf(&text, "} # a: b\nwrite # a: b\n"), 0);
	assert_int_equal(syscall_text_parse((struct bytes){.data = text.data,
						.len = text.len},
			     p, &e),
	    0);
	return p;
}

static void
jumps_reach_as_far_as_bpf_lets_them(void **state)
{
	struct compiled *c = malloc(sizeof *c);
	struct err e = {0};

	(void)state;
	assert_non_null(c);
	for (unsigned int count = 250; count < 262; count++) {
		struct syscall_policy *p = parse_wide_set(count);
		struct seccomp_data d = {.arch = AUDIT_ARCH_X86_64};
		int r = compile_policy(p, SYSCALL_ARCH_X86_64, c, &e);

		assert_int_equal(r, count > 256 ? -E2BIG : 0);
		syscall_policy_free(p);
		if (r < 0)
			continue;
		assert_int_equal(run(c, &d), SECCOMP_RET_ERRNO | EPERM);
		d.args[0] = 7;
		assert_int_equal(run(c, &d), SECCOMP_RET_ALLOW);
		d.args[0] = 1000 + count - 1;
		assert_int_equal(run(c, &d), SECCOMP_RET_ALLOW);
		/* Not by what was meant for read. */
		d.args[0] = 0;
		d.nr = 1;
		assert_int_equal(run(c, &d), SECCOMP_RET_ALLOW);
	}
	free(c);
}

static void
policy_refuses_when_memory_is_out(void **state)
{
	struct syscall_policy *p = parse("default kill\nread # a: b\n");
	struct compiled *c = malloc(sizeof *c);
	struct err e = {0};

	(void)state;
	assert_non_null(c);
	alloc_fail_at(1);
	assert_int_equal(compile_policy(p, SYSCALL_ARCH_X86_64, c, &e),
	    -ENOMEM);
	alloc_fail_at(0);
	free(c);
	syscall_policy_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(filters_do_what_their_policies_mean),
	    cmocka_unit_test(mutants_are_refused_or_sound),
	    cmocka_unit_test(filters_allow_what_their_descendants_need),
	    cmocka_unit_test(callers_exist),
	    cmocka_unit_test(another_architecture_is_killed),
	    cmocka_unit_test(x32_numbers_are_killed_and_unknown_ones_are_not),
	    cmocka_unit_test(check_refuses_calls_that_do_not_exist),
	    cmocka_unit_test(policy_refuses_to_be_without_default),
	    cmocka_unit_test(jumps_reach_as_far_as_bpf_lets_them),
	    cmocka_unit_test(policy_refuses_when_memory_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
