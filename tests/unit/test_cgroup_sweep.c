/* Leftovers, in directories that stand for groups, and the way to hand
 * controllers of version 2 down. */
#include "exec/cgroup_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "exec/cgroup_file.h"
#include "exec/cgroup_unified.h"
#include "tests/unit/unit.h"

static int
base_make(char path[32])
{
	int dir;

	(void)snprintf(path, 32, "/tmp/cgroup-XXXXXX");
	assert_non_null(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	return dir;
}

static bool
is_there(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int
make_below(int dir, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(dir, name, 0700), 0);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void
names_are_ours_in_one_form_alone(void **state)
{
	char one[CGROUP_NAME_MAX], two[CGROUP_NAME_MAX];

	(void)state;
	assert_int_equal(cgroup_name_make(one), 0);
	assert_int_equal(cgroup_name_make(two), 0);
	assert_true(cgroup_name_is_ours(one));
	assert_string_not_equal(one, two);
	one[CGROUP_NAME_MAX - 2] = 'g';
	assert_false(cgroup_name_is_ours(one));
	two[CGROUP_NAME_MAX - 2] = '\0';
	assert_false(cgroup_name_is_ours(two));
	assert_false(cgroup_name_is_ours("sallyport-"));
	assert_false(cgroup_name_is_ours("sallyport-roles"));
	assert_false(cgroup_name_is_ours(""));
}

#define DEAD	"sallyport-00000000000000000000000000000001"
#define LIVING	"sallyport-00000000000000000000000000000002"
#define LINK	"sallyport-00000000000000000000000000000003"
#define FOREIGN "sallyport-00000000000000000000000000000004"

static void
what_the_dead_left_is_removed_alone(void **state)
{
	char path[32];
	int base = base_make(path), strange, living, dead, session;

	(void)state;
	dead = make_below(base, DEAD);
	session = make_below(dead, "3");
	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "%d", i);
		(void)close(make_below(session, name));
	}
	(void)close(make_below(dead, "4"));
	(void)close(session);
	(void)close(dead);
	living = make_below(base, LIVING);
	assert_int_equal(cgroup_lock(living), 0);
	strange = make_below(base, "strange");
	assert_int_equal(symlinkat("strange", base, LINK), 0);

	cgroup_sweep(base);
	assert_false(is_there(base, DEAD));
	assert_true(is_there(base, LIVING));
	assert_true(is_there(base, LINK));
	assert_true(is_there(base, "strange"));
	(void)close(living);
	cgroup_sweep(base);
	assert_false(is_there(base, LIVING));

	(void)close(strange);
	assert_int_equal(unlinkat(base, LINK, 0), 0);
	assert_int_equal(unlinkat(base, "strange", AT_REMOVEDIR), 0);
	(void)close(base);
	assert_int_equal(rmdir(path), 0);
}

static void
another_users_are_left_alone(void **state)
{
	char path[32];
	int base;

	(void)state;
	if (geteuid() != 0)
		skip_because("needs root, to make another's");
	base = base_make(path);
	(void)close(make_below(base, FOREIGN));
	assert_int_equal(fchownat(base, FOREIGN, 1234, 1234, 0), 0);
	cgroup_sweep(base);
	assert_true(is_there(base, FOREIGN));
	assert_int_equal(cgroup_remove_tree(base, FOREIGN, true), 0);
	assert_false(is_there(base, FOREIGN));
	assert_int_equal(cgroup_remove_tree(base, FOREIGN, true), 0);
	(void)close(base);
	assert_int_equal(rmdir(path), 0);
}

/* --- version 2 --------------------------------------------------------------
 */

struct unified {
	char path[32];
	int base;
	struct cgroup_unified u;
};

static const char *const files[] = {"cgroup.controllers",
    "cgroup.subtree_control", "cgroup.procs", "cgroup.type",
    CGROUP_ROLES "/cgroup.procs"};

static void
put(int dir, const char *name, const char *text)
{
	int fd =
	    openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void
check(int dir, const char *name, const char *want)
{
	char text[CGROUP_FILE_MAX];

	assert_int_equal(cgroup_file_read(dir, name, text), 0);
	assert_string_equal(text, want);
}

static void
unified_make(struct unified *t)
{
	t->base = base_make(t->path);
	(void)close(make_below(t->base, CGROUP_ROLES));
	for (size_t i = 0; i < COUNT(files); i++)
		put(t->base, files[i], "");
	put(t->base, "cgroup.controllers", "cpu memory pids\n");
	cgroup_unified_init(&t->u);
}

static void
unified_remove(struct unified *t)
{
	for (size_t i = 0; i < COUNT(files); i++)
		(void)unlinkat(t->base, files[i], 0);
	(void)unlinkat(t->base, CGROUP_ROLES, AT_REMOVEDIR);
	fd_close(&t->u.roles);
	(void)close(t->base);
	assert_int_equal(rmdir(t->path), 0);
}

static void
controllers_are_handed_down_and_taken_back(void **state)
{
	struct unified t;
	char pid[16];

	(void)state;
	unified_make(&t);
	(void)snprintf(pid, sizeof pid, "%d", (int)getpid());
	assert_int_equal(cgroup_unified_enable(&t.u, t.base, "+memory +pids"),
	    0);
	check(t.base, "cgroup.subtree_control", "+memory +pids");
	put(t.base, CGROUP_ROLES "/cgroup.procs", pid);
	put(t.base, "cgroup.subtree_control", "");
	put(t.base, "cgroup.procs", "");
	cgroup_unified_restore(&t.u);
	check(t.base, "cgroup.subtree_control", "-memory -pids");
	check(t.base, "cgroup.procs", pid);
	unified_remove(&t);
}

static void
what_is_handed_down_already_is_left(void **state)
{
	struct unified t;

	(void)state;
	unified_make(&t);
	put(t.base, "cgroup.subtree_control", "pids memory\n");
	assert_int_equal(cgroup_unified_enable(&t.u, t.base, "+memory +pids"),
	    0);
	check(t.base, "cgroup.subtree_control", "pids memory\n");
	unified_remove(&t);
}

static void
controllers_that_cannot_be_had_are_told(void **state)
{
	struct unified t;

	(void)state;
	unified_make(&t);
	assert_int_equal(cgroup_unified_enable(&t.u, t.base, "+memory +io"),
	    -EOPNOTSUPP);
	/* The root of all groups */
	assert_int_equal(unlinkat(t.base, "cgroup.type", 0), 0);
	assert_int_equal(cgroup_unified_enable(&t.u, t.base, "+memory"),
	    -EPERM);
	check(t.base, "cgroup.subtree_control", "");
	check(t.base, CGROUP_ROLES "/cgroup.procs", "");
	assert_int_equal(unlinkat(t.base, "cgroup.controllers", 0), 0);
	assert_int_equal(cgroup_unified_enable(&t.u, t.base, "+memory"),
	    -ENOENT);
	unified_remove(&t);
}

static void
our_own_group_is_taken_off_the_path(void **state)
{
	char in[] = "/a/b/" CGROUP_ROLES, out[] = "/a/b", none[] = "";

	(void)state;
	cgroup_unified_strip(in);
	assert_string_equal(in, "/a/b");
	cgroup_unified_strip(out);
	assert_string_equal(out, "/a/b");
	cgroup_unified_strip(none);
	assert_string_equal(none, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_ours_in_one_form_alone),
	    cmocka_unit_test(what_the_dead_left_is_removed_alone),
	    cmocka_unit_test(another_users_are_left_alone),
	    cmocka_unit_test(controllers_are_handed_down_and_taken_back),
	    cmocka_unit_test(what_is_handed_down_already_is_left),
	    cmocka_unit_test(controllers_that_cannot_be_had_are_told),
	    cmocka_unit_test(our_own_group_is_taken_off_the_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
