#include "supervisor/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define DEPTH 300

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(everything_goes_and_no_link_is_followed),
	};

	return cmocka_run_group_tests_name("scratch", tests, NULL, NULL);
}
