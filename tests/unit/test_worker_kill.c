/*
 * An atomic write that is killed at each of its system calls, before and after
 * it: ptrace stops the worker there.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/worker.h"

/* More stops than any write makes. */
#define STOPS_MAX 400

static void
wait_for_stop(const struct rig *rig)
{
	int status;

	assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
	assert_true(WIFSTOPPED(status));
}

static void
resume_to_syscall(const struct rig *rig)
{
	assert_int_equal(ptrace(PTRACE_SYSCALL, rig->pid, NULL, NULL), 0);
	wait_for_stop(rig);
}

/*
 * Let a new worker write and kill it at its stop-th stop. Returns false if it
 * has answered before.
 */
static bool
kill_at(struct rig *rig, unsigned int stop, const char *text)
{
	bool killed = true;
	int status;

	rig_start(rig);
	assert_int_equal(ptrace(PTRACE_SEIZE, rig->pid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, rig->pid, NULL, NULL), 0);
	wait_for_stop(rig);
	rig_write_file(rig, "f", text, true);
	for (unsigned int i = 0; i < stop && killed; i++) {
		resume_to_syscall(rig);
		killed = !rig_is_readable(rig, 0);
	}
	(void)kill(rig->pid, SIGKILL);
	channel_free(rig->net);
	assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
	rig->pid = 0;
	return killed;
}

/* A write that is let be. */
static void
write_whole(struct rig *rig, const char *text)
{
	rig_start(rig);
	rig_write_file(rig, "f", text, true);
	rig_done(rig);
	assert_int_equal(rig_stop(rig), 0);
	assert_string_equal(file_get("f"), text);
}

/* Kill a replacing write at each stop. */
static void
kill_at_each(struct rig *rig)
{
	unsigned int left = 0, stop = 1;

	assert_int_equal(rig_stop(rig), 0);
	file_put("f", "old");
	for (; kill_at(rig, stop, "new"); stop++) {
		const char *text = file_get("f");
		unsigned int count = entries_in(".");

		assert_in_range(stop, 1, STOPS_MAX);
		assert_true(
		    strcmp(text, "old") == 0 || strcmp(text, "new") == 0);
		assert_in_range(count, 1, 2);
		left += count - 1;
		/* What a kill has left goes with the next write. */
		write_whole(rig, "old");
		assert_int_equal(entries_in("."), 1);
	}
	print_message("# %u stops, a file beside left at %u\n", stop, left);
	assert_in_range(stop, 10, STOPS_MAX);
}

static void
a_killed_write_leaves_the_old_or_the_new(void **state)
{
	kill_at_each(*state);
}

static void
the_same_holds_without_nameless_files(void **state)
{
	struct rig *rig = *state;

	rig->without_nameless = true;
	kill_at_each(rig);
}

static void
a_killed_first_write_leaves_nothing_or_all(void **state)
{
	struct rig *rig = *state;
	unsigned int stop = 1;

	assert_int_equal(rig_stop(rig), 0);
	for (; kill_at(rig, stop, "new"); stop++) {
		assert_in_range(stop, 1, STOPS_MAX);
		if (access("f", F_OK) == 0) {
			assert_string_equal(file_get("f"), "new");
			assert_int_equal(entries_in("."), 1);
			assert_int_equal(unlink("f"), 0);
		}
		assert_in_range(entries_in("."), 0, 1);
	}
	write_whole(rig, "new");
	assert_int_equal(entries_in("."), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(a_killed_write_leaves_the_old_or_the_new),
	    WORKER_TEST(the_same_holds_without_nameless_files),
	    WORKER_TEST(a_killed_first_write_leaves_nothing_or_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
