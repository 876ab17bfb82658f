/* When a command is ended for the CPU time that its group has used. */
#include "exec/executor_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/unit.h"

#define TOTAL_MS 1000u
/* Looks that fail: one less is borne, as a group may be on its way out. */
#define MISSES	 5

/* A command in a group that is a directory; init listens at the far end. */
struct fixture {
	char path[32];
	struct exec_config config;
	struct session session, *sessions[1];
	struct lease lease;
	struct executor x;
	int init;
};

static void
fixture_make(struct fixture *f)
{
	int pair[2];

	*f = (struct fixture){.path = "/tmp/limits-XXXXXX"};
	assert_non_null(mkdtemp(f->path));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     pair),
	    0);
	f->init = pair[1];
	f->config.limits.child_cpu_time_total = TOTAL_MS;
	f->session.config = &f->config;
	f->sessions[0] = &f->session;
	f->x.sessions = f->sessions;
	cgroup_init(&f->lease.group);
	f->lease.group.dir[CGROUP_V2] =
	    open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->lease.group.dir[CGROUP_V2] >= 0);
	f->lease.state = LEASE_RUNNING;
	f->lease.bare = true;
	f->lease.control = (struct source){.fd = pair[0]};
	f->lease.cpu_check_ms = 1;
	LIST_INIT(&f->x.leases);
	LIST_INSERT_HEAD(&f->x.leases, &f->lease, link);
}

static void
fixture_remove(struct fixture *f)
{
	int dir = f->lease.group.dir[CGROUP_V2];

	(void)unlinkat(dir, "cpu.stat", 0);
	(void)close(dir);
	(void)close(f->lease.control.fd);
	(void)close(f->init);
	assert_int_equal(rmdir(f->path), 0);
}

static void
put(const struct fixture *f, const char *text)
{
	scoped_fd fd = openat(f->lease.group.dir[CGROUP_V2], "cpu.stat",
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* One look, when it is due; then the next is due later, or never. */
static void
look(struct fixture *f)
{
	int64_t now = f->lease.cpu_check_ms;
	int64_t due = executor_limits_deadlines(&f->x, now);

	assert_true(due == -1 || due > now);
	assert_int_equal(due, f->lease.killed ? -1 : f->lease.cpu_check_ms);
}

static bool
init_is_told(const struct fixture *f)
{
	char byte;

	return recv(f->init, &byte, 1, MSG_DONTWAIT) == 0;
}

static void
a_command_whose_cpu_time_cannot_be_read_is_ended(void **state)
{
	struct fixture f;

	(void)state;
	fixture_make(&f);
	for (int i = 1; i < MISSES; i++)
		look(&f);
	assert_false(f.lease.killed);
	assert_false(init_is_told(&f));
	look(&f);
	assert_true(f.lease.killed);
	assert_true(init_is_told(&f));
	assert_int_equal(f.lease.limit, END_CPU_TOTAL);
	fixture_remove(&f);
}

/* A file without the number is no better than none; what can be read makes
 * good for what could not. */
static void
looks_that_fail_are_counted_in_a_row(void **state)
{
	struct fixture f;

	(void)state;
	fixture_make(&f);
	for (int round = 0; round < 2; round++) {
		put(&f, "user_usec 1\n");
		for (int i = 1; i < MISSES; i++)
			look(&f);
		put(&f, "usage_usec 999999\n");
		look(&f);
		assert_false(f.lease.killed);
	}
	put(&f, "usage_usec 1000000\n");
	look(&f);
	assert_true(f.lease.killed);
	assert_int_equal(f.lease.limit, END_CPU_TOTAL);
	fixture_remove(&f);
}

/* Why it ended stays what it was. */
static void
one_that_is_ended_already_keeps_its_reason(void **state)
{
	struct fixture f;

	(void)state;
	fixture_make(&f);
	f.lease.killed = true;
	f.lease.limit = END_WALL_TIME;
	put(&f, "usage_usec 1000000\n");
	look(&f);
	assert_int_equal(f.lease.limit, END_WALL_TIME);
	fixture_remove(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_command_whose_cpu_time_cannot_be_read_is_ended),
	    cmocka_unit_test(looks_that_fail_are_counted_in_a_row),
	    cmocka_unit_test(one_that_is_ended_already_keeps_its_reason),
	};

	return cmocka_run_group_tests_name("executor_limits", tests, NULL,
	    NULL);
}
