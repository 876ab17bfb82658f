#include "supervisor/policy_diff.h"

#include <string.h>

#include "tests/unit/unit.h"

static void
policy_diff_knows_what_widens_every_key(void **state)
{
	(void)state;
	for (int key = 0; key < CONFIG_KEYS; key++)
		if (!policy_diff_knows(key))
			fail_msg("key number %d", key);
}

/* A limit that may be 0 means one of two things; whoever adds one decides. */
static void
policy_diff_knows_what_0_is_for_a_limit(void **state)
{
	static const struct {
		const char *key;
		bool none; /* 0: as much as one likes */
	} rows[] = {
	    {"session_retention", false},
	    {"detached_sessions_max", false},
	    {"child_file_size", true},
	    {"child_memory", true},
	    {"child_cpu_time", true},
	    {"child_wall_time", true},
	    {"child_memory_total", true},
	    {"child_cpu_time_total", true},
	    {"child_processes_total", true},
	    {"session_memory_total", true},
	    {"session_processes_total", true},
	    {"session_cpu_percent", true},
	};

	(void)state;
	for (unsigned int i = 0; i < LIMIT_ROWS; i++) {
		size_t row = 0;

		if (limit_rows[i].min > 0)
			continue;
		while (row < COUNT(rows) &&
		       strcmp(rows[row].key, limit_rows[i].key) != 0)
			row++;
		if (row == COUNT(rows))
			fail_msg("%s: is 0 no limit, or nothing at all?",
			    limit_rows[i].key);
		assert_true(
		    (policy_diff_limit(i, 0) == UINT64_MAX) == rows[row].none);
		assert_true(policy_diff_limit(i, 1) == 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(policy_diff_knows_what_widens_every_key),
	    cmocka_unit_test(policy_diff_knows_what_0_is_for_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
