#include "cli/attach_app.h"

#include "tests/unit/unit.h"

static void
version_is_compared_by_numbers(void **state)
{
	static const struct {
		const char *agent;
		bool wanted;
	} rows[] = {
	    {"sallyport-attach/1.20.3 (Debian 12.0.0; x86_64)", true},
	    {"x/1.20.3", true},
	    {"x/1.20.4", true},
	    {"x/1.21.0", true},
	    {"x/1.100.0", true},
	    {"x/2.0.0", true},
	    {"x/1.20.4-alpha.1", true},
	    {"x/1.20.3+build", true},
	    {"x/999999.0.0", true},
	    {"x/1.20.2", false},
	    {"x/1.19.9", false},
	    {"x/0.99.99", false},
	    {"x/1.3.4", false},
	    {"x/1.20.3-alpha.1", false},
	    {"x/1.20", false},
	    {"x/1.20.", false},
	    {"x/1..3", false},
	    {"x/", false},
	    {"x", false},
	    {"", false},
	    {"x/v2.0.0", false},
	    {"x/-2.0.0", false},
	    {"x/ 2.0.0", false},
	    {"x/9999999.0.0", false},
	    {"x/4294967297.0.0", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (attach_app_is_version(rows[i].agent, "1.20.3") !=
		    rows[i].wanted)
			fail_msg("%s", rows[i].agent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(version_is_compared_by_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
