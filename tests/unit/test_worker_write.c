#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/unit/worker.h"

static struct stat
stat_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(name, &st), 0);
	return st;
}

static mode_t
mode_of(const char *name)
{
	return stat_of(name).st_mode & 07777;
}

static void
writing_in_place_keeps_inode_mode_and_links(void **state)
{
	struct rig *rig = *state;
	ino_t inode;

	file_put("f", "old contents");
	assert_int_equal(chmod("f", 0751), 0);
	assert_int_equal(link("f", "other"), 0);
	inode = stat_of("f").st_ino;
	rig_write_file(rig, "f", "new", false);
	rig_done(rig);
	assert_string_equal(file_get("other"), "new");
	assert_int_equal(stat_of("f").st_ino, inode);
	assert_int_equal(mode_of("f"), 0751);
	rig_write_file(rig, "f", "and longer than before", false);
	rig_done(rig);
	assert_string_equal(file_get("f"), "and longer than before");
	rig_write_file(rig, "f", "", false);
	rig_done(rig);
	assert_string_equal(file_get("f"), "");
}

static void
a_new_file_gets_the_usual_mode(void **state)
{
	struct rig *rig = *state;

	for (int atomic = 0; atomic < 2; atomic++) {
		rig_write_file(rig, "f", "x", atomic);
		rig_done(rig);
		assert_string_equal(file_get("f"), "x");
		assert_int_equal(mode_of("f"), 0644);
		assert_int_equal(entries_in("."), 1);
		assert_int_equal(unlink("f"), 0);
	}
}

static void
links_are_written_through(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(symlink("d/f", "l"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	for (int atomic = 0; atomic < 2; atomic++) {
		/* First it dangles. */
		rig_write_file(rig, "l", "made", atomic);
		rig_done(rig);
		assert_string_equal(file_get("d/f"), "made");
		rig_write_file(rig, "l", "new", atomic);
		rig_done(rig);
		assert_string_equal(file_get("d/f"), "new");
		assert_true(S_ISLNK(stat_of("l").st_mode));
		assert_int_equal(unlink("d/f"), 0);
		rig_write_file(rig, "loop", "x", atomic);
		rig_failed(rig, FS_FAILURE_ERRNO, ELOOP);
	}
	assert_int_equal(entries_in("d"), 0);
}

static void
what_cannot_be_written_is_refused_at_once(void **state)
{
	struct rig *rig = *state;
	const struct {
		const char *name;
		enum fs_failure failure;
		int errnum;
	} cases[] = {
	    {"none/f", FS_FAILURE_ERRNO, ENOENT},
	    {"d", FS_FAILURE_ERRNO, EISDIR},
	    {"/", FS_FAILURE_ERRNO, EISDIR},
	    {"f/x", FS_FAILURE_ERRNO, ENOTDIR},
	    {"fifo", FS_FAILURE_NOT_A_FILE, EINVAL},
	    {"/dev/null", FS_FAILURE_NOT_A_FILE, EINVAL},
	};

	assert_int_equal(mkdir("d", 0755), 0);
	file_put("f", "old");
	assert_int_equal(mkfifo("fifo", 0644), 0);
	for (int atomic = 0; atomic < 2; atomic++)
		for (size_t i = 0; i < COUNT(cases); i++) {
			rig_write_file(rig, cases[i].name, "x", atomic);
			rig_failed(rig, cases[i].failure, cases[i].errnum);
		}
	rig_open(rig, 1, "d", true);
	rig_failed(rig, FS_FAILURE_NOT_A_FILE, EISDIR);
	rig_open(rig, 1, "fifo", true);
	rig_failed(rig, FS_FAILURE_NOT_A_FILE, EINVAL);
	assert_string_equal(file_get("f"), "old");
	assert_int_equal(entries_in("."), 3);
}

static void
setuid_and_setgid_do_not_survive(void **state)
{
	struct rig *rig = *state;

	for (int atomic = 0; atomic < 2; atomic++) {
		file_put("f", "old");
		assert_int_equal(chmod("f", 06755), 0);
		rig_write_file(rig, "f", "new", atomic);
		rig_done(rig);
		assert_int_equal(mode_of("f"), 0755);
	}
	assert_int_equal(chmod("f", 06755), 0);
	rig_copy(rig, "f", "copy", false);
	rig_done(rig);
	assert_int_equal(mode_of("copy"), 0755);
	assert_int_equal(chmod("copy", 04755), 0);
	rig_copy(rig, "f", "copy", false);
	rig_done(rig);
	assert_int_equal(mode_of("copy"), 0755);
	rig_open(rig, 1, "f", true);
	rig_done(rig);
	assert_int_equal(mode_of("f"), 0755);
}

static void
directories_are_made_without_setgid(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(chmod("d", 02777), 0);
	rig_mkdir(rig, "d/one", false);
	rig_done(rig);
	rig_mkdir(rig, "d/two/three", true);
	rig_done(rig);
	assert_int_equal(mode_of("d/one"), 0755);
	assert_int_equal(mode_of("d/two"), 0755);
	assert_int_equal(mode_of("d/two/three"), 0755);
}

static void
directories_are_made_as_by_mkdir(void **state)
{
	struct rig *rig = *state;
	const struct {
		const char *name;
		bool recursive;
		int errnum; /* 0: done */
	} cases[] = {
	    {"a/b/c", true, 0},
	    {"a/b/c", true, 0},
	    {"a/b", false, EEXIST},
	    {"x/y", false, ENOENT},
	    {"f", true, EEXIST},
	    {"f", false, EEXIST},
	    {"f/y", true, ENOTDIR},
	    {"a/f2/y/z", true, 0},
	    {"l/new/deep", true, 0},
	    {"dangling", true, EEXIST},
	    {"dangling/y", true, EEXIST},
	    {"/", true, 0},
	};

	file_put("f", "");
	assert_int_equal(symlink("a", "l"), 0);
	assert_int_equal(symlink("gone", "dangling"), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		rig_mkdir(rig, cases[i].name, cases[i].recursive);
		if (cases[i].errnum == 0)
			rig_done(rig);
		else
			rig_failed(rig, FS_FAILURE_ERRNO, cases[i].errnum);
	}
	assert_true(S_ISDIR(stat_of("a/new/deep").st_mode));
	assert_int_not_equal(access("gone", F_OK), 0);
}

static int
memfd_of(size_t size, int seals)
{
	int fd = memfd_create("data", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
	assert_int_equal(pwrite(fd, "end", 3, (off_t)size - 3), 3);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static void
write_memfd(struct rig *rig, int fd, bool atomic)
{
	const struct msg_fs_write_file m = {.number = ++rig->number,
	    .atomic = atomic,
	    .path = at(rig, "big")};

	assert_int_equal(channel_send_fs_write_file(rig->net, &m, &fd, 1), 0);
}

static void
large_contents_come_as_a_memfd(void **state)
{
	struct rig *rig = *state;
	char got[8] = {0};
	int fd;

	for (int atomic = 0; atomic < 2; atomic++) {
		write_memfd(rig, memfd_of(3 * MIB + 5, SEALS), atomic);
		rig_done(rig);
		assert_int_equal(stat_of("big").st_size, 3 * MIB + 5);
		fd = open("big", O_RDONLY | O_CLOEXEC);
		assert_int_equal(pread(fd, got, 5, 0), 5);
		assert_string_equal(got, "begin");
		assert_int_equal(pread(fd, got, 3, 3 * MIB + 2), 3);
		assert_memory_equal(got, "end", 3);
		(void)close(fd);
		assert_int_equal(unlink("big"), 0);
	}
}

static void
an_unsealed_memfd_ends_the_worker(void **state)
{
	struct rig *rig = *state;

	write_memfd(rig, memfd_of(4096, SEALS & ~F_SEAL_WRITE), false);
	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	assert_int_equal(rig_stop(rig), 1 << 8);
	rig_start(rig);
	write_memfd(rig, memfd_of(RPC_MESSAGE_MAX + 1, SEALS), false);
	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	assert_int_equal(rig_stop(rig), 1 << 8);
	rig_start(rig);
	write_memfd(rig, open("/dev/zero", O_RDONLY | O_CLOEXEC), false);
	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	assert_int_equal(rig_stop(rig), 1 << 8);
	assert_int_not_equal(access("big", F_OK), 0);
}

/* A worker that cannot make a file larger than size bytes. */
static void
start_limited(struct rig *rig, rlim_t size)
{
	struct rlimit old, limit;

	assert_int_equal(rig_stop(rig), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){.rlim_cur = size, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	rig_start(rig);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

static void
want_of_space_leaves_the_old_contents(void **state)
{
	struct rig *rig = *state;

	file_put("f", "old contents");
	assert_int_equal(chmod("f", 0640), 0);
	start_limited(rig, 16);
	rig_write_file(rig, "f", "longer than sixteen bytes", false);
	rig_failed(rig, FS_FAILURE_ERRNO, EFBIG);
	assert_string_equal(file_get("f"), "old contents");
	rig_write_file(rig, "f", "longer than sixteen bytes", true);
	rig_failed(rig, FS_FAILURE_OLD_KEPT, EFBIG);
	assert_string_equal(file_get("f"), "old contents");
	rig_write_file(rig, "new", "longer than sixteen bytes", true);
	rig_failed(rig, FS_FAILURE_OLD_KEPT, EFBIG);
	assert_int_equal(entries_in("."), 1);
	rig_write_file(rig, "f", "fits", true);
	rig_done(rig);
	assert_int_equal(mode_of("f"), 0640);
}

/* A full filesystem of 64 KiB at "full", with "full/f" on it. */
static bool
make_full(void)
{
	char block[4096];
	int fd;

	memset(block, 'x', sizeof block);
	assert_int_equal(mkdir("full", 0755), 0);
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "full", "tmpfs", 0, "size=64k") < 0)
		return false;
	file_put("full/f", "old contents");
	fd = open("full/rest", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	while (write(fd, block, sizeof block) > 0)
		continue;
	(void)close(fd);
	return true;
}

static void
a_full_disk_leaves_the_old_contents(void **state)
{
	struct rig *rig = *state;
	char text[8192];

	if (!make_full()) {
		print_message("# no filesystem of our own: not root\n");
		return;
	}
	memset(text, 'n', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	assert_int_equal(rig_stop(rig), 0);
	rig_start(rig);
	rig_write_file(rig, "full/f", text, false);
	rig_failed(rig, FS_FAILURE_ERRNO, ENOSPC);
	assert_string_equal(file_get("full/f"), "old contents");
	rig_write_file(rig, "full/f", text, true);
	rig_failed(rig, FS_FAILURE_OLD_KEPT, ENOSPC);
	assert_string_equal(file_get("full/f"), "old contents");
	rig_write_file(rig, "full/new", text, true);
	rig_failed(rig, FS_FAILURE_OLD_KEPT, ENOSPC);
	assert_int_equal(entries_in("full"), 2);
	rig_write_file(rig, "full/f", "new contents", false);
	rig_done(rig);
	file_put("big", text);
	rig_copy(rig, "big", "full/copy", false);
	rig_failed(rig, FS_FAILURE_ERRNO, ENOSPC);
	assert_int_equal(rig_stop(rig), 0);
	assert_int_equal(umount("full"), 0);
}

static void
atomic_writing_replaces_the_file(void **state)
{
	struct rig *rig = *state;
	ino_t inode;

	file_put("f", "old");
	assert_int_equal(chmod("f", 0751), 0);
	assert_int_equal(link("f", "other"), 0);
	inode = stat_of("f").st_ino;
	rig_write_file(rig, "f", "new", true);
	rig_done(rig);
	assert_string_equal(file_get("f"), "new");
	assert_string_equal(file_get("other"), "old");
	assert_int_not_equal(stat_of("f").st_ino, inode);
	assert_int_equal(mode_of("f"), 0751);
	assert_int_equal(entries_in("."), 2);
}

static void
the_file_of_a_writer_at_work_is_left_alone(void **state)
{
	/* What a new "f" is called until it is whole. */
	const char *beside = ".sallyport-af63db4c8601ead9-0";
	struct rig *rig = *state;

	for (int named = 0; named < 2; named++) {
		int fd;

		assert_int_equal(rig_stop(rig), 0);
		rig->without_nameless = named;
		rig_start(rig);
		file_put("f", "old");
		file_put(beside, "not whole");
		fd = open(beside, O_RDONLY | O_CLOEXEC);
		assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
		rig_write_file(rig, "f", "new", true);
		rig_done(rig);
		assert_string_equal(file_get("f"), "new");
		assert_string_equal(file_get(beside), "not whole");
		/* When its writer is gone it is nobody's. */
		(void)close(fd);
		rig_write_file(rig, "f", "newer", true);
		rig_done(rig);
		assert_string_equal(file_get("f"), "newer");
		assert_int_equal(entries_in("."), 1);
	}
}

static void
atomic_writing_works_for_the_longest_name(void **state)
{
	struct rig *rig = *state;
	char name[256];

	memset(name, 'n', 255);
	name[255] = '\0';
	file_put(name, "old");
	rig_write_file(rig, name, "new", true);
	rig_done(rig);
	assert_string_equal(file_get(name), "new");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(writing_in_place_keeps_inode_mode_and_links),
	    WORKER_TEST(a_new_file_gets_the_usual_mode),
	    WORKER_TEST(links_are_written_through),
	    WORKER_TEST(what_cannot_be_written_is_refused_at_once),
	    WORKER_TEST(setuid_and_setgid_do_not_survive),
	    WORKER_TEST(directories_are_made_without_setgid),
	    WORKER_TEST(directories_are_made_as_by_mkdir),
	    WORKER_TEST(large_contents_come_as_a_memfd),
	    WORKER_TEST(an_unsealed_memfd_ends_the_worker),
	    WORKER_TEST(want_of_space_leaves_the_old_contents),
	    WORKER_TEST(a_full_disk_leaves_the_old_contents),
	    WORKER_TEST(atomic_writing_replaces_the_file),
	    WORKER_TEST(the_file_of_a_writer_at_work_is_left_alone),
	    WORKER_TEST(atomic_writing_works_for_the_longest_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
