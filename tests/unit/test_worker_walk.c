#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "exec/worker_dir.h"
#include "exec/worker_walk.h"
#include "tests/unit/worker.h"

static const char kinds[] = {
    [FS_ENTRY_OTHER] = 'o',
    [FS_ENTRY_FILE] = 'f',
    [FS_ENTRY_DIRECTORY] = 'd',
    [FS_ENTRY_ERROR] = 'e',
};

static void
make_dir(const char *name)
{
	assert_int_equal(mkdir(name, 0755), 0);
}

/*
 * Write the listing as "name:kind name:kind", paths below the rig's directory
 * without it, an error with its number.
 */
static void
print_listing(const struct rig *rig, struct bytes entries, struct buf *out)
{
	size_t skip = strlen(rig->dir) + 1;
	struct reader r;
	struct bytes name;
	uint32_t errnum;
	uint8_t kind;

	reader_init(&r, entries.data, entries.len);
	while (r.left > 0) {
		assert_true(buf_get_u8(&r, &kind));
		assert_true(buf_get_string(&r, &name, PATH_LEN_MAX));
		assert_in_range(kind, FS_ENTRY_OTHER, FS_ENTRY_ERROR);
		if (name.len > skip && name.data[0] == '/') {
			name.data += skip;
			name.len -= skip;
		}
		assert_int_equal(buf_printf(out, "%s%.*s:%c",
				     out->len > 0 ? " " : "", (int)name.len,
				     (const char *)name.data, kinds[kind]),
		    0);
		if (kind != FS_ENTRY_ERROR)
			continue;
		assert_true(buf_get_u32(&r, &errnum));
		assert_int_equal(buf_printf(out, "%u", errnum), 0);
	}
	assert_true(buf_get_end(&r));
}

static void
check_listing(struct rig *rig, const char *want, bool truncated)
{
	scoped_buf got;
	struct msg m;

	buf_init(&got, MIB);
	rig_answer(rig, MSG_FS_LISTING, &m);
	assert_int_equal(m.u.fs_listing.number, rig->number);
	print_listing(rig, m.u.fs_listing.entries, &got);
	assert_int_equal(buf_put_u8(&got, 0), 0);
	assert_string_equal((const char *)got.data, want);
	assert_int_equal(m.u.fs_listing.truncated, truncated);
	msg_done(&m);
}

static void
read_directory(struct rig *rig, const char *name)
{
	const struct msg_fs_read_directory m = {.number = ++rig->number,
	    .path = at(rig, name)};

	assert_int_equal(channel_send_fs_read_directory(rig->net, &m, NULL, 0),
	    0);
}

struct bounds {
	uint32_t flags, depth, directories, entries;
};

static void
walk(struct rig *rig, const char *name, struct bounds b)
{
	const struct msg_fs_walk m = {.number = ++rig->number,
	    .flags = b.flags,
	    .max_depth = b.depth,
	    .max_directories = b.directories,
	    .max_entries = b.entries,
	    .path = at(rig, name)};

	assert_int_equal(channel_send_fs_walk(rig->net, &m, NULL, 0), 0);
}

static void
directories_list_what_links_lead_to(void **state)
{
	struct rig *rig = *state;
	const struct {
		const char *name, *want;
	} cases[] = {
	    {"empty", ""},
	    {"file", "f:f"},
	    {"hidden", ".h:f"},
	    {"dir", "s:d"},
	    {"link", "l:d"},
	    {"filelink", "l:f"},
	    {"dangling", ""},
	    {"loop", ""},
	    {"fifo", "p:o"},
	    {"odd", "\xff:f"},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		make_dir(cases[i].name);
	file_put("file/f", "");
	file_put("hidden/.h", "");
	file_put("odd/\xff", "");
	make_dir("dir/s");
	assert_int_equal(symlink("../dir", "link/l"), 0);
	assert_int_equal(symlink("../file/f", "filelink/l"), 0);
	assert_int_equal(symlink("gone", "dangling/l"), 0);
	assert_int_equal(symlink("l", "loop/l"), 0);
	assert_int_equal(mkfifo("fifo/p", 0600), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		read_directory(rig, cases[i].name);
		check_listing(rig, cases[i].want, false);
	}
	read_directory(rig, "link/l");
	check_listing(rig, "s:d", false);
	read_directory(rig, "file/f");
	rig_failed(rig, FS_FAILURE_ERRNO, ENOTDIR);
	read_directory(rig, "none");
	rig_failed(rig, FS_FAILURE_ERRNO, ENOENT);
}

static void
large_directories_come_whole(void **state)
{
	struct rig *rig = *state;
	char name[64];
	struct msg m;

	for (unsigned int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof name,
		    "a-file-with-quite-a-long-name-%06u", i);
		file_put(name, "");
	}
	read_directory(rig, "");
	rig_answer(rig, MSG_FS_LISTING, &m);
	assert_int_equal(m.u.fs_listing.entries.len, 2000 * (1 + 4 + 36));
	msg_done(&m);
}

static void
make_tree(void)
{
	make_dir("w");
	make_dir("w/b");
	make_dir("w/b/c");
	make_dir("w/.h");
	file_put("w/a", "");
	file_put("w/b/z", "");
	file_put("w/b/c/q", "");
	file_put("w/.h/i", "");
	assert_int_equal(symlink("a", "w/lf"), 0);
	assert_int_equal(symlink("b", "w/ld"), 0);
	assert_int_equal(symlink("gone", "w/lx"), 0);
	assert_int_equal(mkfifo("w/p", 0600), 0);
}

static void
a_walk_is_breadth_first_and_sorted(void **state)
{
	struct rig *rig = *state;
	const struct {
		struct bounds bounds;
		const char *want;
		bool truncated;
	} cases[] = {
	    {{0, 10, 100, 100},
		"w/.h:d w/a:f w/b:d w/.h/i:f w/b/c:d w/b/z:f w/b/c/q:f", false},
	    {{0, 0, 100, 100}, "w/.h:d w/a:f w/b:d", false},
	    {{0, 1, 100, 100}, "w/.h:d w/a:f w/b:d w/.h/i:f w/b/c:d w/b/z:f",
		false},
	    {{0, 10, 100, 2}, "w/.h:d w/a:f", true},
	    {{0, 10, 100, 7},
		"w/.h:d w/a:f w/b:d w/.h/i:f w/b/c:d w/b/z:f w/b/c/q:f", false},
	    {{0, 10, 1, 100}, "w/.h:d w/a:f w/b:d", true},
	    {{0, 10, 4, 100},
		"w/.h:d w/a:f w/b:d w/.h/i:f w/b/c:d w/b/z:f w/b/c/q:f", false},
	    {{FS_WALK_PRUNE_HIDDEN, 10, 100, 100},
		"w/.h:d w/a:f w/b:d w/b/c:d w/b/z:f w/b/c/q:f", false},
	    {{FS_WALK_FOLLOW, 10, 100, 100},
		"w/.h:d w/a:f w/b:d w/ld:d w/.h/i:f w/b/c:d w/b/z:f w/b/c/q:f",
		false},
	};

	make_tree();
	for (size_t i = 0; i < COUNT(cases); i++) {
		walk(rig, "w", cases[i].bounds);
		check_listing(rig, cases[i].want, cases[i].truncated);
	}
}

static void
a_walk_enters_each_directory_once(void **state)
{
	struct rig *rig = *state;

	make_dir("w");
	make_dir("w/d");
	file_put("w/d/f", "");
	assert_int_equal(symlink("..", "w/d/up"), 0);
	assert_int_equal(symlink(".", "w/d/self"), 0);
	assert_int_equal(symlink("loop", "w/loop"), 0);
	walk(rig, "w", (struct bounds){FS_WALK_FOLLOW, 64, 100, 100});
	check_listing(rig, "w/d:d w/d/f:f w/d/self:d w/d/up:d", false);
}

static void
a_walk_follows_a_link_out_of_its_root(void **state)
{
	struct rig *rig = *state;

	make_dir("w");
	make_dir("other");
	make_dir("other/d");
	file_put("other/d/f", "");
	assert_int_equal(symlink("../other", "w/l"), 0);
	walk(rig, "w", (struct bounds){FS_WALK_FOLLOW, 64, 100, 100});
	check_listing(rig, "w/l:d w/l/d:d w/l/d/f:f", false);
}

static void
a_walk_tells_names_that_are_not_utf8(void **state)
{
	struct rig *rig = *state;

	make_dir("w");
	file_put("w/good", "");
	make_dir("w/bad-\xff");
	file_put("w/bad-\xff/f", "");
	walk(rig, "w", (struct bounds){0, 10, 100, 100});
	check_listing(rig, "w/bad-\xff:e84 w/good:f", false);
}

static void
a_walk_needs_a_directory(void **state)
{
	struct rig *rig = *state;

	file_put("f", "");
	walk(rig, "f", (struct bounds){0, 10, 100, 100});
	check_listing(rig, "", false);
	walk(rig, "none", (struct bounds){0, 10, 100, 100});
	rig_failed(rig, FS_FAILURE_ERRNO, ENOENT);
}

static void
a_walk_of_the_root_has_one_slash(void **state)
{
	struct rig *rig = *state;
	struct bytes name;
	struct reader r;
	struct msg m;
	uint8_t kind;

	walk(rig, "/", (struct bounds){0, 0, 1, 1});
	rig_answer(rig, MSG_FS_LISTING, &m);
	reader_init(&r, m.u.fs_listing.entries.data,
	    m.u.fs_listing.entries.len);
	assert_true(buf_get_u8(&r, &kind));
	assert_true(buf_get_string(&r, &name, PATH_LEN_MAX));
	assert_true(name.len > 1 && name.data[0] == '/' && name.data[1] != '/');
	msg_done(&m);
}

static void
a_walk_past_the_maxima_ends_the_worker(void **state)
{
	struct rig *rig = *state;
	const struct bounds cases[] = {
	    {4, 1, 1, 1},
	    {0, FS_WALK_DEPTH_MAX + 1, 1, 1},
	    {0, 1, 0, 1},
	    {0, 1, FS_WALK_DIRECTORIES_MAX + 1, 1},
	    {0, 1, 1, 0},
	    {0, 1, 1, FS_WALK_ENTRIES_MAX + 1},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		walk(rig, "", cases[i]);
		assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
		assert_int_equal(rig_stop(rig), 1 << 8);
		rig_start(rig);
	}
}

static void
a_walk_at_its_maxima_is_whole(void **state)
{
	struct rig *rig = *state;
	char name[64];
	struct msg m;

	for (unsigned int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof name, "%02u", i);
		make_dir(name);
		for (unsigned int j = 0; j < 20; j++) {
			(void)snprintf(name, sizeof name, "%02u/%02u", i, j);
			file_put(name, "");
		}
	}
	walk(rig, "",
	    (struct bounds){FS_WALK_FOLLOW, FS_WALK_DEPTH_MAX,
		FS_WALK_DIRECTORIES_MAX, FS_WALK_ENTRIES_MAX});
	rig_answer(rig, MSG_FS_LISTING, &m);
	assert_int_equal(m.u.fs_listing.truncated, 0);
	assert_int_equal(m.u.fs_listing.entries.len,
	    100 * (5 + strlen(rig->dir) + 3) +
		2000 * (5 + strlen(rig->dir) + 6));
	msg_done(&m);
}

/* The last entry is an error with this number, and the only one. */
static void
check_last_error(struct bytes entries, uint32_t want)
{
	uint32_t errnum = 0;
	struct bytes name;
	struct reader r;
	uint8_t kind;

	reader_init(&r, entries.data, entries.len);
	while (r.left > 0) {
		assert_int_equal(errnum, 0);
		assert_true(buf_get_u8(&r, &kind));
		assert_true(buf_get_string(&r, &name, PATH_LEN_MAX - 1));
		if (kind == FS_ENTRY_ERROR)
			assert_true(buf_get_u32(&r, &errnum));
	}
	assert_int_equal(errnum, want);
}

static void
listings_are_bounded(void **state)
{
	struct rig *rig = *state;
	const struct worker_walk_options o = {.depth_max = 1,
	    .directories_max = 10,
	    .entries_max = 10};
	enum fs_failure why = FS_FAILURE_ERRNO;
	bool truncated = false;
	scoped_buf out;

	make_dir("w");
	file_put("w/a", "");
	file_put("w/b", "");
	/* Room for one entry of a directory, and for one of a walk. */
	buf_init(&out, 1 + 4 + 1);
	assert_int_equal(worker_dir_list((const char *)at(rig, "w").data, &out,
			     &why),
	    -EMSGSIZE);
	assert_int_equal(why, FS_FAILURE_LISTING_TOO_LARGE);
	buf_done(&out);
	buf_init(&out, 1 + 4 + at(rig, "w/a").len);
	assert_int_equal(worker_walk((const char *)at(rig, "w").data, &o, &out,
			     &truncated),
	    0);
	assert_true(truncated);
	assert_int_equal(out.len, out.max);
}

static void
a_walk_tells_paths_that_are_too_long(void **state)
{
	struct rig *rig = *state;
	char name[NAME_MAX + 1];
	int next, fd;
	struct msg m;

	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	make_dir("w");
	fd = open("w", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(mkdirat(fd, name, 0755), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	walk(rig, "w", (struct bounds){0, 64, 100, 100});
	rig_answer(rig, MSG_FS_LISTING, &m);
	assert_int_equal(m.u.fs_listing.truncated, 0);
	check_last_error(m.u.fs_listing.entries, ENAMETOOLONG);
	msg_done(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(directories_list_what_links_lead_to),
	    WORKER_TEST(large_directories_come_whole),
	    WORKER_TEST(a_walk_is_breadth_first_and_sorted),
	    WORKER_TEST(a_walk_enters_each_directory_once),
	    WORKER_TEST(a_walk_follows_a_link_out_of_its_root),
	    WORKER_TEST(a_walk_tells_names_that_are_not_utf8),
	    WORKER_TEST(a_walk_needs_a_directory),
	    WORKER_TEST(a_walk_of_the_root_has_one_slash),
	    WORKER_TEST(a_walk_past_the_maxima_ends_the_worker),
	    WORKER_TEST(a_walk_at_its_maxima_is_whole),
	    WORKER_TEST(a_walk_tells_paths_that_are_too_long),
	    WORKER_TEST(listings_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
