#include "net/output.h"

#include <string.h>

#include "base/limits.h"
#include "tests/unit/unit.h"

static struct bytes
filled(size_t len)
{
	static uint8_t data[STREAM_READ_MAX];

	return (struct bytes){.data = data, .len = len};
}

static void
output_numbers_events_without_gaps(void **state)
{
	struct output o;

	(void)state;
	output_init(&o);
	assert_int_equal(output_append(&o, STREAM_STDOUT, filled(1)), 1);
	assert_int_equal(output_event(&o), 2);
	assert_int_equal(output_append(&o, STREAM_STDERR, filled(1)), 3);
	assert_int_equal(o.next_seq, 4);
	output_done(&o);
}

static void
output_keeps_the_newest_and_drops_whole_chunks(void **state)
{
	struct output o;
	size_t kept = 0;

	(void)state;
	output_init(&o);
	for (int i = 0; i < 40; i++)
		(void)output_append(&o, STREAM_PTY, filled(STREAM_READ_MAX));
	for (const struct chunk *c = output_after(&o, 0); c != NULL;
	     c = TAILQ_NEXT(c, link)) {
		assert_int_equal(c->len, STREAM_READ_MAX);
		kept += c->len;
	}
	assert_true(kept <= PROCESS_OUTPUT_MAX);
	assert_true(kept > PROCESS_OUTPUT_MAX - 2 * STREAM_READ_MAX);
	assert_int_equal(TAILQ_LAST(&o.chunks, chunk_list)->seq, 40);
	output_done(&o);
	assert_int_equal(o.kept, 0);
}

static void
output_keeps_exactly_the_maximum(void **state)
{
	struct output o;

	(void)state;
	output_init(&o);
	for (int i = 0; i < 16; i++)
		(void)output_append(&o, STREAM_STDOUT, filled(STREAM_READ_MAX));
	assert_int_equal(o.kept, PROCESS_OUTPUT_MAX);
	assert_int_equal(output_after(&o, 0)->seq, 1);
	(void)output_append(&o, STREAM_STDOUT, filled(1));
	assert_int_equal(output_after(&o, 0)->seq, 2);
	output_done(&o);
}

/* A program that writes single bytes must not fill memory with bookkeeping. */
static void
output_bounds_the_count_of_tiny_chunks(void **state)
{
	struct output o;

	(void)state;
	output_init(&o);
	for (int i = 0; i < 100000; i++)
		(void)output_append(&o, STREAM_STDOUT, filled(1));
	assert_int_equal(o.count, PROCESS_CHUNKS_MAX);
	assert_int_equal(output_after(&o, 0)->seq,
	    100000 - PROCESS_CHUNKS_MAX + 1);
	output_done(&o);
}

static void
output_after_finds_the_next_chunk(void **state)
{
	struct output o;

	(void)state;
	output_init(&o);
	(void)output_append(&o, STREAM_STDOUT, filled(1));
	(void)output_event(&o);
	(void)output_append(&o, STREAM_STDOUT, filled(1));
	assert_int_equal(output_after(&o, 0)->seq, 1);
	assert_int_equal(output_after(&o, 1)->seq, 3);
	assert_int_equal(output_after(&o, 2)->seq, 3);
	assert_null(output_after(&o, 3));
	assert_null(output_after(&o, UINT64_MAX));
	output_done(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(output_numbers_events_without_gaps),
	    cmocka_unit_test(output_keeps_the_newest_and_drops_whole_chunks),
	    cmocka_unit_test(output_keeps_exactly_the_maximum),
	    cmocka_unit_test(output_bounds_the_count_of_tiny_chunks),
	    cmocka_unit_test(output_after_finds_the_next_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
