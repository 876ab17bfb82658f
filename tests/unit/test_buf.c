#include "base/buf.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
buf_put_grows_up_to_max(void **state)
{
	scoped_buf b;

	(void)state;
	buf_init(&b, 1000);
	assert_null(b.data);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_put_u8(&b, (uint8_t)i), 0);
	assert_int_equal(b.len, 1000);
	assert_true(b.cap <= b.max);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(b.data[i], (uint8_t)i);
}

static void
buf_put_refuses_past_max(void **state)
{
	static const uint8_t nine[9] = {0};
	scoped_buf b;

	(void)state;
	buf_init(&b, 8);
	assert_int_equal(buf_put(&b, nine, 9), -EMSGSIZE);
	assert_int_equal(b.len, 0);
	assert_int_equal(buf_put(&b, "abcdefgh", 8), 0);
	assert_int_equal(buf_put_u8(&b, 1), -EMSGSIZE);
	assert_int_equal(buf_put_u32(&b, 1), -EMSGSIZE);
	assert_int_equal(buf_put_u64(&b, 1), -EMSGSIZE);
	assert_int_equal(buf_put_cstring(&b, ""), -EMSGSIZE);
	assert_int_equal(buf_printf(&b, "%s", "x"), -EMSGSIZE);
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -EMSGSIZE);
	assert_int_equal(buf_put_string(&b, nine, SIZE_MAX), -EMSGSIZE);
	assert_int_equal(buf_put(&b, NULL, 0), 0);
	assert_true(b.len == 8 && memcmp(b.data, "abcdefgh", 8) == 0);
}

static void
buf_put_string_is_whole_or_nothing(void **state)
{
	scoped_buf b;

	(void)state;
	buf_init(&b, 8);
	assert_int_equal(buf_put_string(&b, "abcde", 5), -EMSGSIZE);
	assert_int_equal(b.len, 0);
	assert_int_equal(buf_put_string(&b, "abcd", 4), 0);
	assert_memory_equal(b.data, "\4\0\0\0abcd", 8);
}

static void
buf_printf_fills_to_max(void **state)
{
	scoped_buf b;

	(void)state;
	buf_init(&b, 8);
	assert_int_equal(buf_printf(&b, "%d%s", 1234, "wxyz"), 0);
	assert_true(b.len == 8 && memcmp(b.data, "1234wxyz", 8) == 0);
	buf_clear(&b);
	assert_int_equal(buf_printf(&b, "%s", "123456789"), -EMSGSIZE);
	assert_int_equal(b.len, 0);
}

static void
integers_are_little_endian(void **state)
{
	scoped_buf b;

	(void)state;
	buf_init(&b, 64);
	assert_int_equal(buf_put_u32(&b, 0x04030201), 0);
	assert_int_equal(buf_put_u64(&b, UINT64_C(0x0807060504030201)), 0);
	assert_memory_equal(b.data, "\1\2\3\4\1\2\3\4\5\6\7\10", 12);
}

static void
buf_consume_removes_from_the_front(void **state)
{
	scoped_buf b;

	(void)state;
	buf_init(&b, 64);
	assert_int_equal(buf_put(&b, "abcdef", 6), 0);
	buf_consume(&b, 0);
	assert_int_equal(b.len, 6);
	buf_consume(&b, 2);
	assert_true(b.len == 4 && memcmp(b.data, "cdef", 4) == 0);
	buf_consume(&b, 99);
	assert_int_equal(b.len, 0);
}

static void
buf_done_leaves_an_empty_buffer(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 64);
	assert_int_equal(buf_put(&b, "abc", 3), 0);
	buf_done(&b);
	assert_true(b.data == NULL && b.len == 0 && b.max == 64);
	assert_int_equal(buf_put(&b, "abc", 3), 0);
	buf_done(&b);
	buf_done(&b);
}

static void
buf_is_unchanged_when_memory_runs_out(void **state)
{
	static const uint8_t more[4096] = {0};
	scoped_buf b;

	(void)state;
	buf_init(&b, 8192);
	alloc_fail_at(1);
	assert_int_equal(buf_put(&b, "abc", 3), -ENOMEM);
	assert_true(b.data == NULL && b.len == 0);
	alloc_fail_at(0);
	assert_int_equal(buf_put(&b, "abc", 3), 0);
	alloc_fail_at(1);
	assert_int_equal(buf_put(&b, more, sizeof more), -ENOMEM);
	assert_true(alloc_failed());
	alloc_fail_at(0);
	assert_true(b.len == 3 && memcmp(b.data, "abc", 3) == 0);
	alloc_fail_at(1);
	assert_null(bytes_dup(bytes_of("x")));
	alloc_fail_at(0);
}

static void
reader_returns_what_was_put(void **state)
{
	scoped_buf b;
	struct reader r;
	struct bytes s;
	uint8_t v8;
	uint32_t v32;
	uint64_t v64;

	(void)state;
	buf_init(&b, 256);
	assert_int_equal(buf_put_u8(&b, 0xfe), 0);
	assert_int_equal(buf_put_u32(&b, UINT32_MAX), 0);
	assert_int_equal(buf_put_u64(&b, UINT64_MAX - 1), 0);
	assert_int_equal(buf_put_cstring(&b, "word"), 0);
	assert_int_equal(buf_put_string(&b, NULL, 0), 0);
	reader_init(&r, b.data, b.len);
	assert_true(buf_get_u8(&r, &v8) && v8 == 0xfe);
	assert_true(buf_get_u32(&r, &v32) && v32 == UINT32_MAX);
	assert_true(buf_get_u64(&r, &v64) && v64 == UINT64_MAX - 1);
	assert_true(buf_get_string(&r, &s, 4) && bytes_is(s, "word"));
	assert_false(buf_get_end(&r));
	assert_true(buf_get_string(&r, &s, 0) && s.len == 0);
	assert_true(buf_get_end(&r));
}

static void
reader_fails_on_what_is_cut_and_stays_failed(void **state)
{
	static const uint8_t raw[] = {1, 2, 3, 4, 5, 6, 7};
	struct bytes s = {0};
	struct reader r;
	uint32_t v32 = 99;
	uint64_t v64 = 99;
	uint8_t v8 = 99;

	(void)state;
	reader_init(&r, raw, sizeof raw);
	assert_false(buf_get_u64(&r, &v64));
	assert_true(v64 == 99);
	assert_false(buf_get_u8(&r, &v8));
	assert_int_equal(v8, 99);
	assert_false(buf_get_end(&r));
	reader_init(&r, raw, 3);
	assert_false(buf_get_u32(&r, &v32));
	assert_int_equal(v32, 99);
	reader_init(&r, NULL, 0);
	assert_true(buf_get_end(&r));
	assert_false(buf_get_string(&r, &s, 10));
	assert_null(s.data);
}

static void
reader_refuses_strings_that_lie(void **state)
{
	static const struct {
		uint8_t raw[6];
		size_t len, max;
	} rows[] = {
	    {{3, 0, 0, 0, 'a', 'b'}, 6, 10},	     /* longer than it is */
	    {{2, 0, 0, 0, 'a', 'b'}, 6, 1},	     /* past the bound */
	    {{255, 255, 255, 255, 'a', 'b'}, 6, 10}, /* huge */
	    {{255, 255, 255, 255, 'a', 'b'}, 6, SIZE_MAX},
	    {{1, 0, 0, 0}, 4, 10}, /* nothing follows */
	    {{1, 0, 0}, 3, 10},	   /* length is cut */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bytes s = {0};
		struct reader r;

		reader_init(&r, rows[i].raw, rows[i].len);
		if (buf_get_string(&r, &s, rows[i].max))
			fail_msg("row %zu", i);
		assert_true(s.data == NULL && r.failed);
	}
}

static void
bytes_compare_by_content(void **state)
{
	const struct bytes nothing = {0};
	char *copy = bytes_dup(bytes_of("word"));

	(void)state;
	assert_true(bytes_is(bytes_of("word"), "word"));
	assert_false(bytes_is(bytes_of("word"), "words"));
	assert_false(bytes_is(bytes_of("word"), "wor"));
	assert_true(bytes_is(nothing, ""));
	assert_true(bytes_equal(nothing, bytes_of("")));
	assert_false(bytes_has_nul(bytes_of("word")));
	assert_false(bytes_has_nul(nothing));
	assert_true(bytes_has_nul(
	    (struct bytes){.data = (const uint8_t *)"a\0b", .len = 3}));
	assert_string_equal(copy, "word");
	free(copy);
	copy = bytes_dup(nothing);
	assert_string_equal(copy, "");
	free(copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(buf_put_grows_up_to_max),
	    cmocka_unit_test(buf_put_refuses_past_max),
	    cmocka_unit_test(buf_put_string_is_whole_or_nothing),
	    cmocka_unit_test(buf_printf_fills_to_max),
	    cmocka_unit_test(integers_are_little_endian),
	    cmocka_unit_test(buf_consume_removes_from_the_front),
	    cmocka_unit_test(buf_done_leaves_an_empty_buffer),
	    cmocka_unit_test(buf_is_unchanged_when_memory_runs_out),
	    cmocka_unit_test(reader_returns_what_was_put),
	    cmocka_unit_test(reader_fails_on_what_is_cut_and_stays_failed),
	    cmocka_unit_test(reader_refuses_strings_that_lie),
	    cmocka_unit_test(bytes_compare_by_content),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
