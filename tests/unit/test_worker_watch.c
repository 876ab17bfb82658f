#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/worker.h"

/* Longer than one recheck, for what inotify does not see. */
#define RECHECK_MS 60000

static void
make_dir(const char *name)
{
	assert_int_equal(mkdir(name, 0755), 0);
}

static void
send_watch(struct rig *rig, uint32_t watch, const char *const *missing,
    const char *present)
{
	struct msg_fs_watch m = {.number = ++rig->number, .watch = watch};
	scoped_buf list;

	buf_init(&list, CHANNEL_RECORD_MAX);
	for (; *missing != NULL; missing++) {
		struct bytes path = at(rig, *missing);

		assert_int_equal(buf_put_string(&list, path.data, path.len), 0);
	}
	m.missing = (struct bytes){.data = list.data, .len = list.len};
	if (present != NULL)
		m.present = at(rig, present);
	assert_int_equal(channel_send_fs_watch(rig->net, &m, NULL, 0), 0);
}

static void
check_watching(struct rig *rig, bool watching)
{
	struct msg m;

	rig_answer(rig, MSG_FS_WATCHING, &m);
	assert_int_equal(m.u.fs_watching.number, rig->number);
	assert_int_equal(m.u.fs_watching.watching, watching);
	msg_done(&m);
}

static void
watch(struct rig *rig, uint32_t id, const char *missing, const char *present)
{
	const char *const list[] = {missing, NULL};

	send_watch(rig, id, list, present);
	check_watching(rig, true);
}

static void
check_changed(struct rig *rig, uint32_t id)
{
	struct msg m;

	rig_answer(rig, MSG_FS_CHANGED, &m);
	assert_int_equal(m.u.fs_changed.watch, id);
	msg_done(&m);
	/* And once is enough. */
	assert_false(rig_is_readable(rig, 20));
}

static void
unwatch(struct rig *rig, uint32_t id)
{
	const struct msg_fs_unwatch m = {.watch = id};

	assert_int_equal(channel_send_fs_unwatch(rig->net, &m, NULL, 0), 0);
}

static void
nothing_to_watch_is_told(void **state)
{
	struct rig *rig = *state;
	const char *const none[] = {NULL};
	const char *const one_exists[] = {"gone", "f", NULL};

	file_put("f", "");
	send_watch(rig, 1, none, NULL);
	check_watching(rig, false);
	send_watch(rig, 1, none, "f");
	check_watching(rig, false);
	send_watch(rig, 1, one_exists, NULL);
	check_watching(rig, false);
	file_put("gone", "");
	assert_false(rig_is_readable(rig, 50));
}

static void
a_path_that_appears_is_told_once(void **state)
{
	struct rig *rig = *state;

	watch(rig, 1, "later", NULL);
	file_put("other", "");
	assert_false(rig_is_readable(rig, 50));
	file_put("later", "");
	check_changed(rig, 1);
	assert_int_equal(unlink("later"), 0);
	file_put("later", "");
	assert_false(rig_is_readable(rig, 50));
}

static void
a_deep_path_appears_step_by_step(void **state)
{
	struct rig *rig = *state;

	watch(rig, 1, "a/b/c/f", NULL);
	make_dir("a");
	make_dir("a/b");
	make_dir("a/b/x");
	assert_int_equal(rename("a/b", "a/y"), 0);
	make_dir("a/b");
	make_dir("a/b/c");
	assert_false(rig_is_readable(rig, 50));
	file_put("a/b/c/f", "");
	check_changed(rig, 1);
}

static void
a_path_that_is_moved_in_is_told(void **state)
{
	struct rig *rig = *state;

	watch(rig, 1, "a/f", NULL);
	make_dir("tmp");
	file_put("tmp/f", "");
	assert_int_equal(rename("tmp", "a"), 0);
	check_changed(rig, 1);
}

static void
the_target_of_a_dangling_link_is_waited_for(void **state)
{
	struct rig *rig = *state;

	make_dir("d");
	assert_int_equal(symlink("d/f", "l"), 0);
	watch(rig, 1, "l", NULL);
	file_put("d/f", "");
	check_changed(rig, 1);
}

static void
a_present_path_that_changes_is_told(void **state)
{
	struct rig *rig = *state;

	file_put("f", "x");
	watch(rig, 1, "gone", "f");
	assert_false(rig_is_readable(rig, 50));
	file_put("f", "longer");
	check_changed(rig, 1);
	watch(rig, 2, "gone", "f");
	assert_int_equal(unlink("f"), 0);
	check_changed(rig, 2);
	/* One that is not there changes by coming. */
	watch(rig, 3, "gone", "f");
	file_put("f", "");
	check_changed(rig, 3);
	watch(rig, 4, "gone", "f");
	assert_int_equal(chmod("f", 0600), 0);
	check_changed(rig, 4);
}

static void
watches_of_one_directory_are_told_apart(void **state)
{
	struct rig *rig = *state;

	watch(rig, 1, "a", NULL);
	watch(rig, 2, "b", NULL);
	watch(rig, 3, "c", NULL);
	unwatch(rig, 3);
	unwatch(rig, 9);
	file_put("b", "");
	check_changed(rig, 2);
	file_put("c", "");
	assert_false(rig_is_readable(rig, 50));
	file_put("a", "");
	check_changed(rig, 1);
}

static void
a_directory_moved_from_above_is_found_in_time(void **state)
{
	struct rig *rig = *state;

	make_dir("top");
	make_dir("top/mid");
	make_dir("new");
	make_dir("new/mid");
	file_put("new/mid/f", "");
	watch(rig, 1, "top/mid/f", NULL);
	assert_int_equal(rename("top", "old"), 0);
	assert_int_equal(rename("new", "top"), 0);
	assert_true(rig_is_readable(rig, RECHECK_MS));
	check_changed(rig, 1);
}

static void
watches_are_counted(void **state)
{
	struct rig *rig = *state;
	const char *const list[] = {"gone", NULL};

	for (uint32_t i = 0; i < FS_WATCHES_MAX; i++)
		watch(rig, i, "gone", NULL);
	send_watch(rig, FS_WATCHES_MAX, list, NULL);
	rig_failed(rig, FS_FAILURE_ERRNO, EMFILE);
	unwatch(rig, 7);
	watch(rig, FS_WATCHES_MAX, "gone", NULL);
	file_put("gone", "");
	for (uint32_t i = 0; i < FS_WATCHES_MAX; i++) {
		struct msg m;

		rig_answer(rig, MSG_FS_CHANGED, &m);
		msg_done(&m);
	}
	assert_false(rig_is_readable(rig, 20));
}

static void
a_bad_watch_ends_the_worker(void **state)
{
	struct rig *rig = *state;
	const char *const list[] = {"gone", NULL};
	struct msg_fs_watch m = {.number = 1,
	    .watch = 1,
	    .missing = bytes_of("junk")};

	assert_int_equal(channel_send_fs_watch(rig->net, &m, NULL, 0), 0);
	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	assert_int_equal(rig_stop(rig), 1 << 8);
	rig_start(rig);
	watch(rig, 1, "gone", NULL);
	send_watch(rig, 1, list, NULL);
	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	assert_int_equal(rig_stop(rig), 1 << 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(nothing_to_watch_is_told),
	    WORKER_TEST(a_path_that_appears_is_told_once),
	    WORKER_TEST(a_deep_path_appears_step_by_step),
	    WORKER_TEST(a_path_that_is_moved_in_is_told),
	    WORKER_TEST(the_target_of_a_dangling_link_is_waited_for),
	    WORKER_TEST(a_present_path_that_changes_is_told),
	    WORKER_TEST(watches_of_one_directory_are_told_apart),
	    WORKER_TEST(a_directory_moved_from_above_is_found_in_time),
	    WORKER_TEST(watches_are_counted),
	    WORKER_TEST(a_bad_watch_ends_the_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
