#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/unit/worker.h"

static void
read_block(struct rig *rig, uint32_t handle, uint64_t offset, uint32_t len)
{
	const struct msg_fs_read_block m = {.number = ++rig->number,
	    .handle = handle,
	    .offset = offset,
	    .len = len};

	assert_int_equal(channel_send_fs_read_block(rig->net, &m, NULL, 0), 0);
}

static void
write_block(struct rig *rig, uint32_t handle, uint64_t offset, struct bytes b)
{
	const struct msg_fs_write_block m = {.number = ++rig->number,
	    .handle = handle,
	    .offset = offset,
	    .data = b};

	assert_int_equal(channel_send_fs_write_block(rig->net, &m, NULL, 0), 0);
}

static void
close_handle(struct rig *rig, uint32_t handle)
{
	const struct msg_fs_close m = {.number = ++rig->number,
	    .handle = handle};

	assert_int_equal(channel_send_fs_close(rig->net, &m, NULL, 0), 0);
	rig_done(rig);
}

static void
check_block(struct rig *rig, const char *want, bool eof)
{
	struct msg m;

	rig_answer(rig, MSG_FS_BLOCK, &m);
	assert_int_equal(m.u.fs_block.number, rig->number);
	assert_true(bytes_is(m.u.fs_block.data, want));
	assert_int_equal(m.u.fs_block.eof, eof);
	msg_done(&m);
}

static void
blocks_are_read_by_handle(void **state)
{
	struct rig *rig = *state;

	file_put("f", "hello world");
	rig_open(rig, 7, "f", false);
	rig_done(rig);
	read_block(rig, 7, 0, 5);
	check_block(rig, "hello", false);
	read_block(rig, 7, 6, 100);
	check_block(rig, "world", true);
	read_block(rig, 7, 6, 5);
	check_block(rig, "world", false);
	read_block(rig, 7, 50, 5);
	check_block(rig, "", true);
	read_block(rig, 7, UINT64_MAX, FS_BLOCK_MAX);
	check_block(rig, "", true);
	write_block(rig, 7, 0, bytes_of("x"));
	rig_failed(rig, FS_FAILURE_ERRNO, EBADF);
	close_handle(rig, 7);
	close_handle(rig, 7);
	read_block(rig, 7, 0, 1);
	rig_failed(rig, FS_FAILURE_UNKNOWN_HANDLE, ENOENT);
	write_block(rig, 7, 0, bytes_of("x"));
	rig_failed(rig, FS_FAILURE_UNKNOWN_HANDLE, ENOENT);
}

static void
blocks_are_written_by_handle(void **state)
{
	struct rig *rig = *state;
	char want[] = "abc\0\0de";
	char got[8];
	int fd;

	file_put("f", "old contents");
	rig_open(rig, 0, "f", true);
	rig_done(rig);
	assert_string_equal(file_get("f"), "");
	write_block(rig, 0, 0, bytes_of("abc"));
	rig_done(rig);
	write_block(rig, 0, 5, bytes_of("de"));
	rig_done(rig);
	read_block(rig, 0, 0, 1);
	rig_failed(rig, FS_FAILURE_ERRNO, EBADF);
	write_block(rig, 0, UINT64_MAX, bytes_of("x"));
	rig_failed(rig, FS_FAILURE_ERRNO, EINVAL);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, got, sizeof got), 7);
	assert_memory_equal(got, want, 7);
	(void)close(fd);
}

static void
a_whole_block_passes_both_ways(void **state)
{
	struct rig *rig = *state;
	uint8_t *block = malloc(FS_BLOCK_MAX);
	struct msg m;

	for (size_t i = 0; i < FS_BLOCK_MAX; i++)
		block[i] = (uint8_t)(i * 7 >> 3);
	rig_open(rig, 1, "f", true);
	rig_done(rig);
	rig_open(rig, 2, "f", false);
	rig_done(rig);
	write_block(rig, 1, 3,
	    (struct bytes){.data = block, .len = FS_BLOCK_MAX});
	rig_done(rig);
	read_block(rig, 2, 3, FS_BLOCK_MAX);
	rig_answer(rig, MSG_FS_BLOCK, &m);
	assert_int_equal(m.u.fs_block.data.len, FS_BLOCK_MAX);
	assert_memory_equal(m.u.fs_block.data.data, block, FS_BLOCK_MAX);
	assert_int_equal(m.u.fs_block.eof, 0);
	msg_done(&m);
	free(block);
}

static void
handles_are_counted(void **state)
{
	struct rig *rig = *state;

	file_put("f", "x");
	for (uint32_t i = 0; i < FS_HANDLES_MAX; i++) {
		rig_open(rig, i, "f", false);
		rig_done(rig);
	}
	rig_open(rig, FS_HANDLES_MAX, "f", false);
	rig_failed(rig, FS_FAILURE_ERRNO, EMFILE);
	close_handle(rig, 5);
	rig_open(rig, FS_HANDLES_MAX, "f", false);
	rig_done(rig);
	read_block(rig, FS_HANDLES_MAX, 0, 1);
	check_block(rig, "x", false);
}

static void
a_handle_twice_ends_the_worker(void **state)
{
	struct rig *rig = *state;

	file_put("f", "x");
	rig_open(rig, 1, "f", false);
	rig_done(rig);
	rig_open(rig, 1, "f", false);
	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	assert_int_equal(rig_stop(rig), 1 << 8);
}

static void
an_empty_or_long_block_ends_the_worker(void **state)
{
	struct rig *rig = *state;

	read_block(rig, 1, 0, 0);
	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	assert_int_equal(rig_stop(rig), 1 << 8);
	rig_start(rig);
	read_block(rig, 1, 0, FS_BLOCK_MAX + 1);
	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	assert_int_equal(rig_stop(rig), 1 << 8);
	rig_start(rig);
	write_block(rig, 1, 0, bytes_of(""));
	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	assert_int_equal(rig_stop(rig), 1 << 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(blocks_are_read_by_handle),
	    WORKER_TEST(blocks_are_written_by_handle),
	    WORKER_TEST(a_whole_block_passes_both_ways),
	    WORKER_TEST(handles_are_counted),
	    WORKER_TEST(a_handle_twice_ends_the_worker),
	    WORKER_TEST(an_empty_or_long_block_ends_the_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
