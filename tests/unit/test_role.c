#include "privsep/role.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_role_has_a_name_of_its_own),
	    cmocka_unit_test(every_stage_has_words),
	};

	return cmocka_run_group_tests_name("role", tests, NULL, NULL);
}
