#include "privsep/role.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
every_role_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = ROLE_SUPERVISOR; i <= ROLE_ANY; i++) {
		assert_non_null(role_name((enum role)i));
		for (int k = ROLE_SUPERVISOR; k < i; k++)
			assert_string_not_equal(role_name((enum role)i),
			    role_name((enum role)k));
	}
}

static void
every_stage_has_words(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < STAGE_COUNT; i++)
		assert_true(strlen(stage_words(i)) > 1);
	assert_string_equal(stage_words(STAGE_COUNT), "?");
	assert_string_equal(stage_words(UINT32_MAX), "?");
}

static void
hints_say_what_the_bound_is(void **state)
{
	static const struct {
		enum stage stage;
		unsigned int errnum;
		const char *want; /* in it; NULL: there is none */
	} rows[] = {
	    {STAGE_GLOBS, E2BIG, "200000 files"},
	    {STAGE_GLOBS, ETIMEDOUT, "3000 ms, and 2048 mounts made"},
	    {STAGE_GLOBS, ESTALE, "try again"},
	    {STAGE_VIEW, E2BIG, "1024 mounts"},
	    {STAGE_GLOBS, EACCES, NULL},
	    {STAGE_VIEW, ETIMEDOUT, NULL},
	    {STAGE_EXEC, E2BIG, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char hint[STAGE_HINT_MAX];

		stage_hint(rows[i].stage, rows[i].errnum, hint);
		if (rows[i].want == NULL)
			assert_string_equal(hint, "");
		else
			assert_non_null(strstr(hint, rows[i].want));
		assert_true(strlen(hint) < sizeof hint - 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_role_has_a_name_of_its_own),
	    cmocka_unit_test(every_stage_has_words),
	    cmocka_unit_test(hints_say_what_the_bound_is),
	};

	return cmocka_run_group_tests_name("role", tests, NULL, NULL);
}
