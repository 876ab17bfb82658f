#include "base/limits.h"

#include <ctype.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
limits_init_gives_the_defaults(void **state)
{
	struct limits l;

	(void)state;
	limits_init(&l);
	for (unsigned int i = 0; i < LIMIT_ROWS; i++)
		assert_true(limits_get(&l, i) == limit_rows[i].def);
	assert_true(l.session_retention == 30000);
	assert_true(l.process_retention == 60000);
	assert_true(l.connections_max == 2048);
}

static void
limits_set_reaches_one_member(void **state)
{
	struct limits l, before;

	(void)state;
	limits_init(&l);
	before = l;
	for (unsigned int i = 0; i < LIMIT_ROWS; i++) {
		limits_set(&l, i, limit_rows[i].def + 1);
		for (unsigned int k = 0; k < LIMIT_ROWS; k++)
			assert_true(
			    limits_get(&l, k) == limit_rows[k].def + (k == i));
		l = before;
	}
}

static void
limit_rows_are_sound(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < LIMIT_ROWS; i++) {
		const struct limit_row *row = &limit_rows[i];

		assert_true(row->min <= row->def && row->def <= row->max);
		assert_true(strlen(row->reason) > 10);
		for (const char *c = row->key; *c != '\0'; c++)
			assert_true(islower((unsigned char)*c) || *c == '_');
		for (unsigned int k = 0; k < i; k++)
			assert_string_not_equal(row->key, limit_rows[k].key);
	}
}

static void
timers_can_be_shortened_to_a_millisecond(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < LIMIT_ROWS; i++)
		if (limit_rows[i].unit == LIMIT_MS)
			assert_true(limit_rows[i].min <= 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(limits_init_gives_the_defaults),
	    cmocka_unit_test(limits_set_reaches_one_member),
	    cmocka_unit_test(limit_rows_are_sound),
	    cmocka_unit_test(timers_can_be_shortened_to_a_millisecond),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
