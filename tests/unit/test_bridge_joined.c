#include "exec/bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/unit/bridge.h"
#include "tests/unit/unit.h"

/* Two bridges, joined by their streams: what net and a worker have. */
struct joined {
	struct rig *here, *there;
};

static struct joined
join(void)
{
	struct joined j = {.here = rig_new(ROLE_WORKER),
	    .there = rig_new(ROLE_NET)};

	return j;
}

/* Carry on until both ends are quiet. */
static void
carry(struct joined *j)
{
	static uint8_t bytes[4096];
	bool busy = true;

	while (busy) {
		struct rig *from[] = {j->here, j->there};

		busy = false;
		for (size_t i = 0; i < 2; i++) {
			ssize_t n;

			assert_int_equal(run(from[i]), BRIDGE_GOES_ON);
			n = read(from[i]->drain, bytes, sizeof bytes);
			if (n <= 0)
				continue;
			busy = true;
			assert_int_equal(write(from[1 - i]->feed, bytes,
					     (size_t)n),
			    n);
			assert_int_equal(run(from[1 - i]), BRIDGE_GOES_ON);
		}
	}
}

static void
part_joined(struct joined *j)
{
	rig_free(j->here);
	rig_free(j->there);
}

static void
contents_of_a_file_arrive_at_a_worker(void **state)
{
	static uint8_t bytes[200000], got[sizeof bytes];
	struct joined j = join();
	struct msg_fs_write_file w = {.number = 3, .path = bytes_of("/f")};
	struct msg m;
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	fd = msg_sealed_memfd(
	    (struct bytes){.data = bytes, .len = sizeof bytes});
	assert_int_equal(channel_send_fs_write_file(j.here->far, &w, &fd, 1),
	    0);
	carry(&j);
	m = hear(j.there, MSG_FS_WRITE_FILE);
	assert_true(bytes_is(m.u.fs_write_file.path, "/f"));
	fd = msg_take_fd(&m, 0);
	assert_int_equal(fcntl(fd, F_GET_SEALS),
	    F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	assert_int_equal(pread(fd, got, sizeof got, 0), sizeof got);
	assert_memory_equal(got, bytes, sizeof got);
	(void)close(fd);
	msg_done(&m);
	part_joined(&j);
}

/* A file of the worker's, itself or a pipe with FS_STREAMED behind it. */
static void
give_file(struct joined *j, bool piped)
{
	const struct msg_fs_file m = {.number = 7,
	    .size = 5,
	    .streamed = piped};
	int ends[2], fd;

	if (!piped) {
		fd = msg_sealed_memfd(bytes_of("hello"));
		assert_int_equal(channel_send_fs_file(j->there->far, &m, &fd,
				     1),
		    0);
		return;
	}
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(channel_send_fs_file(j->there->far, &m, &ends[0], 1),
	    0);
	carry(j);
	assert_int_equal(write(ends[1], "hello", 5), 5);
	carry(j);
	(void)close(ends[1]);
	carry(j);
	assert_int_equal(
	    channel_send_fs_streamed(j->there->far,
		&(struct msg_fs_streamed){.number = 7, .errnum = EIO}, NULL, 0),
	    0);
}

static void
a_file_of_a_worker_arrives_at_net(void **state)
{
	(void)state;
	for (int piped = 0; piped < 2; piped++) {
		struct joined j = join();
		char got[8] = "";
		struct msg m;
		int fd;

		give_file(&j, piped);
		carry(&j);
		m = hear(j.here, MSG_FS_FILE);
		fd = msg_take_fd(&m, 0);
		msg_done(&m);
		assert_int_equal(read(fd, got, sizeof got), 5);
		assert_string_equal(got, "hello");
		assert_int_equal(read(fd, got, sizeof got), 0);
		m = hear(j.here, MSG_FS_STREAMED);
		assert_int_equal(m.u.fs_streamed.errnum, piped ? EIO : 0);
		msg_done(&m);
		(void)close(fd);
		part_joined(&j);
	}
}

static void
a_worker_that_breaks_the_order_ends_its_bridge(void **state)
{
	struct rig *g = rig_new(ROLE_NET);
	const struct msg_fs_streamed m = {.number = 7};

	(void)state;
	assert_int_equal(channel_send_fs_streamed(g->far, &m, NULL, 0), 0);
	assert_int_equal(run(g), BRIDGE_FAILED);
	rig_free(g);
}

static void
the_ends_of_channel_and_stream_are_told(void **state)
{
	struct rig *g = rig_new(ROLE_WORKER);

	(void)state;
	fd_close(&g->feed);
	assert_int_equal(run(g), BRIDGE_STREAM_ENDED);
	rig_free(g);
	g = rig_new(ROLE_WORKER);
	channel_free(g->far);
	g->far = NULL;
	assert_int_equal(run(g), BRIDGE_CHANNEL_ENDED);
	rig_free(g);
}

/* The next message is taken when the last one is written. */
static void
a_slow_stream_keeps_the_channel_waiting(void **state)
{
	struct rig *g = rig_new(ROLE_WORKER);
	const struct msg_fs_close m = {.number = 1};
	static uint8_t bytes[4096];
	unsigned int sent = 0;

	(void)state;
	while (write(g->out, bytes, sizeof bytes) > 0)
		;
	for (; sent < 3; sent++)
		assert_int_equal(channel_send_fs_close(g->far, &m, NULL, 0), 0);
	assert_int_equal(run(g), BRIDGE_GOES_ON);
	assert_true(bridge_out_writes(&g->bridge.out));
	assert_false(bridge_out_takes(&g->bridge.out));
	assert_int_equal(g->bridge.out.buf.len, BRIDGE_HEADER + 12);
	rig_free(g);
}

static void
the_last_words_are_kept(void **state)
{
	struct bridge b = {.note_fd = -1};
	char words[BRIDGE_NOTE_MAX + 1];
	int writer;

	(void)state;
	pipe_of(&b.note_fd, &writer);
	memset(words, 'a', sizeof words);
	words[0] = '1';
	words[sizeof words - 1] = 'z';
	assert_int_equal(write(writer, words, BRIDGE_NOTE_MAX),
	    BRIDGE_NOTE_MAX);
	for (int i = 0; i < 2; i++)
		bridge_read_note(&b);
	assert_int_equal(b.note_len, BRIDGE_NOTE_MAX);
	assert_int_equal(b.note[0], '1');
	assert_int_equal(write(writer, "z", 1), 1);
	bridge_read_note(&b);
	assert_int_equal(b.note_len, BRIDGE_NOTE_MAX);
	assert_memory_equal(b.note, words + 1, BRIDGE_NOTE_MAX);
	(void)close(writer);
	writer = b.note_fd;
	bridge_read_note(&b);
	assert_int_equal(b.note_fd, -1);
	(void)close(writer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(contents_of_a_file_arrive_at_a_worker),
	    cmocka_unit_test(a_file_of_a_worker_arrives_at_net),
	    cmocka_unit_test(a_worker_that_breaks_the_order_ends_its_bridge),
	    cmocka_unit_test(the_ends_of_channel_and_stream_are_told),
	    cmocka_unit_test(a_slow_stream_keeps_the_channel_waiting),
	    cmocka_unit_test(the_last_words_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
