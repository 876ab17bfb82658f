/* The Landlock domain of a child, as every ABI of the kernel gives it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/landlock.h"
#include "privsep/privdrop.h"
#include "tests/unit/unit.h"

static char dir[64];

static const char *
in_dir(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static int
can_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

/* Run check in a process that is confined to reading / and writing dir/in;
 * returns what check does, or 100 if it could not be confined. */
static int
confined(unsigned int abi, bool scope_abstract, int (*check)(void))
{
	struct plan_path paths[] = {
	    {.path = "/", .access = PLAN_READ},
	    {.path = in_dir("in"), .access = PLAN_WRITE},
	};
	const struct plan plan = {.paths = paths, .path_count = 2};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (privdrop_no_new_privs() < 0 ||
		    landlock_confine(&plan, abi, scope_abstract) < 0)
			_exit(100);
		_exit(check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The number of the first of them that is not as it should be, 0 if all are. */
static int
check_files(void)
{
	if (can_open(in_dir("out/file"), O_RDONLY) != 0)
		return 1;
	if (can_open(in_dir("out/file"), O_WRONLY) != -EACCES)
		return 2;
	if (can_open(in_dir("out/new"), O_WRONLY | O_CREAT) != -EACCES)
		return 3;
	if (unlink(in_dir("out/file")) == 0 || errno != EACCES)
		return 4;
	if (can_open(in_dir("in/new"), O_WRONLY | O_CREAT | O_TRUNC) != 0)
		return 5;
	if (mkdir(in_dir("in/dir"), 0755) < 0 && errno != EEXIST)
		return 6;
	if (mknod(in_dir("in/device"), S_IFCHR | 0666, 0x103) == 0)
		return 7;
	if (can_open("/dev/null", O_WRONLY) != 0)
		return 8;
	if (can_open("/proc/self/comm", O_WRONLY) != 0)
		return 9;
	return 0;
}

static void
every_abi_lets_write_only_where_the_plan_says(void **state)
{
	unsigned int newest = landlock_abi();

	(void)state;
	if (newest == 0)
		skip_because("needs Landlock");
	for (unsigned int abi = 1; abi <= newest; abi++)
		assert_int_equal(confined(abi, true, check_files), 0);
}

static int
check_rename(void)
{
	char from[128];

	(void)snprintf(from, sizeof from, "%s", in_dir("in/new"));
	if (can_open(from, O_WRONLY | O_CREAT) != 0)
		return 1;
	if (rename(from, in_dir("in/dir/moved")) < 0)
		return 2;
	return 0;
}

static void
files_move_between_directories_from_abi_2_on(void **state)
{
	unsigned int newest = landlock_abi();

	(void)state;
	if (newest < 2)
		skip_because("needs Landlock ABI 2");
	assert_int_equal(confined(1, true, check_files), 0);
	assert_int_equal(confined(1, true, check_rename), 2);
	assert_int_equal(confined(2, true, check_rename), 0);
	assert_int_equal(confined(newest, true, check_rename), 0);
}

static int
check_truncate(void)
{
	return truncate(in_dir("out/file"), 0) == 0 ? 1 : 0;
}

static void
truncating_is_writing_from_abi_3_on(void **state)
{
	unsigned int newest = landlock_abi();

	(void)state;
	if (newest < 3)
		skip_because("needs Landlock ABI 3");
	assert_int_equal(confined(newest, true, check_truncate), 0);
}

/* The kernel chose its name: several of us may run at once. */
static struct sockaddr_un abstract;
static socklen_t abstract_len;

static int
check_abstract(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&abstract, abstract_len) < 0;
}

static void
abstract_sockets_are_scoped_if_asked(void **state)
{
	const struct sockaddr_un none = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned int newest = landlock_abi();

	(void)state;
	if (newest < 6)
		skip_because("needs Landlock ABI 6");
	assert_int_equal(bind(fd, (const struct sockaddr *)&none,
			     sizeof none.sun_family),
	    0);
	abstract_len = sizeof abstract;
	assert_int_equal(getsockname(fd, (struct sockaddr *)&abstract,
			     &abstract_len),
	    0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(confined(newest, true, check_abstract), 1);
	assert_int_equal(confined(newest, false, check_abstract), 0);
	(void)close(fd);
}

static int
begin(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof dir, "/tmp/sallyport-landlock-XXXXXX");
	if (mkdtemp(dir) == NULL || mkdir(in_dir("in"), 0755) < 0 ||
	    mkdir(in_dir("out"), 0755) < 0)
		return -1;
	return can_open(in_dir("out/file"), O_WRONLY | O_CREAT);
}

static int
end(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command); /* NOLINT: a directory of our own */
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(every_abi_lets_write_only_where_the_plan_says),
	    T(files_move_between_directories_from_abi_2_on),
	    T(truncating_is_writing_from_abi_3_on),
	    T(abstract_sockets_are_scoped_if_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
