/* File systems that do not answer: what waits for them ends with exec, and
 * others do not wait for it. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox/exec_fixture.h"

static const struct driver_entry entries[] = {
    {.path = SANDBOX_ROOT, .access = SANDBOX_READ},
    {.path = SANDBOX_PROJECT_ROOTS, .access = SANDBOX_WRITE},
    {.path = SANDBOX_PROJECT_ROOTS,
	.access = SANDBOX_READ,
	.text = ".git",
	.skip_missing = true},
};

/* The workspace belongs to another user than exec, who has to take that
 * user's place to look into it. */
static int
begin_hanging(void **state, const struct hang *hang)
{
	struct driver_opts o;

	fixture_options(&o);
	if (geteuid() == 0)
		assert_int_equal(chown(fixture_workspace, DRIVER_USER,
				     DRIVER_USER),
		    0);
	o.hang = hang;
	o.limits.fs_deadline = 300;
	return fixture_begin_with(state, &o);
}

static int
begin_rmdir(void **state)
{
	return begin_hanging(state, &hang_rmdir);
}

static int
begin_make(void **state)
{
	return begin_hanging(state, &hang_make);
}

static int
begin_home(void **state)
{
	return begin_hanging(state, &hang_home);
}

static void
send_writing(struct fixture *f, const char *script)
{
	const struct driver_start s = {.argv = {"sh", "-c", script},
	    .cwd = fixture_workspace,
	    .sandbox = SANDBOX_RESTRICTED,
	    .entries = entries,
	    .entry_count = COUNT(entries)};

	driver_process_done(&f->p);
	driver_send_start(&f->d, 1, &s, &f->p);
}

/* Kill exec; what hangs has to go with it. */
static void
expect_end(struct fixture *f, int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, 0), 0);
	(void)kill(f->d.pid, SIGKILL);
	(void)waitpid(f->d.pid, NULL, 0);
	f->d.pid = 0;
	assert_int_equal(poll(&p, 1, DRIVER_DEADLINE_MS), 1);
	(void)close(pidfd);
}

/* What could not be removed is left to us. */
static int
end_hanging(void **state)
{
	char git[96];
	int r = fixture_end(state);

	(void)snprintf(git, sizeof git, "%s/.git", fixture_workspace);
	(void)rmdir(git);
	return r;
}

static void
a_removal_that_hangs_is_given_up(void **state)
{
	struct fixture *f = *state;
	char git[96];
	struct stat st;

	send_writing(f, "echo one");
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "one\n");
	(void)close(hang_wait(f->d.hung));
	send_writing(f, "echo two");
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "two\n");
	(void)snprintf(git, sizeof git, "%s/.git", fixture_workspace);
	assert_int_equal(stat(git, &st), 0);
}

static void
a_removal_that_hangs_ends_with_exec(void **state)
{
	struct fixture *f = *state;

	send_writing(f, "true");
	driver_wait_gone(&f->d, &f->p);
	expect_end(f, hang_wait(f->d.hung));
}

static void
an_init_that_hangs_ends_with_exec(void **state)
{
	struct fixture *f = *state;

	send_writing(f, "true");
	expect_end(f, hang_wait(f->d.hung));
}

static void
a_helper_that_hangs_ends_with_exec(void **state)
{
	struct fixture *f = *state;

	expect_end(f, hang_wait(f->d.hung));
}

#define HANGING(name, begin)                                                   \
	cmocka_unit_test_setup_teardown(name, begin, end_hanging)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    HANGING(a_removal_that_hangs_is_given_up, begin_rmdir),
	    HANGING(a_removal_that_hangs_ends_with_exec, begin_rmdir),
	    HANGING(an_init_that_hangs_ends_with_exec, begin_make),
	    HANGING(a_helper_that_hangs_ends_with_exec, begin_home),
	};

	return fixture_main(argc, argv, tests);
}
