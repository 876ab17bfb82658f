#include "supervisor/audit_rate.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/unit/unit.h"

static struct audit_rate *
rate_new(uint64_t per_second, uint64_t burst)
{
	struct audit_rate *l = calloc(1, sizeof *l);

	assert_non_null(l);
	l->per_second = per_second;
	l->burst = burst;
	return l;
}

/* How many of n lines are let through. */
static unsigned int
take(struct audit_rate *l, enum role role, const char *session, unsigned int n,
    uint64_t now_ms)
{
	unsigned int count = 0;
	uint64_t dropped;

	while (n-- > 0)
		count += audit_rate_take(l, role, bytes_of(session), now_ms,
		    &dropped);
	return count;
}

static void
rate_lets_the_burst_through_and_not_one_more(void **state)
{
	scoped_free struct audit_rate *l = rate_new(10, 5);
	uint64_t dropped = 7;

	(void)state;
	assert_int_equal(take(l, ROLE_EXEC, "1", 5, 1000), 5);
	assert_int_equal(take(l, ROLE_EXEC, "1", 3, 1000), 0);
	assert_int_equal(take(l, ROLE_EXEC, "1", 1, 1099), 0);
	assert_true(
	    audit_rate_take(l, ROLE_EXEC, bytes_of("1"), 1100, &dropped));
	assert_int_equal(dropped, 4);
	assert_int_equal(take(l, ROLE_EXEC, "1", 1, 1100), 0);
	/* Idle time gives the burst back and no more. */
	assert_int_equal(take(l, ROLE_EXEC, "1", 9, 3600000), 5);
	assert_int_equal(audit_rate_forget(l), 4);
	assert_int_equal(audit_rate_forget(l), 0);
}

static void
rate_of_one_session_or_role_is_not_that_of_another(void **state)
{
	scoped_free struct audit_rate *l = rate_new(10, 5);

	(void)state;
	assert_int_equal(take(l, ROLE_NET, "1", 9, 1000), 5);
	assert_int_equal(take(l, ROLE_NET, "2", 9, 1000), 5);
	assert_int_equal(take(l, ROLE_EXEC, "1", 9, 1000), 5);
}

/* A role that was taken over may name any session. */
static void
rate_of_all_sessions_is_bounded(void **state)
{
	scoped_free struct audit_rate *l = rate_new(10, 5);
	unsigned int count = 0;
	char session[16];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(session, sizeof session, "%d", i);
		count += take(l, ROLE_NET, session, 5, 1000);
	}
	assert_int_equal(count, 5 * AUDIT_ROLE_FACTOR);
}

static void
rate_zero_is_no_limit(void **state)
{
	scoped_free struct audit_rate *l = rate_new(0, 1);

	(void)state;
	assert_int_equal(take(l, ROLE_NET, "", 10000, 1), 10000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rate_lets_the_burst_through_and_not_one_more),
	    cmocka_unit_test(
		rate_of_one_session_or_role_is_not_that_of_another),
	    cmocka_unit_test(rate_of_all_sessions_is_bounded),
	    cmocka_unit_test(rate_zero_is_no_limit),
	};

	return cmocka_run_group_tests_name("audit_rate", tests, NULL, NULL);
}
