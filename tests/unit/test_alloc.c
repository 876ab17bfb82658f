#include "base/alloc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static void
memory_is_given_as_asked(void **state)
{
	char *p = alloc_or_end(1000);

	(void)state;
	memset(p, 1, 1000);
	free(p);
}

static void
without_memory_the_process_ends(void **state)
{
	const struct rlimit none = {0};
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)setrlimit(RLIMIT_CORE, &none);
		alloc_fail_at(1);
		free(alloc_or_end(1000));
		_exit(0);
	}
	assert_return_code(pid, errno);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(memory_is_given_as_asked),
	    cmocka_unit_test(without_memory_the_process_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
