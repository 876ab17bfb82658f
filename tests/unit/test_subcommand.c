#include "base/subcommand.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static int
run(int argc, char **argv)
{
	(void)argv;
	return argc;
}

static const struct subcommand rows[] = {
    {"one", run, "the first"},
    {"hidden", run, NULL},
};

static void
a_name_is_found_as_a_whole(void **state)
{
	(void)state;
	assert_ptr_equal(subcommand_find(rows, COUNT(rows), "one"), &rows[0]);
	assert_ptr_equal(subcommand_find(rows, COUNT(rows), "hidden"),
	    &rows[1]);
	assert_null(subcommand_find(rows, COUNT(rows), ""));
	assert_null(subcommand_find(rows, COUNT(rows), "on"));
	assert_null(subcommand_find(rows, COUNT(rows), "ones"));
	assert_null(subcommand_find(rows, 0, "one"));
}

static void
only_rows_with_help_are_listed(void **state)
{
	char text[64] = "";
	FILE *out = fmemopen(text, sizeof text, "w");

	(void)state;
	assert_non_null(out);
	subcommand_list(rows, COUNT(rows), out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "  one      the first\n");
}

/* In a child: the exit status tells whether the next file gets number 3. */
static int
next_without(int fd)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)close(3);
		if (fd >= 0)
			(void)close(fd);
		_exit(subcommand_open_standard() != 0 ||
		      open("/dev/null", O_RDONLY | O_CLOEXEC) != 3);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
closed_standard_descriptors_are_opened(void **state)
{
	(void)state;
	for (int fd = -1; fd <= STDERR_FILENO; fd++)
		assert_int_equal(next_without(fd), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_name_is_found_as_a_whole),
	    cmocka_unit_test(only_rows_with_help_are_listed),
	    cmocka_unit_test(closed_standard_descriptors_are_opened),
	};

	return cmocka_run_group_tests_name("subcommand", tests, NULL, NULL);
}
