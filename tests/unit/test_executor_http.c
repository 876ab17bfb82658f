/* What sallyport-http has to say of itself before it is handed to net. */
#include "exec/executor_http.h"

#include <linux/seccomp.h>

#include "tests/unit/unit.h"

/* That it was told to become. */
#define UID  70u
#define GID  71u
#define MODE SECCOMP_MODE_FILTER

static const struct {
	uid_t told; /* 0: nothing, as a user started it */
	uint64_t caps;
	uint32_t uid, gid, no_new_privs, seccomp, dumpable;
	bool good;
} cases[] = {
    {UID, 0, UID, GID, 1, MODE, 0, true},
    {0, 0, 1000, 1000, 1, MODE, 0, true},
    {UID, 1, UID, GID, 1, MODE, 0, false},
    {UID, UINT64_C(1) << 40, UID, GID, 1, MODE, 0, false},
    {UID, 0, UID, GID, 0, MODE, 0, false},
    {UID, 0, UID, GID, 1, SECCOMP_MODE_DISABLED, 0, false},
    {UID, 0, UID, GID, 1, SECCOMP_MODE_STRICT, 0, false},
    {UID, 0, UID, GID, 1, MODE, 1, false},
    {UID, 0, UID + 1, GID, 1, MODE, 0, false},
    {UID, 0, UID, GID + 1, 1, MODE, 0, false},
    {UID, 0, 0, 0, 1, MODE, 0, false},
    {0, 0, 0, 0, 1, MODE, 0, false},
};

static void
one_that_kept_something_is_not_handed_over(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct http h = {.uid = cases[i].told,
		    .gid = cases[i].told == 0 ? 0 : GID};
		const struct msg_http_ready m = {.uid = cases[i].uid,
		    .gid = cases[i].gid,
		    .caps = cases[i].caps,
		    .no_new_privs = cases[i].no_new_privs,
		    .seccomp = cases[i].seccomp,
		    .dumpable = cases[i].dumpable};

		if (http_is_locked_down(&h, &m) != cases[i].good)
			fail_msg("row %zu", i);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_that_kept_something_is_not_handed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
