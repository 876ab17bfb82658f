/* What the kernel forbids a plain user: run as one. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/worker.h"

/* Who runs it when root does. */
#define PLAIN_ID 65534
#define RF	 (FS_REMOVE_RECURSIVE | FS_REMOVE_FORCE)

static void
an_unreadable_file_is_refused(void **state)
{
	struct rig *rig = *state;

	file_put("secret", "x");
	assert_int_equal(chmod("secret", 0), 0);
	rig_read_file(rig, "secret");
	rig_failed(rig, FS_FAILURE_ERRNO, EACCES);
	rig_open(rig, 1, "secret", false);
	rig_failed(rig, FS_FAILURE_ERRNO, EACCES);
	rig_copy(rig, "secret", "copy", false);
	rig_failed(rig, FS_FAILURE_ERRNO, EACCES);
	assert_int_equal(entries_in("."), 1);
}

static void
a_read_only_file_is_refused(void **state)
{
	struct rig *rig = *state;

	file_put("f", "old");
	assert_int_equal(chmod("f", 0444), 0);
	for (int atomic = 0; atomic < 2; atomic++) {
		rig_write_file(rig, "f", "new", atomic);
		rig_failed(rig, FS_FAILURE_ERRNO, EACCES);
	}
	assert_string_equal(file_get("f"), "old");
}

static void
a_directory_that_may_not_change_keeps_its_files(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(mkdir("d", 0755), 0);
	file_put("d/f", "old");
	assert_int_equal(chmod("d", 0555), 0);
	rig_write_file(rig, "d/f", "new", true);
	rig_failed(rig, FS_FAILURE_OLD_KEPT, EACCES);
	assert_string_equal(file_get("d/f"), "old");
	rig_write_file(rig, "d/f", "new", false);
	rig_done(rig);
	rig_write_file(rig, "d/g", "new", false);
	rig_failed(rig, FS_FAILURE_ERRNO, EACCES);
	rig_mkdir(rig, "d/e/f", true);
	rig_failed(rig, FS_FAILURE_ERRNO, EACCES);
	assert_int_equal(chmod("d", 0755), 0);
}

static void
directories_without_rights_are_removed_if_empty(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(mkdir("d/closed", 0755), 0);
	assert_int_equal(chmod("d/closed", 0), 0);
	rig_remove(rig, "d", RF);
	rig_done(rig);
	assert_int_equal(mkdir("e", 0755), 0);
	file_put("e/f", "");
	assert_int_equal(chmod("e", 0555), 0);
	rig_remove(rig, "e", RF);
	rig_failed(rig, FS_FAILURE_ERRNO, EACCES);
	assert_int_equal(chmod("e", 0755), 0);
}

/* The number of the only error in the entries. */
static uint32_t
error_in(struct bytes entries)
{
	uint32_t errnum = 0;
	struct bytes name;
	struct reader r;
	uint8_t kind;

	reader_init(&r, entries.data, entries.len);
	while (r.left > 0) {
		assert_int_equal(errnum, 0);
		assert_true(buf_get_u8(&r, &kind));
		assert_true(buf_get_string(&r, &name, PATH_LEN_MAX));
		if (kind == FS_ENTRY_ERROR)
			assert_true(buf_get_u32(&r, &errnum));
	}
	return errnum;
}

static void
walk(struct rig *rig, const char *name)
{
	const struct msg_fs_walk m = {.number = ++rig->number,
	    .max_depth = 10,
	    .max_directories = 100,
	    .max_entries = 100,
	    .path = at(rig, name)};

	assert_int_equal(channel_send_fs_walk(rig->net, &m, NULL, 0), 0);
}

static void
a_walk_tells_what_it_cannot_enter(void **state)
{
	struct rig *rig = *state;
	struct msg m;

	assert_int_equal(mkdir("w", 0755), 0);
	assert_int_equal(mkdir("w/closed", 0), 0);
	file_put("w/f", "");
	walk(rig, "w");
	rig_answer(rig, MSG_FS_LISTING, &m);
	assert_int_equal(error_in(m.u.fs_listing.entries), EACCES);
	msg_done(&m);
	walk(rig, "w/closed");
	rig_failed(rig, FS_FAILURE_ERRNO, EACCES);
	assert_int_equal(chmod("w/closed", 0700), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(an_unreadable_file_is_refused),
	    WORKER_TEST(a_read_only_file_is_refused),
	    WORKER_TEST(a_directory_that_may_not_change_keeps_its_files),
	    WORKER_TEST(directories_without_rights_are_removed_if_empty),
	    WORKER_TEST(a_walk_tells_what_it_cannot_enter),
	};

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 ||
				  setresgid(PLAIN_ID, PLAIN_ID, PLAIN_ID) < 0 ||
				  setresuid(PLAIN_ID, PLAIN_ID, PLAIN_ID) < 0))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
