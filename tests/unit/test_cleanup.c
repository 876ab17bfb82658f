#include "base/cleanup.h"

#include <fcntl.h>

#include "tests/unit/unit.h"

static int
open_null(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Opens one descriptor and gives it away or not. */
static int
maybe_take(int take)
{
	scoped_fd fd = open_null();

	return take ? fd_take(&fd) : -1;
}

static void
scoped_fd_closes_what_was_not_taken(void **state)
{
	unsigned int before = fds_open();
	int fd;

	(void)state;
	assert_int_equal(maybe_take(0), -1);
	assert_int_equal(fds_open(), before);
	fd = maybe_take(1);
	assert_true(fd >= 0 && fcntl(fd, F_GETFD) >= 0);
	fd_close(&fd);
	assert_int_equal(fd, -1);
	fd_close(&fd);
	assert_int_equal(fds_open(), before);
}

static void
scoped_free_frees(void **state)
{
	scoped_free char *text = malloc(16);
	scoped_free char *none = NULL;

	(void)state;
	assert_non_null(text);
	assert_null(none);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(scoped_fd_closes_what_was_not_taken),
	    cmocka_unit_test(scoped_free_frees),
	};

	return cmocka_run_group_tests_name("cleanup", tests, NULL, NULL);
}
