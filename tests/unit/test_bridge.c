#include "exec/bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "tests/unit/bridge.h"
#include "tests/unit/unit.h"

/* --- the first line --------------------------------------------------------
 */

static void
a_hello_is_judged(void **state)
{
	char ours[BRIDGE_HELLO_LEN], other[BRIDGE_HELLO_LEN];
	struct bytes said = {.data = (uint8_t *)other, .len = sizeof other};

	(void)state;
	assert_int_equal(bridge_hello(ours), 0);
	assert_memory_equal(ours, "sallyport-worker 1 ", 19);
	assert_int_equal(ours[BRIDGE_HELLO_LEN - 1], '\n');
	memcpy(other, ours, sizeof ours);
	assert_int_equal(bridge_hello_judge(said, ours), BRIDGE_OURS);
	other[BRIDGE_HELLO_LEN - 2] ^= 1;
	assert_int_equal(bridge_hello_judge(said, ours), BRIDGE_OTHER_BUILD);
	memcpy(other, ours, sizeof ours);
	other[17] = '2';
	assert_int_equal(bridge_hello_judge(said, ours), BRIDGE_OTHER_BUILD);
	other[16] = '-';
	assert_int_equal(bridge_hello_judge(said, ours), BRIDGE_STRANGE);
	said.len = 16;
	assert_int_equal(bridge_hello_judge(said, ours), BRIDGE_STRANGE);
}

static void
a_hello_is_given_up_at_its_first_strange_byte(void **state)
{
	static const struct {
		const char *said;
		bool begins;
	} rows[] = {{"", true}, {"s", true}, {"sallyport-worker", true},
	    {"sallyport-worker 1 ab", true}, {"S", false},
	    {"sallyport-worker-", false}, {"\nsallyport-worker ", false}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(bridge_hello_begins(bytes_of(rows[i].said)),
		    rows[i].begins);
}

/* --- frames ----------------------------------------------------------------
 */

static void
a_frame_has_its_bounds(void **state)
{
	static const struct {
		uint8_t kind;
		uint32_t len;
		bool valid;
	} rows[] = {
	    {BRIDGE_RECORD, 3, false},
	    {BRIDGE_RECORD, 4, true},
	    {BRIDGE_RECORD, CHANNEL_RECORD_MAX, true},
	    {BRIDGE_RECORD, CHANNEL_RECORD_MAX + 1, false},
	    {BRIDGE_HEAD, 3, false},
	    {BRIDGE_HEAD, CHANNEL_RECORD_MAX, true},
	    {BRIDGE_HEAD, CHANNEL_RECORD_MAX + 1, false},
	    {BRIDGE_PART, 0, false},
	    {BRIDGE_PART, 1, true},
	    {BRIDGE_PART, BRIDGE_FRAME_MAX, true},
	    {BRIDGE_PART, BRIDGE_FRAME_MAX + 1, false},
	    {BRIDGE_PART, UINT32_MAX, false},
	    {BRIDGE_END, 3, false},
	    {BRIDGE_END, 4, true},
	    {BRIDGE_END, 5, false},
	    {0, 4, false},
	    {BRIDGE_END + 1, 4, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(bridge_frame_is_valid(rows[i].kind,
				     rows[i].len),
		    rows[i].valid);
		if (!rows[i].valid) {
			struct rig *g = rig_new(ROLE_WORKER);

			/* Its header is enough. */
			assert_int_equal(feed(g, rows[i].kind, rows[i].len,
					     NULL, 0),
			    BRIDGE_BROKEN);
			rig_free(g);
		}
	}
}

static const struct msg_fs_done done = {.number = 7};
static const struct msg_fs_file file = {.number = 7, .size = 3};
static const struct msg_fs_block block = {.number = 7};
static const struct msg_fs_streamed streamed = {.number = 7};
static const struct msg_fs_lost lost = {.reason = 0};
static const struct msg_fs_close closing = {.number = 7};

static void
only_what_may_cross_does(void **state)
{
	static const struct {
		uint8_t kind;
		enum msg_type type;
		const void *m;
		enum bridge_result want;
	} rows[] = {
	    {BRIDGE_RECORD, MSG_FS_DONE, &done, BRIDGE_GOES_ON},
	    /* a bridge says these itself */
	    {BRIDGE_RECORD, MSG_FS_STREAMED, &streamed, BRIDGE_BROKEN},
	    {BRIDGE_RECORD, MSG_FS_LOST, &lost, BRIDGE_BROKEN},
	    /* the other way */
	    {BRIDGE_RECORD, MSG_FS_CLOSE, &closing, BRIDGE_BROKEN},
	    /* a body where there is none, and none where there is one */
	    {BRIDGE_HEAD, MSG_FS_DONE, &done, BRIDGE_BROKEN},
	    {BRIDGE_RECORD, MSG_FS_FILE, &file, BRIDGE_BROKEN},
	    {BRIDGE_HEAD, MSG_FS_BLOCK, &block, BRIDGE_GOES_ON},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rig *g = rig_new(ROLE_WORKER);

		assert_int_equal(feed_record(g, rows[i].kind, rows[i].type,
				     rows[i].m),
		    rows[i].want);
		if (rows[i].type == MSG_FS_DONE &&
		    rows[i].kind == BRIDGE_RECORD) {
			struct msg m = hear(g, MSG_FS_DONE);

			assert_int_equal(m.u.fs_done.number, 7);
			msg_done(&m);
		}
		hear_nothing(g);
		rig_free(g);
	}
}

static void
no_message_comes_between_a_head_and_its_end(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rig *g = rig_new(ROLE_WORKER);

		assert_int_equal(feed_record(g, BRIDGE_HEAD, MSG_FS_BLOCK,
				     &block),
		    BRIDGE_GOES_ON);
		assert_int_equal(i == 0 ? feed_record(g, BRIDGE_RECORD,
					      MSG_FS_DONE, &done)
					: feed_record(g, BRIDGE_HEAD,
					      MSG_FS_BLOCK, &block),
		    BRIDGE_BROKEN);
		hear_nothing(g);
		rig_free(g);
	}
}

static void
a_part_or_an_end_needs_a_head(void **state)
{
	struct rig *g = rig_new(ROLE_WORKER);

	(void)state;
	assert_int_equal(feed_part(g, 1), BRIDGE_BROKEN);
	rig_free(g);
	g = rig_new(ROLE_WORKER);
	assert_int_equal(feed_end(g, 0), BRIDGE_BROKEN);
	rig_free(g);
}

/* --- bodies ----------------------------------------------------------------
 */

/* A head whose blob is in a body, as msg_pack makes it. */
static enum bridge_result
head_of_blob(struct rig *g, enum msg_type type)
{
	static const uint8_t bytes[CHANNEL_INLINE_MAX + 1];
	const struct bytes b = {.data = bytes, .len = sizeof bytes};
	const struct msg_fs_block as_block = {.number = 7, .data = b};
	const struct msg_fs_listing listing = {.number = 7, .entries = b};
	const struct msg_fs_write_block as_write = {.number = 7, .data = b};

	return feed_record(g, BRIDGE_HEAD, type,
	    type == MSG_FS_BLOCK	 ? (const void *)&as_block
	    : type == MSG_FS_WRITE_BLOCK ? (const void *)&as_write
					 : (const void *)&listing);
}

static void
a_body_has_its_bound(void **state)
{
	static const struct {
		enum role self;
		enum msg_type type;
		uint64_t max;
	} rows[] = {
	    {ROLE_WORKER, MSG_FS_BLOCK, FS_BLOCK_MAX},
	    {ROLE_WORKER, MSG_FS_LISTING, FS_LISTING_MAX},
	    {ROLE_NET, MSG_FS_WRITE_BLOCK, FS_BLOCK_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (unsigned int over = 0; over < 2; over++) {
			struct rig *g = rig_new(rows[i].self);
			uint64_t left = rows[i].max;
			struct msg m;

			assert_int_equal(head_of_blob(g, rows[i].type),
			    BRIDGE_GOES_ON);
			for (; left > 0; left -= BRIDGE_FRAME_MAX)
				assert_int_equal(feed_part(g, BRIDGE_FRAME_MAX),
				    BRIDGE_GOES_ON);
			if (over > 0) {
				assert_int_equal(feed_part(g, 1),
				    BRIDGE_BROKEN);
				hear_nothing(g);
			} else {
				assert_int_equal(feed_end(g, 0),
				    BRIDGE_GOES_ON);
				m = hear(g, rows[i].type);
				msg_done(&m);
			}
			rig_free(g);
		}
	assert_int_equal(bridge_body_max(MSG_FS_FILE), FS_READ_MAX);
	assert_int_equal(bridge_body_max(MSG_FS_WRITE_FILE), RPC_MESSAGE_MAX);
	assert_int_equal(bridge_body_max(MSG_FS_DONE), 0);
}

/* The bounds that are too large for a test are held by the same lines. */
static void
a_file_has_its_bound(void **state)
{
	for (unsigned int over = 0; over < 2; over++) {
		struct rig *g = rig_new(ROLE_WORKER);
		struct msg m;

		(void)state;
		assert_int_equal(feed_record(g, BRIDGE_HEAD, MSG_FS_FILE,
				     &file),
		    BRIDGE_GOES_ON);
		m = hear(g, MSG_FS_FILE);
		g->bridge.in.len = FS_READ_MAX - 5;
		assert_int_equal(feed_part(g, 5 + over),
		    over > 0 ? BRIDGE_BROKEN : BRIDGE_GOES_ON);
		msg_done(&m);
		rig_free(g);
	}
}

static void
a_file_comes_as_a_pipe(void **state)
{
	struct rig *g = rig_new(ROLE_WORKER);
	struct msg m;
	uint8_t got[8];
	int fd;

	(void)state;
	assert_int_equal(feed_record(g, BRIDGE_HEAD, MSG_FS_FILE, &file),
	    BRIDGE_GOES_ON);
	m = hear(g, MSG_FS_FILE);
	assert_int_equal(m.u.fs_file.streamed, 1);
	fd = msg_take_fd(&m, 0);
	msg_done(&m);
	assert_int_equal(read(fd, got, sizeof got), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(feed_part(g, 3), BRIDGE_GOES_ON);
	assert_int_equal(read(fd, got, sizeof got), 3);
	hear_nothing(g);
	assert_int_equal(feed_end(g, 0), BRIDGE_GOES_ON);
	assert_int_equal(read(fd, got, sizeof got), 0);
	m = hear(g, MSG_FS_STREAMED);
	assert_int_equal(m.u.fs_streamed.number, 7);
	assert_int_equal(m.u.fs_streamed.errnum, 0);
	msg_done(&m);
	(void)close(fd);
	rig_free(g);
}

static void
an_end_tells_an_errno_of_a_file_alone(void **state)
{
	static const struct {
		enum msg_type type;
		uint32_t errnum;
		enum bridge_result want;
	} rows[] = {
	    {MSG_FS_FILE, EIO, BRIDGE_GOES_ON},
	    {MSG_FS_FILE, 4095, BRIDGE_GOES_ON},
	    {MSG_FS_FILE, 4096, BRIDGE_BROKEN},
	    {MSG_FS_BLOCK, 1, BRIDGE_BROKEN},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rig *g = rig_new(ROLE_WORKER);
		struct msg m;

		assert_int_equal(rows[i].type == MSG_FS_FILE
				     ? feed_record(g, BRIDGE_HEAD, MSG_FS_FILE,
					   &file)
				     : head_of_blob(g, rows[i].type),
		    BRIDGE_GOES_ON);
		assert_int_equal(feed_end(g, rows[i].errnum), rows[i].want);
		if (rows[i].type == MSG_FS_FILE) {
			m = hear(g, MSG_FS_FILE);
			msg_done(&m);
		}
		if (rows[i].want == BRIDGE_GOES_ON) {
			m = hear(g, MSG_FS_STREAMED);
			assert_int_equal(m.u.fs_streamed.errnum,
			    rows[i].errnum);
			msg_done(&m);
		}
		hear_nothing(g);
		rig_free(g);
	}
}

static void
a_full_pipe_keeps_the_stream_waiting(void **state)
{
	struct rig *g = rig_new(ROLE_WORKER);
	static uint8_t got[2 * BRIDGE_FRAME_MAX];
	size_t fed = 0, read_all = 0;
	struct msg m;
	int fd;

	(void)state;
	assert_int_equal(feed_record(g, BRIDGE_HEAD, MSG_FS_FILE, &file),
	    BRIDGE_GOES_ON);
	m = hear(g, MSG_FS_FILE);
	fd = msg_take_fd(&m, 0);
	msg_done(&m);
	while (bridge_in_waits(&g->bridge.in) < 0) {
		assert_int_equal(feed_part(g, BRIDGE_FRAME_MAX),
		    BRIDGE_GOES_ON);
		fed += BRIDGE_FRAME_MAX;
		assert_true(fed <= 64 * BRIDGE_FRAME_MAX);
	}
	while (read_all < fed) {
		ssize_t n = read(fd, got, sizeof got);

		assert_true(n > 0);
		read_all += (size_t)n;
		assert_int_equal(run(g), BRIDGE_GOES_ON);
	}
	assert_int_equal(bridge_in_waits(&g->bridge.in), -1);
	(void)close(fd);
	rig_free(g);
}

static void
what_nobody_reads_any_more_is_dropped(void **state)
{
	struct rig *g = rig_new(ROLE_WORKER);
	struct msg m;

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(feed_record(g, BRIDGE_HEAD, MSG_FS_FILE, &file),
	    BRIDGE_GOES_ON);
	m = hear(g, MSG_FS_FILE);
	msg_done(&m);
	for (int i = 0; i < 4; i++)
		assert_int_equal(feed_part(g, BRIDGE_FRAME_MAX),
		    BRIDGE_GOES_ON);
	assert_int_equal(feed_end(g, 0), BRIDGE_GOES_ON);
	m = hear(g, MSG_FS_STREAMED);
	assert_int_equal(m.u.fs_streamed.errnum, EPIPE);
	msg_done(&m);
	rig_free(g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_hello_is_judged),
	    cmocka_unit_test(a_hello_is_given_up_at_its_first_strange_byte),
	    cmocka_unit_test(a_frame_has_its_bounds),
	    cmocka_unit_test(only_what_may_cross_does),
	    cmocka_unit_test(no_message_comes_between_a_head_and_its_end),
	    cmocka_unit_test(a_part_or_an_end_needs_a_head),
	    cmocka_unit_test(a_body_has_its_bound),
	    cmocka_unit_test(a_file_has_its_bound),
	    cmocka_unit_test(a_file_comes_as_a_pipe),
	    cmocka_unit_test(an_end_tells_an_errno_of_a_file_alone),
	    cmocka_unit_test(a_full_pipe_keeps_the_stream_waiting),
	    cmocka_unit_test(what_nobody_reads_any_more_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
