/*
 * Reaches syscall_text_parse, syscall_text_parse_all, syscall_print,
 * compile_check and compile_policy: a .policy text up to the seccomp filter.
 *
 * Asserts that a text is accepted by one parser if and only if the other has
 * no complaint, that what is printed parses again to a policy that decides
 * alike and is printed the same, and that the filter, run here by a plain
 * interpreter of BPF, says of each call with chosen arguments what the policy
 * says.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "policy/compile.h"
#include "policy/syscall_print.h"

/* --- a plain interpreter -------------------------------------------------- */

static uint32_t
load(const struct seccomp_data *d, uint32_t at)
{
	uint32_t v;

	assert(at % 4 == 0 && at <= sizeof *d - sizeof v);
	memcpy(&v, (const char *)d + at, sizeof v);
	return v;
}

static bool
jumps(const struct sock_filter *f, uint32_t a)
{
	switch (BPF_OP(f->code)) {
	case BPF_JEQ:
		return a == f->k;
	case BPF_JGT:
		return a > f->k;
	case BPF_JGE:
		return a >= f->k;
	case BPF_JSET:
		return (a & f->k) != 0;
	default:
		abort();
	}
}

static uint32_t
run(const struct compiled *c, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (size_t pc = 0;; pc++) {
		const struct sock_filter *f = &c->code[pc];

		assert(pc < c->len);
		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
			assert(f->code == (BPF_LD | BPF_W | BPF_ABS));
			a = load(d, f->k);
			break;
		case BPF_ALU:
			assert(f->code == (BPF_ALU | BPF_AND | BPF_K));
			a &= f->k;
			break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA)
				pc += f->k;
			else
				pc += jumps(f, a) ? f->jt : f->jf;
			break;
		case BPF_RET:
			return f->k;
		default:
			abort();
		}
	}
}

static uint32_t
meaning(struct syscall_action a)
{
	switch (a.kind) {
	case SYSCALL_ALLOW:
		return SECCOMP_RET_ALLOW;
	case SYSCALL_KILL:
		return SECCOMP_RET_KILL_PROCESS;
	case SYSCALL_ERRNO:
		break;
	}
	return SECCOMP_RET_ERRNO | (uint32_t)a.errnum;
}

/* Arguments near what the rules compare with. */
static uint64_t
any_argument(const struct syscall_policy *p, uint64_t *random)
{
	uint64_t v = 0;

	if (p->value_count > 0)
		v = p->values[fuzz_random(random) % p->value_count];
	switch (fuzz_random(random) % 6) {
	case 0:
		return v + 1;
	case 1:
		return v | UINT64_C(1) << 32;
	case 2:
		return v ^ UINT64_C(1) << (fuzz_random(random) % 64);
	case 3:
		return fuzz_random(random);
	default:
		return v;
	}
}

static void
check_filter(const struct syscall_policy *p, const struct compiled *c)
{
	uint64_t random = p->value_count;

	for (size_t i = 0; i < p->rule_count; i++) {
		struct seccomp_data d = {.arch = AUDIT_ARCH_X86_64};
		uint64_t args[SYSCALL_ARGS];
		unsigned int nr;

		if (compile_number(p->rules[i].name, SYSCALL_ARCH_X86_64, &nr) <
		    0)
			continue;
		d.nr = (int)nr;
		for (size_t k = 0; k < SYSCALL_ARGS; k++)
			d.args[k] = args[k] = any_argument(p, &random);
		assert(run(c, &d) ==
		       meaning(syscall_policy_decide(p, p->rules[i].name,
			   SYSCALL_ARCH_X86_64, args)));
		d.arch = AUDIT_ARCH_I386;
		assert(run(c, &d) == SECCOMP_RET_KILL_PROCESS);
		d.arch = AUDIT_ARCH_X86_64;
		d.nr |= 0x40000000;
		assert(run(c, &d) == SECCOMP_RET_KILL_PROCESS);
	}
}

/* --- text to policy and back ------------------------------------------------
 */

static void
check_printed(const struct syscall_policy *p)
{
	struct syscall_policy *q = syscall_policy_new();
	uint64_t random = p->value_count;
	scoped_buf text, again;
	struct err e = {0};

	buf_init(&text, SYSCALL_TEXT_MAX);
	buf_init(&again, SYSCALL_TEXT_MAX);
	assert(q != NULL && syscall_print(p, &text) == 0);
	assert(syscall_text_parse(fuzz_view(&text), q, &e) == 0);
	assert(syscall_print(q, &again) == 0);
	assert(bytes_equal(fuzz_view(&text), fuzz_view(&again)));
	for (size_t i = 0; i < p->rule_count; i++) {
		uint64_t args[SYSCALL_ARGS];

		for (size_t k = 0; k < SYSCALL_ARGS; k++)
			args[k] = any_argument(p, &random);
		for (unsigned int arch = 1; arch < SYSCALL_ARCH_ALL; arch *= 2)
			assert(
			    meaning(syscall_policy_decide(p, p->rules[i].name,
				(enum syscall_arch)arch, args)) ==
			    meaning(syscall_policy_decide(q, p->rules[i].name,
				(enum syscall_arch)arch, args)));
	}
	syscall_policy_free(q);
}

static void
check_compiled(const struct syscall_policy *p)
{
	struct compiled *c = malloc(sizeof *c);
	struct err e = {0};
	int r;

	assert(c != NULL);
	r = compile_check(p, 0, SYSCALL_ARCH_X86_64, &e);
	if (r == 0)
		r = compile_policy(p, SYSCALL_ARCH_X86_64, c, &e);
	if (r == 0)
		check_filter(p, c);
	else
		assert((r == -EINVAL || r == -E2BIG) && e.text[0] != '\0');
	free(c);
}

static bool
parses_without_complaint(struct bytes text)
{
	struct syscall_policy *p = syscall_policy_new();
	scoped_buf errors;
	int r;

	buf_init(&errors, 4096);
	assert(p != NULL);
	r = syscall_text_parse_all(text, "x", p, &errors);
	assert((r == 0) == (errors.len == 0));
	syscall_policy_free(p);
	return r == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes text = {.data = data, .len = size};
	struct syscall_policy *p;
	struct err e = {0};
	int r;

	if (size > FUZZ_LEN_MAX)
		return 0;
	p = syscall_policy_new();
	assert(p != NULL);
	r = syscall_text_parse(text, p, &e);
	assert((r == 0) == parses_without_complaint(text));
	if (r == 0) {
		check_printed(p);
		check_compiled(p);
	} else {
		assert((r == -EINVAL || r == -EFBIG) && e.text[0] != '\0');
	}
	syscall_policy_free(p);
	return 0;
}
