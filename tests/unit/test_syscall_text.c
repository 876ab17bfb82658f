#include "policy/syscall_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "privsep/role.h"
#include "tests/unit/unit.h"

static int
parse(const char *text, struct syscall_policy **p, struct err *e)
{
	*p = syscall_policy_new();
	assert_non_null(*p);
	return syscall_text_parse(bytes_of(text), *p, e);
}

struct refused {
	const char *text;
	const char *error; /* what the message begins with */
};

static const struct refused refused[] = {
    {"default", "1:8: unknown action"},
    {"default maybe", "1:9: unknown action 'maybe'"},
    {"default ENOTHING", "1:9: unknown action 'ENOTHING'"},
    {"default kill now", "1:14: a system call or '#' is wanted"},
    {"unknown 38", "1:9: unknown action '38'"},
    {"read", "1:5: '# caller: reason' is wanted"},
    {"read #", "1:7: 'caller: reason' is missing"},
    {"read # because", "1:7: 'caller: reason' is missing"},
    {"read # : because", "1:7: 'caller: reason' is missing"},
    {"read # me:  ", "1:7: 'caller: reason' is missing"},
    {"\n\nread", "3:5: '# caller: reason' is wanted"},
    {"read write # a: b", "1:6: '# caller: reason' is wanted"},
    {"a_name_that_is_far_too_long_for_one # a: b", "1:1: no system call"},
    {"; # a: b", "1:1: a system call or '#' is wanted"},
    {"read [sparc] # a: b", "1:7: unknown architecture 'sparc'"},
    {"read [x86_64 # a: b", "1:14: ']' is missing"},
    {"read [] # a: b", "1:7: unknown architecture"},
    {"read: # a: b", "1:7: arg0..arg5 or ptr0..ptr5 is wanted"},
    {"read: fd == 1 # a: b", "1:7: arg0..arg5 or ptr0..ptr5 is wanted"},
    {"read: arg6 == 1 # a: b", "1:7: arg0..arg5 or ptr0..ptr5 is wanted"},
    {"read: arg10 == 1 # a: b", "1:7: arg0..arg5 or ptr0..ptr5 is wanted"},
    {"read: arg0 # a: b", "1:12: '==', '!=' or 'in' is wanted"},
    {"read: arg0 = 1 # a: b", "1:12: '==', '!=' or 'in' is wanted"},
    {"read: arg0 < 1 # a: b", "1:12: '==', '!=' or 'in' is wanted"},
    {"read: arg0 == # a: b", "1:15: a value is missing"},
    {"read: arg0 == 08 # a: b", "1:15: bad number '08'"},
    {"read: arg0 == 0x # a: b", "1:15: bad number '0x'"},
    {"read: arg0 == 1a # a: b", "1:15: bad number '1a'"},
    {"read: arg0 == 0x1ffffffff # a: b", "1:15: more than 32 bits"},
    {"read: ptr0 == 0x1ffffffffffffffff # a: b", "1:15: bad number"},
    {"read: ptr0 == 99999999999999999999 # a: b", "1:15: bad number"},
    {"read: arg0 == NOBODY # a: b", "1:15: unknown constant 'NOBODY'"},
    {"read: arg0 == $nothing # a: b", "1:15: unknown constant '$nothing'"},
    {"read: arg0 == $channel # a: b", "1:15: unknown constant '$channel'"},
    {"read: arg0 == 1| # a: b", "1:18: a value is missing"},
    {"read: arg0 == 1 && # a: b", "1:20: arg0..arg5"},
    {"read: arg0 == 1 || # a: b", "1:20: arg0..arg5"},
    {"read: arg0 == 1 & arg1 == 2 # a: b", "1:17: '# caller: reason'"},
    {"read: arg0 & 1 # a: b", "1:16: '==', '!=' or 'in' is wanted"},
    {"read: arg0 & 4 == 3 # a: b", "1:21: the value has bits outside"},
    {"read: ptr0 & 0xff == 0x100000000 # a: b",
	"1:34: the value has bits outside"},
    {"read: arg0 & ~(1|2 == 0 # a: b", "1:20: ')' is missing"},
    {"read: arg0 in 1 # a: b", "1:15: '{' is missing"},
    {"read: arg0 in {} # a: b", "1:16: a value is missing"},
    {"read: arg0 in {1,} # a: b", "1:18: a value is missing"},
    {"read: arg0 in {1 # a: b", "1:18: '}' is missing"},
    {"read: ptr0 in {1} # a: b", "1:12: '==' or '!=' is wanted"},
    {"read -> # a: b", "1:9: unknown action"},
    {"read -> maybe # a: b", "1:9: unknown action 'maybe'"},
    {"read - # a: b", "1:6: '# caller: reason' is wanted"},
    {"read # a: b\nread # a: b", "2:1: read is decided by line 1 already"},
    {"read # a: b\nread: arg0 == 1 # a: b", "2:1: read is decided by line 1"},
    {"read: arg0 == 1 # a: b\nread:arg0==1 -> kill # a: b",
	"2:1: read is decided by line 1 already"},
    {"read: arg0 in {1,2} # a: b\nread: arg0 in {1, 2} # a: b",
	"2:1: read is decided by line 1 already"},
    {"read [x86_64] # a: b\nread # a: b", "2:1: read is decided by line 1"},
    {"read # a: b\001", "1:12: not printable ASCII"},
    {"read # a: \xc3\xa4", "1:11: not printable ASCII"},
    {"read # a: b\r\n", "1:12: not printable ASCII"},
};

static void
parse_refuses_and_points_at_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		const struct refused *c = &refused[i];
		struct syscall_policy *p;
		struct err e = {0};
		int r = parse(c->text, &p, &e);

		if (r != -EINVAL || e.code != EINVAL ||
		    strncmp(e.text, c->error, strlen(c->error)) != 0)
			fail_msg("%s: got %d '%s'", c->text, r, e.text);
		syscall_policy_free(p);
	}
}

static void
parse_refuses_a_text_past_its_maximum(void **state)
{
	struct syscall_policy *p = syscall_policy_new();
	char *text = malloc(SYSCALL_TEXT_MAX + 1);
	struct bytes b = {.data = (const uint8_t *)text,
	    .len = SYSCALL_TEXT_MAX};
	struct err e = {0};

	(void)state;
	assert_non_null(p);
	assert_non_null(text);
	memset(text, '\n', SYSCALL_TEXT_MAX + 1);
	assert_int_equal(syscall_text_parse(b, p, &e), 0);
	b.len++;
	assert_int_equal(syscall_text_parse(b, p, &e), -EFBIG);
	free(text);
	syscall_policy_free(p);
}

/* Parse count rules of calls that are named by number, each with test. */
static int
parse_many(const char *test, unsigned int count)
{
	struct syscall_policy *p = syscall_policy_new();
	struct err e = {0};
	scoped_buf text;
	int r;

	assert_non_null(p);
	buf_init(&text, SYSCALL_TEXT_MAX);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(buf_printf(&text, "c%u%s #a:b\n", i, test), 0);
	r = syscall_text_parse((struct bytes){.data = text.data,
				   .len = text.len},
	    p, &e);
	syscall_policy_free(p);
	return r;
}

static void
parse_refuses_more_than_its_tables_hold(void **state)
{
	static const struct {
		const char *test;
		unsigned int max;
	} rows[] = {
	    {"", SYSCALL_RULES_MAX},
	    {":arg0==1&&arg1==1&&arg2==1", SYSCALL_COMPARES_MAX / 3},
	    {":arg0 in {1,2,3,4,5,6,7,8}", SYSCALL_VALUES_MAX / 8},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(parse_many(rows[i].test, rows[i].max), 0);
		assert_int_equal(parse_many(rows[i].test, rows[i].max + 1),
		    -EFBIG);
	}
}

static void
a_rule_is_read_whole(void **state)
{
	static const char text[] =
	    "# intro\n"
	    "default EPERM # why\n"
	    "\tunknown ENOSYS\n"
	    "\n"
	    "open [x86_64]: arg1 & ~(1|2) != 4 -> EACCES # me: because: so\n";
	struct syscall_policy *p;
	const struct syscall_rule *rule;
	const struct syscall_compare *c;
	struct err e = {0};

	(void)state;
	assert_int_equal(parse(text, &p, &e), 0);
	assert_true(p->has_fallback && p->has_unknown);
	assert_int_equal(p->fallback.kind, SYSCALL_ERRNO);
	assert_int_equal(p->fallback.errnum, EPERM);
	assert_int_equal(p->unknown.errnum, ENOSYS);
	assert_int_equal(p->rule_count, 1);
	rule = &p->rules[0];
	assert_string_equal(rule->name, "open");
	assert_int_equal(rule->arches, SYSCALL_ARCH_X86_64);
	assert_int_equal(rule->action.errnum, EACCES);
	assert_int_equal(rule->line, 5);
	assert_true(bytes_is(rule->test, "arg1 & ~(1|2) != 4"));
	assert_true(bytes_is(rule->caller, "me"));
	assert_true(bytes_is(rule->reason, "because: so"));
	assert_int_equal(rule->count, 1);
	c = &p->compares[rule->first];
	assert_int_equal(c->arg, 1);
	assert_false(c->wide);
	assert_true(c->negated && c->ends_all);
	assert_int_equal(c->mask, 0xfffffffc);
	syscall_policy_free(p);
}

struct meaning {
	const char *test;
	uint64_t args[2];
	bool holds;
};

#define HIGH (UINT64_C(1) << 32)

static const struct meaning meanings[] = {
    {"arg0 == 5", {5}, true},
    {"arg0 == 5", {4}, false},
    {"arg0 == 5", {HIGH | 5}, true}, /* dirty upper half */
    {"arg0 == 0x10", {16}, true},
    {"arg0 == 010", {8}, true},
    {"arg0 != 5", {HIGH | 5}, false},
    {"arg0 != 5", {HIGH | 4}, true},
    {"ptr0 == 5", {HIGH | 5}, false},
    {"ptr0 == NULL", {0}, true},
    {"ptr0 == NULL", {HIGH}, false},
    {"ptr0 != NULL", {HIGH}, true},
    {"ptr0 != NULL", {0}, false},
    {"ptr0 & ~1 == 0", {1}, true},
    {"ptr0 & ~1 == 0", {HIGH}, false},
    {"arg0 & 6 == 2", {3}, true},
    {"arg0 & 6 == 2", {7}, false},
    {"arg0 & ~3 == 0", {3}, true},
    {"arg0 & ~3 == 0", {HIGH | 3}, true},
    {"arg0 & ~3 == 0", {4}, false},
    {"arg0 & ~(1|2) == 0", {3}, true},
    {"arg0 & 1|2 == 0", {4}, true},
    {"arg0 & 1|2 == 0", {2}, false},
    {"arg0 in {1, 2}", {2}, true},
    {"arg0 in {1, 2}", {3}, false},
    {"arg0 & 0xf in {1, 2}", {0x12}, true},
    {"arg0 in $channel", {3}, true},
    {"arg0 in $channel", {4}, true},
    {"arg0 in $channel", {5}, false},
    {"arg0 == 1 && arg1 == 2", {1, 2}, true},
    {"arg0 == 1 && arg1 == 2", {1, 3}, false},
    {"arg0 == 1 || arg1 == 2", {0, 2}, true},
    {"arg0 == 1 || arg1 == 2", {1, 0}, true},
    {"arg0 == 1 || arg1 == 2", {0, 0}, false},
    {"arg0 == 1 && arg1 == 2 || arg0 == 3", {3, 0}, true},
    {"arg0 == 3 || arg0 == 1 && arg1 == 2", {1, 2}, true},
    {"arg0 == 3 || arg0 == 1 && arg1 == 2", {1, 0}, false},
    {"arg0 != 1 && arg0 != 2", {2}, false},
    {"arg0 != 1 && arg0 != 2", {3}, true},
};

static void
tests_mean_what_they_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(meanings); i++) {
		const struct meaning *m = &meanings[i];
		uint64_t args[SYSCALL_ARGS] = {m->args[0], m->args[1]};
		struct syscall_policy *p;
		struct err e = {0};
		char text[128];

		(void)snprintf(text, sizeof text, "c: %s # a: b", m->test);
		if (parse(text, &p, &e) != 0)
			fail_msg("%s: %s", m->test, e.text);
		if (syscall_rule_holds(p, &p->rules[0], args) != m->holds)
			fail_msg("%s: holds is %d", m->test, !m->holds);
		syscall_policy_free(p);
	}
}

static void
the_first_rule_that_fits_decides(void **state)
{
	static const char text[] = "default kill\n"
				   "c: arg0 == 1 -> EACCES # a: b\n"
				   "c [x86_64]: arg0 in {1, 2} -> kill # a: b\n"
				   "c # a: b\n";
	const uint64_t one[SYSCALL_ARGS] = {1}, two[SYSCALL_ARGS] = {2};
	struct syscall_policy *p;
	struct err e = {0};

	(void)state;
	assert_int_equal(parse(text, &p, &e), 0);
	assert_int_equal(
	    syscall_policy_decide(p, "c", SYSCALL_ARCH_X86_64, one).errnum,
	    EACCES);
	assert_int_equal(
	    syscall_policy_decide(p, "c", SYSCALL_ARCH_X86_64, two).kind,
	    SYSCALL_KILL);
	assert_int_equal(
	    syscall_policy_decide(p, "c", SYSCALL_ARCH_AARCH64, two).kind,
	    SYSCALL_ALLOW);
	assert_int_equal(
	    syscall_policy_decide(p, "d", SYSCALL_ARCH_X86_64, one).kind,
	    SYSCALL_KILL);
	syscall_policy_free(p);
}

static void
a_later_text_comes_behind_and_keeps_the_default(void **state)
{
	const uint64_t args[SYSCALL_ARGS] = {0};
	struct syscall_policy *p;
	struct err e = {0};

	(void)state;
	assert_int_equal(parse("default EPERM\nc # a: b\n", &p, &e), 0);
	assert_int_equal(
	    syscall_text_parse(bytes_of("default kill\nc -> kill # a: b\n"), p,
		&e),
	    0);
	assert_int_equal(p->fallback.errnum, EPERM);
	assert_int_equal(
	    syscall_policy_decide(p, "c", SYSCALL_ARCH_X86_64, args).kind,
	    SYSCALL_ALLOW);
	syscall_policy_free(p);
}

static void
descriptor_names_are_those_of_role_h(void **state)
{
	static const struct {
		const char *name;
		uint64_t fd;
	} rows[] = {
	    {"$log", ROLE_FD_LOG},
	    {"$supervisor", ROLE_FD_SUPERVISOR},
	    {"$exec", ROLE_FD_EXEC},
	    {"$listener", ROLE_FD_LISTENER},
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_true(syscall_constant(bytes_of(rows[i].name), &value));
		assert_int_equal(value, rows[i].fd);
	}
}

static void
errno_names_go_both_ways(void **state)
{
	int errnum;

	(void)state;
	assert_true(syscall_errno(bytes_of("ENOSYS"), &errnum));
	assert_int_equal(errnum, ENOSYS);
	assert_string_equal(syscall_errno_name(ENOSYS), "ENOSYS");
	assert_string_equal(syscall_errno_name(9999), "?");
	assert_false(syscall_errno(bytes_of("ENOSY"), &errnum));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parse_refuses_and_points_at_it),
	    cmocka_unit_test(parse_refuses_a_text_past_its_maximum),
	    cmocka_unit_test(parse_refuses_more_than_its_tables_hold),
	    cmocka_unit_test(a_rule_is_read_whole),
	    cmocka_unit_test(tests_mean_what_they_say),
	    cmocka_unit_test(the_first_rule_that_fits_decides),
	    cmocka_unit_test(a_later_text_comes_behind_and_keeps_the_default),
	    cmocka_unit_test(descriptor_names_are_those_of_role_h),
	    cmocka_unit_test(errno_names_go_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
