/*
 * Reaches oci_import and oci_export: the seccomp JSON of container runtimes.
 *
 * Asserts that what is imported is a policy text that parses, that when such a
 * policy can be exported the JSON can be imported again, and that both texts
 * decide alike.
 */
#include <errno.h>
#include <string.h>

#include "cli/oci.h"
#include "fuzz/fuzz.h"
#include "fuzz/mutate_json.h"

static uint64_t
any_argument(const struct syscall_policy *p, uint64_t *random)
{
	uint64_t v = p->value_count == 0
			 ? 0
			 : p->values[fuzz_random(random) % p->value_count];

	return v + fuzz_random(random) % 3 - 1;
}

static bool
decides_alike(const struct syscall_policy *p, const struct syscall_policy *q)
{
	uint64_t random = p->value_count, args[SYSCALL_ARGS];

	for (size_t i = 0; i < p->rule_count; i++) {
		const char *name = p->rules[i].name;
		struct syscall_action a, b;

		for (size_t k = 0; k < SYSCALL_ARGS; k++)
			args[k] = any_argument(p, &random);
		a = syscall_policy_decide(p, name, SYSCALL_ARCH_X86_64, args);
		b = syscall_policy_decide(q, name, SYSCALL_ARCH_X86_64, args);
		if (a.kind != b.kind || a.errnum != b.errnum)
			return false;
	}
	return true;
}

static struct syscall_policy *
parse(const struct buf *text)
{
	struct syscall_policy *p = syscall_policy_new();
	struct err e = {0};

	assert(p != NULL);
	assert(syscall_text_parse(fuzz_view(text), p, &e) == 0);
	return p;
}

static void
check_again(const struct syscall_policy *p)
{
	struct syscall_policy *q;
	json_t *root = NULL;
	struct err e = {0};
	scoped_buf text;
	int r = oci_export(p, &root, &e);

	buf_init(&text, SYSCALL_TEXT_MAX);
	if (r < 0) {
		assert((r == -ENOTSUP || r == -E2BIG) && e.text[0] != '\0');
		return;
	}
	r = oci_import(root, &text, &e);
	json_decref(root);
	/* It may have got longer than a policy can be. */
	if (r < 0) {
		assert(r == -E2BIG);
		return;
	}
	q = parse(&text);
	assert(decides_alike(p, q) && decides_alike(q, p));
	syscall_policy_free(q);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct syscall_policy *p;
	struct err e = {0};
	json_error_t why;
	scoped_buf text;
	json_t *root;
	int r;

	buf_init(&text, SYSCALL_TEXT_MAX);
	if (size > FUZZ_LEN_MAX)
		return 0;
	json_object_seed(1);
	root =
	    json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &why);
	if (root == NULL)
		return 0;
	r = oci_import(root, &text, &e);
	json_decref(root);
	if (r < 0) {
		assert(r == -EINVAL || r == -ENOTSUP || r == -E2BIG);
		assert(e.code == -r && e.text[0] != '\0');
		return 0;
	}
	p = parse(&text);
	check_again(p);
	syscall_policy_free(p);
	return 0;
}

static json_t *
any_profile(uint64_t *random)
{
	(void)random;
	return json_pack("{s:s,s:[s],s:[{s:[s],s:s}]}", "defaultAction",
	    "SCMP_ACT_ERRNO", "architectures", "SCMP_ARCH_X86_64", "syscalls",
	    "names", "read", "action", "SCMP_ACT_ALLOW");
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
    unsigned int seed)
{
	return mutate_json(data, size, max_size, seed, any_profile);
}
