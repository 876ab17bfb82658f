#include "base/checked.h"

#include <limits.h>

#include "tests/unit/unit.h"

static void
arithmetic_tells_of_overflow(void **state)
{
	size_t size = 1;
	uint32_t small = 1;

	(void)state;
	assert_false(ckd_add(&size, SIZE_MAX - 1, (size_t)1));
	assert_true(size == SIZE_MAX);
	assert_true(ckd_add(&size, SIZE_MAX, (size_t)1));
	assert_true(ckd_sub(&size, (size_t)0, (size_t)1));
	assert_true(ckd_mul(&size, SIZE_MAX / 2 + 1, (size_t)2));
	assert_false(ckd_mul(&size, SIZE_MAX / 2, (size_t)2));
	/* The result's type counts, not that of the operands. */
	assert_true(ckd_add(&small, UINT64_C(0xffffffff), UINT64_C(1)));
}

static void
narrow_u32_refuses_what_does_not_fit(void **state)
{
	uint32_t v = 0;

	(void)state;
	assert_false(narrow_u32(&v, 0));
	assert_false(narrow_u32(&v, UINT32_MAX));
	assert_true(v == UINT32_MAX);
	assert_true(narrow_u32(&v, UINT64_C(1) << 32));
	assert_true(narrow_u32(&v, UINT64_MAX));
}

static void
narrow_int_refuses_what_does_not_fit(void **state)
{
	int v = 0;

	(void)state;
	assert_false(narrow_int(&v, INT_MAX));
	assert_int_equal(v, INT_MAX);
	assert_false(narrow_int(&v, INT_MIN));
	assert_int_equal(v, INT_MIN);
	assert_true(narrow_int(&v, (int64_t)INT_MAX + 1));
	assert_true(narrow_int(&v, (int64_t)INT_MIN - 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arithmetic_tells_of_overflow),
	    cmocka_unit_test(narrow_u32_refuses_what_does_not_fit),
	    cmocka_unit_test(narrow_int_refuses_what_does_not_fit),
	};

	return cmocka_run_group_tests_name("checked", tests, NULL, NULL);
}
