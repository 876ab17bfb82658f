#include "base/num.h"

#include <errno.h>

#include "tests/unit/unit.h"

static void
num_parse_takes_numbers_in_range(void **state)
{
	static const struct {
		const char *text;
		uint64_t min, max, want;
	} rows[] = {
	    {"0", 0, 0, 0},
	    {"1", 0, 1, 1},
	    {"007", 0, 9, 7},
	    {"65535", 1, 65535, 65535},
	    {"18446744073709551615", 0, UINT64_MAX, UINT64_MAX},
	    {"00000000000000000000000000000001", 1, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t got = 99;

		assert_int_equal(num_parse_u64(rows[i].text, rows[i].min,
				     rows[i].max, &got),
		    0);
		assert_true(got == rows[i].want);
	}
}

static void
num_parse_refuses_and_writes_nothing(void **state)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		int want;
	} rows[] = {
	    {"", 0, 9, -EINVAL},
	    {"+1", 0, 9, -EINVAL},
	    {"-1", 0, 9, -EINVAL},
	    {" 1", 0, 9, -EINVAL},
	    {"1 ", 0, 9, -EINVAL},
	    {"1\n", 0, 9, -EINVAL},
	    {"0x1", 0, 9, -EINVAL},
	    {"1.0", 0, 9, -EINVAL},
	    {"1e3", 0, 9, -EINVAL},
	    {"\xd9\xa1", 0, 9, -EINVAL},
	    {"0", 1, 9, -ERANGE},
	    {"10", 1, 9, -ERANGE},
	    {"18446744073709551616", 0, UINT64_MAX, -ERANGE},
	    {"99999999999999999999999", 0, UINT64_MAX, -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t got = 99;

		assert_int_equal(num_parse_u64(rows[i].text, rows[i].min,
				     rows[i].max, &got),
		    rows[i].want);
		assert_true(got == 99);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(num_parse_takes_numbers_in_range),
	    cmocka_unit_test(num_parse_refuses_and_writes_nothing),
	};

	return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
