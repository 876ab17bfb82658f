#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/worker.h"

#define RF (FS_REMOVE_RECURSIVE | FS_REMOVE_FORCE)

static struct stat
stat_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(name, &st), 0);
	return st;
}

static void
make_dir(const char *name)
{
	assert_int_equal(mkdir(name, 0755), 0);
}

static bool
exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static void
what_remove_takes(void **state)
{
	struct rig *rig = *state;
	const struct {
		const char *name;
		uint32_t flags;
		int errnum; /* 0: done */
	} cases[] = {
	    {"none", 0, ENOENT},
	    {"none", FS_REMOVE_FORCE, 0},
	    {"none/x", FS_REMOVE_FORCE, 0},
	    {"f/x", FS_REMOVE_FORCE, ENOTDIR},
	    {"full", 0, ENOTEMPTY},
	    {"full", FS_REMOVE_FORCE, ENOTEMPTY},
	    {"empty", 0, 0},
	    {"f", 0, 0},
	    {"l", RF, 0},
	    {"dangling", 0, 0},
	    {"fifo", RF, 0},
	    {"full", FS_REMOVE_RECURSIVE, 0},
	    {"full", FS_REMOVE_RECURSIVE, ENOENT},
	    {"/", RF, EBUSY},
	    {"/tmp/..", RF, EINVAL},
	    {"target/", RF, EINVAL},
	};

	make_dir("full");
	make_dir("full/d");
	file_put("full/d/f", "");
	make_dir("empty");
	make_dir("target");
	file_put("target/keep", "");
	file_put("f", "");
	assert_int_equal(symlink("target", "l"), 0);
	assert_int_equal(symlink("../target", "full/l"), 0);
	assert_int_equal(symlink("gone", "dangling"), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		rig_remove(rig, cases[i].name, cases[i].flags);
		if (cases[i].errnum == 0)
			rig_done(rig);
		else
			rig_failed(rig, FS_FAILURE_ERRNO, cases[i].errnum);
	}
	assert_true(exists("target/keep"));
	assert_int_equal(entries_in("."), 1);
}

/* Make depth directories below each other, longer than any path. */
static void
make_deep(const char *top, unsigned int depth)
{
	const char *name = "a-directory-with-a-rather-long-name-in-a-deep-tree";
	int at_fd, fd;

	make_dir(top);
	fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned int i = 0; i < depth; i++) {
		assert_int_equal(mkdirat(fd, name, 0755), 0);
		at_fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(at_fd >= 0);
		(void)close(fd);
		fd = at_fd;
	}
	at_fd = openat(fd, "leaf", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(at_fd >= 0);
	(void)close(at_fd);
	(void)close(fd);
}

static void
trees_deeper_than_a_path_are_copied_and_removed(void **state)
{
	struct rig *rig = *state;

	make_deep("deep", 300);
	rig_copy(rig, "deep", "copy", true);
	rig_done(rig);
	assert_true(exists("copy"));
	rig_remove(rig, "copy", RF);
	rig_done(rig);
	rig_remove(rig, "deep", RF);
	rig_done(rig);
	assert_int_equal(entries_in("."), 0);
}

static void
wide_trees_are_removed(void **state)
{
	struct rig *rig = *state;
	char name[64];

	make_dir("wide");
	for (unsigned int i = 0; i < 1500; i++) {
		(void)snprintf(name, sizeof name, "wide/file-%06u", i);
		file_put(name, "");
		(void)snprintf(name, sizeof name, "wide/directory-%06u", i);
		make_dir(name);
		(void)snprintf(name, sizeof name, "wide/directory-%06u/f", i);
		file_put(name, "");
	}
	rig_remove(rig, "wide", RF);
	rig_done(rig);
	assert_int_equal(entries_in("."), 0);
}

static void
a_copied_file_keeps_mode_and_time(void **state)
{
	struct rig *rig = *state;
	const struct timespec times[2] = {{1, 0}, {1700000000, 123456789}};
	struct stat st;

	file_put("a", "A");
	file_put("b", "longer");
	assert_int_equal(chmod("a", 0711), 0);
	assert_int_equal(utimensat(AT_FDCWD, "a", times, 0), 0);
	rig_copy(rig, "a", "c", false);
	rig_done(rig);
	rig_copy(rig, "a", "b", true);
	rig_done(rig);
	assert_string_equal(file_get("b"), "A");
	assert_string_equal(file_get("c"), "A");
	st = stat_of("b");
	assert_int_equal(st.st_mode & 07777, 0711);
	st = stat_of("c");
	assert_int_equal(st.st_mode & 07777, 0711);
	assert_int_equal(st.st_mtim.tv_sec, 1700000000);
	assert_int_equal(st.st_mtim.tv_nsec, 123456789);
}

static void
a_copy_onto_itself_changes_nothing(void **state)
{
	struct rig *rig = *state;

	file_put("f", "contents");
	assert_int_equal(link("f", "hard"), 0);
	assert_int_equal(symlink("f", "soft"), 0);
	rig_copy(rig, "f", "f", false);
	rig_done(rig);
	rig_copy(rig, "f", "hard", false);
	rig_done(rig);
	rig_copy(rig, "f", "soft", true);
	rig_done(rig);
	assert_string_equal(file_get("f"), "contents");
	assert_true(S_ISLNK(stat_of("soft").st_mode));
	assert_int_equal(stat_of("f").st_nlink, 2);
}

static void
holes_stay_holes(void **state)
{
	struct rig *rig = *state;
	int fd = open("sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	char got[8] = {0};
	struct stat st;

	assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
	assert_int_equal(pwrite(fd, "middle", 6, 32 * MIB), 6);
	assert_int_equal(ftruncate(fd, 64 * MIB + 1), 0);
	(void)close(fd);
	file_put("copy", "with something in it before");
	rig_copy(rig, "sparse", "copy", false);
	rig_done(rig);
	st = stat_of("copy");
	assert_int_equal(st.st_size, 64 * MIB + 1);
	assert_true(st.st_blocks * 512 < (off_t)MIB);
	fd = open("copy", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, got, 6, 32 * MIB), 6);
	assert_string_equal(got, "middle");
	assert_int_equal(pread(fd, got, 6, 0), 6);
	assert_memory_equal(got, "begin\0", 6);
	(void)close(fd);
}

static void
files_of_proc_are_copied_whole(void **state)
{
	struct rig *rig = *state;
	char want[64];

	(void)snprintf(want, sizeof want, "%s",
	    file_get("/proc/sys/kernel/ostype"));
	rig_copy(rig, "/proc/sys/kernel/ostype", "f", false);
	rig_done(rig);
	assert_string_equal(file_get("f"), want);
}

static void
what_copy_refuses(void **state)
{
	struct rig *rig = *state;
	const struct {
		const char *from, *to;
		bool recursive;
		enum fs_failure failure;
		int errnum;
	} cases[] = {
	    {"none", "x", false, FS_FAILURE_ERRNO, ENOENT},
	    {"f", "none/x", false, FS_FAILURE_ERRNO, ENOENT},
	    {"f", "d", false, FS_FAILURE_ERRNO, EISDIR},
	    {"f", "fifo", false, FS_FAILURE_ERRNO, ENXIO},
	    {"l", "f", false, FS_FAILURE_ERRNO, EEXIST},
	    {"l", "none/x", false, FS_FAILURE_ERRNO, ENOENT},
	    {"d", "x", false, FS_FAILURE_NEEDS_RECURSIVE, EISDIR},
	    {"d", "f", true, FS_FAILURE_ERRNO, EEXIST},
	    {"d", "f/x", true, FS_FAILURE_ERRNO, ENOTDIR},
	    {"d", "d", true, FS_FAILURE_INTO_ITSELF, EINVAL},
	    {"d", "d/in", true, FS_FAILURE_INTO_ITSELF, EINVAL},
	    {"d", "d/in/deep", true, FS_FAILURE_INTO_ITSELF, EINVAL},
	    {"d", "dl", true, FS_FAILURE_INTO_ITSELF, EINVAL},
	    {"d", "dl/in", true, FS_FAILURE_INTO_ITSELF, EINVAL},
	    {"fifo", "x", false, FS_FAILURE_SPECIAL_SOURCE, EINVAL},
	    {"/dev/null", "x", true, FS_FAILURE_SPECIAL_SOURCE, EINVAL},
	};

	file_put("f", "kept");
	make_dir("d");
	assert_int_equal(symlink("gone", "l"), 0);
	assert_int_equal(symlink("d", "dl"), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		rig_copy(rig, cases[i].from, cases[i].to, cases[i].recursive);
		rig_failed(rig, cases[i].failure, cases[i].errnum);
	}
	assert_string_equal(file_get("f"), "kept");
	assert_int_equal(entries_in("d"), 0);
	assert_int_equal(entries_in("."), 5);
}

static void
links_are_copied_as_links(void **state)
{
	struct rig *rig = *state;
	char target[16] = {0};

	assert_int_equal(symlink("gone", "l"), 0);
	rig_copy(rig, "l", "m", false);
	rig_done(rig);
	assert_int_equal(readlink("m", target, sizeof target - 1), 4);
	assert_string_equal(target, "gone");
	file_put("f", "new");
	assert_int_equal(symlink("made", "n"), 0);
	rig_copy(rig, "f", "n", false);
	rig_done(rig);
	assert_string_equal(file_get("made"), "new");
}

static void
a_directory_is_copied_with_all_but_special_files(void **state)
{
	struct rig *rig = *state;

	make_dir("s");
	make_dir("s/e");
	file_put("s/e/f", "x");
	assert_int_equal(chmod("s/e", 0550), 0);
	assert_int_equal(symlink("e", "s/l"), 0);
	assert_int_equal(symlink("gone", "s/x"), 0);
	assert_int_equal(mkfifo("s/fifo", 0600), 0);
	rig_copy(rig, "s", "new/parents/t", true);
	rig_done(rig);
	assert_string_equal(file_get("new/parents/t/e/f"), "x");
	assert_int_equal(stat_of("new/parents/t/e").st_mode & 07777, 0550);
	assert_true(S_ISLNK(stat_of("new/parents/t/l").st_mode));
	assert_true(S_ISLNK(stat_of("new/parents/t/x").st_mode));
	assert_false(exists("new/parents/t/fifo"));
	assert_int_equal(chmod("new/parents/t/e", 0755), 0);
	assert_int_equal(chmod("s/e", 0755), 0);
}

static void
a_directory_is_merged(void **state)
{
	struct rig *rig = *state;

	make_dir("s");
	make_dir("s/sub");
	file_put("s/sub/new", "new");
	file_put("s/both", "source");
	make_dir("t");
	make_dir("t/sub");
	assert_int_equal(chmod("t/sub", 0700), 0);
	file_put("t/sub/old", "old");
	file_put("t/both", "target");
	rig_copy(rig, "s", "t", true);
	rig_done(rig);
	assert_string_equal(file_get("t/both"), "source");
	assert_string_equal(file_get("t/sub/new"), "new");
	assert_string_equal(file_get("t/sub/old"), "old");
	assert_int_equal(stat_of("t/sub").st_mode & 07777, 0700);
}

static void
links_in_a_destination_are_not_followed(void **state)
{
	struct rig *rig = *state;

	make_dir("s");
	make_dir("s/sub");
	file_put("s/sub/f", "new");
	make_dir("outside");
	make_dir("t");
	assert_int_equal(symlink("../outside", "t/sub"), 0);
	rig_copy(rig, "s", "t", true);
	rig_failed(rig, FS_FAILURE_ERRNO, EEXIST);
	assert_int_equal(entries_in("outside"), 0);
	assert_int_equal(unlink("t/sub"), 0);
	make_dir("t/sub");
	file_put("outside/f", "kept");
	assert_int_equal(symlink("../../outside/f", "t/sub/f"), 0);
	rig_copy(rig, "s", "t", true);
	rig_failed(rig, FS_FAILURE_ERRNO, EEXIST);
	assert_string_equal(file_get("outside/f"), "kept");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(what_remove_takes),
	    WORKER_TEST(trees_deeper_than_a_path_are_copied_and_removed),
	    WORKER_TEST(wide_trees_are_removed),
	    WORKER_TEST(a_copied_file_keeps_mode_and_time),
	    WORKER_TEST(a_copy_onto_itself_changes_nothing),
	    WORKER_TEST(holes_stay_holes),
	    WORKER_TEST(files_of_proc_are_copied_whole),
	    WORKER_TEST(what_copy_refuses),
	    WORKER_TEST(links_are_copied_as_links),
	    WORKER_TEST(a_directory_is_copied_with_all_but_special_files),
	    WORKER_TEST(a_directory_is_merged),
	    WORKER_TEST(links_in_a_destination_are_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
