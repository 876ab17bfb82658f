#include "cli/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "tests/unit/unit.h"

struct ends {
	int read, write;
	struct outlet outlet;
};

static int
open_pipe(void **state)
{
	struct ends *p = calloc(1, sizeof *p);
	int fds[2];

	assert_non_null(p);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	p->read = fds[0];
	p->write = fds[1];
	outlet_init(&p->outlet, p->write);
	*state = p;
	return 0;
}

static int
close_pipe(void **state)
{
	struct ends *p = *state;

	outlet_done(&p->outlet);
	fd_close(&p->read);
	fd_close(&p->write);
	free(p);
	return 0;
}

/* len bytes of value, in base64. */
static void
put(struct outlet *o, uint8_t value, size_t len)
{
	scoped_free uint8_t *data = malloc(len);
	scoped_free char *text = malloc(base64_encoded_len(len));

	assert_non_null(data);
	assert_non_null(text);
	memset(data, value, len);
	assert_int_equal(outlet_put_base64(o, text,
			     base64_encode(text, data, len)),
	    0);
}

static void
outlet_writes_what_is_put_in_order(void **state)
{
	struct ends *p = *state;
	char got[8];

	assert_true(outlet_is_empty(&p->outlet));
	assert_int_equal(outlet_put_base64(&p->outlet, "YWI=", 4), 0);
	assert_int_equal(outlet_put_base64(&p->outlet, "", 0), 0);
	assert_int_equal(outlet_put_base64(&p->outlet, "Y2Rl", 4), 0);
	assert_false(outlet_is_empty(&p->outlet));
	assert_int_equal(outlet_flush(&p->outlet), 0);
	assert_true(outlet_is_empty(&p->outlet));
	assert_int_equal(read(p->read, got, sizeof got), 5);
	assert_memory_equal(got, "abcde", 5);
}

static void
outlet_does_not_block_on_a_full_pipe(void **state)
{
	struct ends *p = *state;
	size_t len = 1024 * 1024, got = 0;

	put(&p->outlet, 'x', len);
	assert_true(outlet_is_full(&p->outlet));
	/* A blocked write would end the test by its deadline. */
	while (got < len) {
		char data[8192];
		ssize_t n;

		assert_int_equal(outlet_flush(&p->outlet), 0);
		n = read(p->read, data, sizeof data);
		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(data[i], 'x');
		got += (size_t)n;
	}
	assert_int_equal(got, len);
	assert_true(outlet_is_empty(&p->outlet));
	assert_false(outlet_is_full(&p->outlet));
}

static void
outlet_is_full_at_its_mark(void **state)
{
	struct ends *p = *state;

	put(&p->outlet, 'x', OUTLET_FULL - 1);
	assert_false(outlet_is_full(&p->outlet));
	put(&p->outlet, 'x', 1);
	assert_true(outlet_is_full(&p->outlet));
}

static void
outlet_takes_puts_between_flushes(void **state)
{
	struct ends *p = *state;
	size_t put_len = 0, got = 0;
	uint8_t value = 0, want = 0;

	for (int round = 0; round < 200; round++) {
		uint8_t data[3000];
		ssize_t n;

		put(&p->outlet, value++, 1000);
		put_len += 1000;
		assert_int_equal(outlet_flush(&p->outlet), 0);
		n = read(p->read, data, 1 + (size_t)round % sizeof data);
		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++, got++) {
			want = (uint8_t)(got / 1000);
			assert_int_equal(data[i], want);
		}
	}
	assert_true(got < put_len);
}

static void
outlet_drops_what_nobody_reads(void **state)
{
	struct ends *p = *state;

	fd_close(&p->read);
	put(&p->outlet, 'x', 10);
	assert_int_equal(outlet_flush(&p->outlet), 0);
	assert_true(p->outlet.broken);
	assert_true(outlet_is_empty(&p->outlet));
	put(&p->outlet, 'x', OUTLET_FULL);
	assert_true(outlet_is_empty(&p->outlet));
	assert_int_equal(outlet_flush(&p->outlet), 0);
}

static void
outlet_refuses_bad_base64_and_keeps_the_rest(void **state)
{
	static const char *const rows[] = {"A",
	    "AB=", "AB==CD==", "A*==", "AAA\n", "====", "AB=C"};
	struct ends *p = *state;

	assert_int_equal(outlet_put_base64(&p->outlet, "YWI=", 4), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t before = p->outlet.waiting.len;

		assert_int_equal(outlet_put_base64(&p->outlet, rows[i],
				     strlen(rows[i])),
		    -EINVAL);
		assert_int_equal(p->outlet.waiting.len, before);
	}
}

static void
outlet_reports_no_memory_and_more_than_its_bound(void **state)
{
	struct ends *p = *state;

	alloc_fail_at(1);
	assert_int_equal(outlet_put_base64(&p->outlet, "YWI=", 4), -ENOMEM);
	alloc_fail_at(0);
	assert_true(outlet_is_empty(&p->outlet));
	assert_int_equal(outlet_put_base64(&p->outlet, "",
			     (size_t)4 * OUTLET_PUT_MAX),
	    -EMSGSIZE);
	assert_true(outlet_is_empty(&p->outlet));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define ROW(f) cmocka_unit_test_setup_teardown(f, open_pipe, close_pipe)
	    ROW(outlet_writes_what_is_put_in_order),
	    ROW(outlet_does_not_block_on_a_full_pipe),
	    ROW(outlet_is_full_at_its_mark),
	    ROW(outlet_takes_puts_between_flushes),
	    ROW(outlet_drops_what_nobody_reads),
	    ROW(outlet_refuses_bad_base64_and_keeps_the_rest),
	    ROW(outlet_reports_no_memory_and_more_than_its_bound),
#undef ROW
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("outlet", tests, NULL, NULL);
}
