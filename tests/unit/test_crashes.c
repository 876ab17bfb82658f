#include "supervisor/crashes.h"

#include "tests/unit/unit.h"

static void
crashes_note_waits_longer_each_time(void **state)
{
	struct crashes c = {0};
	uint64_t delay = 0, now = 1000000, want = CRASH_DELAY_MS;

	(void)state;
	for (int i = 0; i < CRASHES_MAX; i++) {
		assert_true(crashes_note(&c, now, &delay));
		assert_true(delay == want);
		now += 1000;
		want *= 2;
	}
	assert_false(crashes_note(&c, now, &delay));
}

static void
crashes_note_forgets_after_the_window(void **state)
{
	struct crashes c = {0};
	uint64_t delay;

	(void)state;
	for (uint64_t now = 5; now < 100 * CRASHES_WINDOW_MS;
	     now += CRASHES_WINDOW_MS / CRASHES_MAX + 1)
		assert_true(crashes_note(&c, now, &delay));
	for (uint64_t i = 0; i < CRASHES_MAX; i++)
		(void)!crashes_note(&c, UINT64_C(1) << 40 | i * 1000, &delay);
	assert_false(crashes_note(&c, (UINT64_C(1) << 40) + 30000, &delay));
	assert_true(crashes_note(&c,
	    (UINT64_C(1) << 40) + 2 * CRASHES_WINDOW_MS, &delay));
	assert_true(delay == CRASH_DELAY_MS);
}

static void
crashes_note_counts_both_roles_of_one_crash_once(void **state)
{
	struct crashes c = {0};
	uint64_t delay = 0;

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_true(crashes_note(&c, 1000, &delay));
	assert_true(delay == CRASH_DELAY_MS);
	assert_int_equal(c.count, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(crashes_note_waits_longer_each_time),
	    cmocka_unit_test(crashes_note_forgets_after_the_window),
	    cmocka_unit_test(crashes_note_counts_both_roles_of_one_crash_once),
	};

	return cmocka_run_group_tests_name("crashes", tests, NULL, NULL);
}
