#include "supervisor/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define DEPTH 300
/* A user without processes. */
#define OTHER 54321

static void
make_file(int dir, const char *name)
{
	scoped_fd fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0);

	assert_true(fd >= 0);
}

/* A chain of directories, a file in each. */
static void
make_chain(int top)
{
	int at = dup(top);

	for (int i = 0; i < DEPTH; i++) {
		int next;

		make_file(at, "file");
		assert_int_equal(mkdirat(at, "deep", 0700), 0);
		next = openat(at, "deep", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	(void)close(at);
}

static void
everything_goes_and_no_link_is_followed(void **state)
{
	char outside[] = "/tmp/test-scratch-XXXXXX";
	char inside[] = "/tmp/test-scratch-XXXXXX";
	struct stat st;
	scoped_fd top = -1, out = -1;

	(void)state;
	assert_non_null(mkdtemp(outside));
	assert_non_null(mkdtemp(inside));
	out = open(outside, O_RDONLY | O_DIRECTORY);
	top = open(inside, O_RDONLY | O_DIRECTORY);
	make_file(out, "kept");
	make_chain(top);
	assert_int_equal(symlinkat(outside, top, "link"), 0);
	/* A name that what comes up may be given. */
	assert_int_equal(mkdirat(top, "0", 0700), 0);
	assert_int_equal(symlinkat(outside, top, "0/link"), 0);
	assert_int_equal(mkdirat(top, "shut", 0700), 0);
	assert_int_equal(mkdirat(top, "shut/more", 0700), 0);
	assert_int_equal(mkdirat(top, "shut/more/most", 0), 0);
	assert_int_equal(fchmodat(top, "shut/more", 0, 0), 0);
	assert_int_equal(fchmodat(top, "shut", 0, 0), 0);

	scratch_sweep(top);

	assert_int_equal(rmdir(inside), 0);
	assert_int_equal(fstatat(out, "kept", &st, 0), 0);
	assert_int_equal(unlinkat(out, "kept", 0), 0);
	assert_int_equal(rmdir(outside), 0);
}

/* As a user who may have two processes: this one, and the one in between that
 * start the sweeper. Returns what went wrong, 0: nothing. */
static int
make_without_room(void)
{
	const struct rlimit two = {2, 2};
	struct scratch s;
	struct err e = {0};

	if (setresgid(OTHER, OTHER, OTHER) < 0 ||
	    setresuid(OTHER, OTHER, OTHER) < 0 ||
	    setrlimit(RLIMIT_NPROC, &two) < 0)
		return 1;
	scratch_init(&s);
	if (scratch_make(&s, OTHER, OTHER, &e) != -EAGAIN)
		return 2;
	if (access(s.path, F_OK) == 0)
		return 3;
	scratch_done(&s);
	return 0;
}

static void
without_a_sweeper_nothing_is_made(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip_because("root only");
	pid = fork();
	if (pid == 0)
		_exit(make_without_room());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(everything_goes_and_no_link_is_followed),
	    cmocka_unit_test(without_a_sweeper_nothing_is_made),
	};

	return cmocka_run_group_tests_name("scratch", tests, NULL, NULL);
}
