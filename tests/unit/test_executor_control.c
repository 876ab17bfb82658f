/* What of exec's leases a net may mean. */
#include <errno.h>

#include "exec/backend_job.h"
#include "exec/executor.h"
#include "tests/unit/unit.h"

/* Leases of the generations and sessions below; number 6 has ended. */
static const struct {
	uint32_t id, generation, session;
	enum lease_state state;
	bool command;
} leases[] = {
    {1, 1, 1, LEASE_RUNNING, false},
    {2, 1, 2, LEASE_RUNNING, false},
    {3, 2, 1, LEASE_RUNNING, false},
    {4, 1, 1, LEASE_STARTING, false},
    {5, 1, 1, LEASE_FAILED, false},
    {7, 1, 1, LEASE_RUNNING, true},
};
#define LAST 7

static const struct {
	uint32_t session, id;
	bool found;
	int r;
} asked[] = {
    {1, 1, true, 0},
    {2, 2, true, 0},
    {1, 6, false, 0},
    {2, 6, false, 0},
    {2, 1, false, -EPROTO}, /* another session's */
    {1, 2, false, -EPROTO},
    {1, 3, false, -EPROTO}, /* another net's */
    {1, 4, false, -EPROTO}, /* of which net has not heard yet */
    {1, 5, false, -EPROTO},
    {1, 7, false, -EPROTO}, /* a backend's, of which it never will */
    {1, 0, false, -EPROTO}, /* none at all */
    {1, LAST + 1, false, -EPROTO},
    {1, UINT32_MAX, false, -EPROTO},
};

static void
a_net_reaches_the_leases_of_its_own_sessions_alone(void **state)
{
	struct executor x = {.last_lease = LAST};
	struct peer p = {.generation = {1}};
	struct lease all[COUNT(leases)] = {0};
	struct job job = {0};

	(void)state;
	LIST_INIT(&x.leases);
	for (size_t i = 0; i < COUNT(leases); i++) {
		all[i].id.v = leases[i].id;
		all[i].generation.v = leases[i].generation;
		all[i].session.v = leases[i].session;
		all[i].state = leases[i].state;
		if (leases[i].command)
			all[i].command_of = &job;
		LIST_INSERT_HEAD(&x.leases, &all[i], link);
	}
	for (size_t i = 0; i < COUNT(asked); i++) {
		int r;
		const struct lease *l =
		    executor_lease(&x, &p, asked[i].session, asked[i].id, &r);

		if (r != asked[i].r || (l != NULL) != asked[i].found ||
		    (l != NULL && l->id.v != asked[i].id))
			fail_msg("row %zu: %d", i, r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		a_net_reaches_the_leases_of_its_own_sessions_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
