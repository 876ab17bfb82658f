#include "privsep/privdrop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "privsep/jail.h"
#include "privsep/lockdown.h"
#include "privsep/report.h"
#include "tests/unit/unit.h"

/*
 * Everything here is for good, so each case runs in a child and returns the
 * line that was wrong, or 0.
 */
#define WANT(condition)                                                        \
	do {                                                                   \
		if (!(condition))                                              \
			return __LINE__;                                       \
	} while (0)

struct result {
	int line;
};

/* Runs in the child; writes no memory of the parent. */
static void
run_in_child(int (*body)(void))
{
	struct result got = {.line = -1};
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct result r = {.line = body()};

		_exit(write(fds[1], &r, sizeof r) == sizeof r ? 0 : 1);
	}
	(void)close(fds[1]);
	(void)!read(fds[0], &got, sizeof got);
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (got.line != 0)
		fail_msg("line %d, status %#x", got.line, (unsigned int)status);
}

#define IN_CHILD(name)                                                         \
	static void name(void **state)                                         \
	{                                                                      \
		(void)state;                                                   \
		run_in_child(name##_body);                                     \
	}

static int
caps_are_dropped_to_what_is_kept_body(void)
{
	struct caps before, after;
	uint64_t keep;

	WANT(privdrop_caps_read(&before) == 0);
	keep = before.permitted & (CAP_BIT(CAP_KILL) | CAP_BIT(CAP_SETUID));
	WANT(privdrop_caps(keep, geteuid() == 0) == 0);
	WANT(privdrop_caps_read(&after) == 0);
	WANT(after.effective == keep && after.permitted == keep);
	WANT(after.inheritable == 0);
	WANT(geteuid() != 0 || after.bounding == keep);
	/* None comes back. */
	WANT(before.permitted == keep ||
	     privdrop_caps(before.permitted, false) == -EPERM);
	return 0;
}
IN_CHILD(caps_are_dropped_to_what_is_kept)

static int
ids_are_dropped_for_good_body(void)
{
	uid_t r, e, s;

	WANT(privdrop_ids(4321, 4322, true) == 0);
	WANT(getresuid(&r, &e, &s) == 0 && r == 4321 && e == 4321 && s == 4321);
	WANT(getgid() == 4322 && getegid() == 4322);
	WANT(getgroups(0, NULL) == 0);
	WANT(setuid(0) < 0 && errno == EPERM);
	WANT(setgid(0) < 0 && errno == EPERM);
	WANT(privdrop_ids(0, 0, true) == -EPERM);
	return 0;
}

static void
ids_are_dropped_for_good(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip_because("needs root");
	run_in_child(ids_are_dropped_for_good_body);
}

static int
another_id_is_refused_to_a_plain_user_body(void)
{
	WANT(geteuid() != 0 || privdrop_ids(4321, 4321, true) == 0);
	WANT(privdrop_ids(0, 0, false) == -EPERM);
	WANT(privdrop_ids(geteuid(), getegid(), false) == 0);
	return 0;
}
IN_CHILD(another_id_is_refused_to_a_plain_user)

static int
rlimits_are_hard_and_never_raised_body(void)
{
	struct rlimit l;

	WANT(privdrop_rlimit(RLIMIT_NOFILE, 64) == 0);
	WANT(getrlimit(RLIMIT_NOFILE, &l) == 0);
	WANT(l.rlim_cur == 64 && l.rlim_max == 64);
	WANT(privdrop_rlimit(RLIMIT_NOFILE, 128) == 0);
	WANT(getrlimit(RLIMIT_NOFILE, &l) == 0);
	WANT(l.rlim_cur == 64 && l.rlim_max == 64);
	WANT(privdrop_rlimit(RLIMIT_CORE, 0) == 0);
	WANT(getrlimit(RLIMIT_CORE, &l) == 0 && l.rlim_max == 0);
	WANT(privdrop_rlimit(9999, 0) == -EINVAL);
	return 0;
}
IN_CHILD(rlimits_are_hard_and_never_raised)

static int
flags_are_set_body(void)
{
	WANT(privdrop_no_new_privs() == 0);
	WANT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	WANT(privdrop_undumpable() == 0);
	WANT(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	return 0;
}
IN_CHILD(flags_are_set)

static int
landlock_leaves_nothing_to_open_body(void)
{
	int abi;

	WANT(privdrop_no_new_privs() == 0);
	abi = privdrop_landlock_nothing();
	WANT(abi >= 0);
	if (abi == 0)
		return 0; /* this kernel has none */
	WANT(open("/dev/null", O_RDONLY) < 0 && errno == EACCES);
	WANT(open("/", O_RDONLY | O_DIRECTORY) < 0 && errno == EACCES);
	WANT(open("/tmp", O_RDWR | O_TMPFILE, 0600) < 0);
	return 0;
}
IN_CHILD(landlock_leaves_nothing_to_open)

static int
descriptors_are_closed_from_the_first_body(void)
{
	int low = open("/dev/null", O_RDONLY), high;

	WANT(low >= 0);
	high = fcntl(low, F_DUPFD, 200);
	WANT(high >= 200);
	WANT(privdrop_close_from(200) == 0);
	WANT(fcntl(high, F_GETFD) < 0 && errno == EBADF);
	WANT(fcntl(low, F_GETFD) >= 0);
	return 0;
}
IN_CHILD(descriptors_are_closed_from_the_first)

/*
 * Whether a process that is stopped outlives the one that made it; setup is
 * what it did before, with its parent's pid.
 */
static bool
stopped_outlives_parent(int (*setup)(pid_t parent))
{
	pid_t parent, last = -1;
	int fds[2], status;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0) {
		pid_t self = getpid(), pid = fork();

		if (pid == 0)
			_exit(setup(self) < 0 || raise(SIGSTOP) != 0);
		if (waitpid(pid, &status, WUNTRACED) != pid ||
		    !WIFSTOPPED(status))
			_exit(1);
		_exit(write(fds[1], &pid, sizeof pid) != sizeof pid);
	}
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_int_equal(status, 0);
	assert_int_equal(read(fds[0], &last, sizeof last), sizeof last);
	(void)close(fds[0]);
	(void)close(fds[1]);
	/* The kernel has signalled it by now, or never will. */
	assert_int_equal(kill(last, SIGCONT), 0);
	assert_int_equal(waitpid(last, &status, 0), last);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
	assert_true(status == 0 || status == SIGKILL);
	return status == 0;
}

static int
say_nothing(pid_t parent)
{
	(void)parent;
	return 0;
}

static int
say_before_ids(pid_t parent)
{
	int r = privdrop_end_with_parent(parent);

	return r < 0 ? r : privdrop_ids(4321, 4321, true);
}

static int
say_after_ids(pid_t parent)
{
	int r = privdrop_ids(4321, 4321, true);

	return r < 0 ? r : privdrop_end_with_parent(parent);
}

static void
a_stopped_process_ends_with_its_parent(void **state)
{
	(void)state;
	assert_false(stopped_outlives_parent(privdrop_end_with_parent));
	assert_true(stopped_outlives_parent(say_nothing));
}

static void
a_change_of_ids_takes_that_back(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip_because("needs root");
	assert_true(stopped_outlives_parent(say_before_ids));
	assert_false(stopped_outlives_parent(say_after_ids));
}

static int
a_parent_that_has_ended_is_noticed_body(void)
{
	WANT(privdrop_end_with_parent(getppid()) == 0);
	/* As one that another process has taken the place of. */
	WANT(privdrop_end_with_parent(getpid()) == -ESRCH);
	return 0;
}
IN_CHILD(a_parent_that_has_ended_is_noticed)

static int
a_filter_binds_body(void)
{
	/* Everything but getppid is allowed, which fails with EXDEV. */
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog good = {.len = COUNT(code), .filter = code};
	const struct sock_fprog none = {.len = 0, .filter = code};
	struct msg_role_ready ready = {0};

	WANT(privdrop_no_new_privs() == 0);
	WANT(lockdown(&none) == -EINVAL);
	WANT(lockdown(&good) == 0);
	errno = 0;
	WANT(syscall(SYS_getppid) == -1 && errno == EXDEV);
	WANT(report_fill(&ready) == 0);
	WANT(ready.seccomp == SECCOMP_MODE_FILTER);
	return 0;
}
IN_CHILD(a_filter_binds)

static int
report_tells_what_the_kernel_says_body(void)
{
	struct msg_role_ready r = {.landlock_abi = 7, .namespaces = 9};
	struct caps caps;

	WANT(privdrop_caps(0, geteuid() == 0) == 0);
	WANT(privdrop_undumpable() == 0 && privdrop_no_new_privs() == 0);
	WANT(privdrop_caps_read(&caps) == 0);
	WANT(report_fill(&r) == 0);
	WANT(r.uid == geteuid() && r.gid == getegid());
	WANT(r.caps_effective == 0 && r.caps_permitted == 0);
	WANT(r.caps_bounding == caps.bounding);
	WANT(r.no_new_privs == 1 && r.dumpable == 0 && r.seccomp == 0);
	WANT(r.landlock_abi == 7 && r.namespaces == 9);
	return 0;
}
IN_CHILD(report_tells_what_the_kernel_says)

/* Exit status of a child that could not make the namespaces at all. */
#define NO_NAMESPACES 77

/* What it leaves in every case. */
#define JAIL_NS (ROLE_NS_MNT | ROLE_NS_NET | ROLE_NS_IPC | ROLE_NS_UTS)

static int
check_jail(void)
{
	struct namespaces before, after;
	struct err e = {0};
	int pair[2], r;

	WANT(namespaces_read(&before) == 0);
	WANT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	r = jail_enter(&after, &e);
	if (r == -EPERM || r == -ENOSPC)
		return NO_NAMESPACES;
	WANT(r == 0);
	/* Nothing can be read there, made or reached ... */
	WANT(open("/etc/passwd", O_RDONLY) < 0 && errno == ENOENT);
	WANT(open("/x", O_WRONLY | O_CREAT, 0600) < 0);
	WANT(access("/proc/self", F_OK) < 0);
	WANT((namespaces_differ(&before, &after) & JAIL_NS) == JAIL_NS);
	/* ... and what was open before still works. */
	WANT(write(pair[0], "x", 1) == 1);
	return 0;
}

static int
jail_is_empty_body(void)
{
	int r = check_jail();

	return r == NO_NAMESPACES ? 0 : r;
}
IN_CHILD(jail_is_empty)

static int
jail_of_a_plain_user_is_empty_body(void)
{
	int r;

	WANT(geteuid() != 0 || privdrop_ids(4321, 4321, true) == 0);
	/* /proc/self belongs to root after a change of ids. */
	WANT(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	r = check_jail();
	return r == NO_NAMESPACES ? 0 : r;
}
IN_CHILD(jail_of_a_plain_user_is_empty)

static void
namespaces_differ_names_each(void **state)
{
	const struct namespaces a = {1, 2, 3, 4, 5, 6};
	struct namespaces b = a;

	(void)state;
	assert_int_equal(namespaces_differ(&a, &b), 0);
	b.net = 99;
	assert_int_equal(namespaces_differ(&a, &b), ROLE_NS_NET);
	b = (struct namespaces){0};
	assert_int_equal(namespaces_differ(&a, &b),
	    ROLE_NS_USER | ROLE_NS_MNT | ROLE_NS_NET | ROLE_NS_PID |
		ROLE_NS_IPC | ROLE_NS_UTS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(caps_are_dropped_to_what_is_kept),
	    cmocka_unit_test(ids_are_dropped_for_good),
	    cmocka_unit_test(another_id_is_refused_to_a_plain_user),
	    cmocka_unit_test(rlimits_are_hard_and_never_raised),
	    cmocka_unit_test(flags_are_set),
	    cmocka_unit_test(landlock_leaves_nothing_to_open),
	    cmocka_unit_test(descriptors_are_closed_from_the_first),
	    cmocka_unit_test(a_stopped_process_ends_with_its_parent),
	    cmocka_unit_test(a_change_of_ids_takes_that_back),
	    cmocka_unit_test(a_parent_that_has_ended_is_noticed),
	    cmocka_unit_test(a_filter_binds),
	    cmocka_unit_test(report_tells_what_the_kernel_says),
	    cmocka_unit_test(jail_is_empty),
	    cmocka_unit_test(jail_of_a_plain_user_is_empty),
	    cmocka_unit_test(namespaces_differ_names_each),
	};

	return cmocka_run_group_tests_name("privdrop", tests, NULL, NULL);
}
