/* What the tests of sallyport-exec share: one exec a test, one workspace. */
#ifndef TESTS_SANDBOX_EXEC_FIXTURE_H
#define TESTS_SANDBOX_EXEC_FIXTURE_H

#include "tests/sandbox/exec_driver.h"
#include "tests/unit/unit.h"

struct fixture {
	struct driver d;
	struct driver_process p;
};

/* Who exec runs as, and its workspace, which belongs to that user. */
extern uid_t fixture_uid;
extern char fixture_workspace[64];

/*
 * A directory of this run alone that the view does not cover, unlike /tmp, made
 * and removed by these two; root alone can make it. No other run of any suite
 * is disturbed.
 */
extern char fixture_place[64];
void fixture_place_make(void);
void fixture_place_remove(void);
#define FIXTURE_PATH_MAX 128
/* The path of name, "/..." below it or "" for itself. */
const char *fixture_at(char path[FIXTURE_PATH_MAX], const char *name);
/* mkdir, chmod and chown; one that is there is taken. */
void fixture_dir(const char *path, mode_t mode, uid_t owner);

/*
 * Run tests. With the argument "user" exec runs as a plain user, else as
 * whoever we are. Returns what main returns.
 */
#define fixture_main(argc, argv, tests)                                        \
	fixture_run(argc, argv, tests, COUNT(tests))
int fixture_run(int argc, char **argv, const struct CMUnitTest *tests,
    size_t count);

/* Options that a test may change before fixture_begin_with. */
void fixture_options(struct driver_opts *o);
/* Set-up and tear-down: exec runs, session 1 is open. */
int fixture_begin(void **state);
int fixture_begin_with(void **state, const struct driver_opts *o);
int fixture_end(void **state);
#define FIXTURE(name)                                                          \
	cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
#define FIXTURE_WITH(name, begin)                                              \
	cmocka_unit_test_setup_teardown(name, begin, fixture_end)

/* Start s in session 1 and wait for the answer. */
void fixture_start(struct fixture *f, const struct driver_start *s);
/* Until every writer of its output is dead. */
void fixture_wait_dead(struct fixture *f);

#define SH(script)                                                             \
	{                                                                      \
		"sh", "-c", script                                             \
	}

/* A tree that can only be killed; it says "deep" when it stands. */
#define STUBBORN                                                               \
	"trap '' TERM INT HUP; "                                               \
	"(setsid sh -c 'trap \"\" TERM INT HUP; echo deep; sleep 1000' &) & "

#endif
