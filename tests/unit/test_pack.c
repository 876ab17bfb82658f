#include "privsep/pack.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

/* A list of the NULL-terminated strings of items. */
static void
put_list(struct buf *b, const char *const *items)
{
	for (; *items != NULL; items++)
		assert_int_equal(buf_put_cstring(b, *items), 0);
}

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

/* Bytes that may hold zeros. */
#define RAW(literal)                                                           \
	((struct bytes){.data = (const uint8_t *)(literal),                    \
	    .len = sizeof(literal) - 1})

static void
strings_come_back_in_order(void **state)
{
	static const char *const items[] = {"a", "", "third", NULL};
	scoped_buf b;
	struct reader r;
	struct bytes s;
	size_t count;

	(void)state;
	buf_init(&b, 256);
	put_list(&b, items);
	assert_true(strings_check(view(&b), 3, 5, &count));
	assert_int_equal(count, 3);
	reader_init(&r, b.data, b.len);
	for (size_t i = 0; i < count; i++)
		assert_true(strings_next(&r, &s) && bytes_is(s, items[i]));
	assert_false(strings_next(&r, &s));
	assert_true(strings_check((struct bytes){0}, 0, 0, &count));
	assert_int_equal(count, 0);
}

static void
strings_check_refuses(void **state)
{
	static const struct {
		struct bytes list;
		size_t items_max, len_max;
	} rows[] = {
	    {{(const uint8_t *)"\1\0\0\0a\1\0\0\0b", 10}, 1, 9},
	    {{(const uint8_t *)"\2\0\0\0ab", 6}, 9, 1},
	    {{(const uint8_t *)"\2\0\0\0a", 5}, 9, 9},
	    {{(const uint8_t *)"\1\0\0\0ab", 6}, 9, 9},
	    {{(const uint8_t *)"\1\0\0", 3}, 9, 9},
	    {{(const uint8_t *)"\377\377\377\377a", 5}, 9, SIZE_MAX},
	    {{(const uint8_t *)"\0\0\0\0", 4}, 0, 9},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t count = 77;

		if (strings_check(rows[i].list, rows[i].items_max,
			rows[i].len_max, &count))
			fail_msg("row %zu", i);
		assert_int_equal(count, 77);
	}
}

static void
limits_survive_the_trip(void **state)
{
	struct limits l, got = {0};
	scoped_buf b;

	(void)state;
	buf_init(&b, 4096);
	limits_init(&l);
	l.session_retention = 0;
	l.workers_max = 64;
	assert_int_equal(limits_pack(&l, &b), 0);
	assert_true(limits_unpack(view(&b), &got));
	assert_memory_equal(&got, &l, sizeof l);
}

static void
limits_unpack_refuses_values_out_of_bounds(void **state)
{
	struct limits l, got = {0};
	scoped_buf b;

	(void)state;
	buf_init(&b, 4096);
	for (unsigned int i = 0; i < LIMIT_ROWS; i++) {
		limits_init(&l);
		limits_set(&l, i, limit_rows[i].max + 1);
		buf_clear(&b);
		assert_int_equal(limits_pack(&l, &b), 0);
		assert_false(limits_unpack(view(&b), &got));
		if (limit_rows[i].min == 0)
			continue;
		limits_set(&l, i, limit_rows[i].min - 1);
		buf_clear(&b);
		assert_int_equal(limits_pack(&l, &b), 0);
		assert_false(limits_unpack(view(&b), &got));
	}
	assert_true(got.session_retention == 0 && got.fs_deadline == 0);
}

static void
limits_unpack_refuses_another_length(void **state)
{
	struct limits l, got = {0};
	scoped_buf b;

	(void)state;
	buf_init(&b, 4096);
	limits_init(&l);
	assert_int_equal(limits_pack(&l, &b), 0);
	for (size_t len = 0; len < b.len; len++)
		assert_false(
		    limits_unpack((struct bytes){.data = b.data, .len = len},
			&got));
	assert_int_equal(buf_put_u8(&b, 0), 0);
	assert_false(limits_unpack(view(&b), &got));
}

/* A packed sandbox object: disabled, with a cwd. */
#define ANY_SANDBOX "\1\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0/\0\0\0\0\0\0\0\0"

/* A request that uses every member. */
static struct spec
full_spec(void)
{
	return (struct spec){
	    .cwd = RAW("/w"),
	    .argv = RAW("\2\0\0\0sh\2\0\0\0-c"),
	    .arg0 = RAW("-sh"),
	    .env = RAW("\1\0\0\0A\1\0\0\0b"),
	    .exclude = RAW("\2\0\0\0X*"),
	    .set = RAW("\1\0\0\0S\0\0\0\0"),
	    .include_only = RAW("\1\0\0\0*"),
	    .inherit = ENV_INHERIT_ALL,
	    .has_policy = true,
	    .ignore_default_excludes = true,
	    .has_arg0 = true,
	    .tty = true,
	    .pipe_stdin = true,
	    .sandbox = RAW(ANY_SANDBOX),
	    .managed_network = true,
	    .network_proxy = true,
	};
}

static void
assert_same(const struct spec *a, const struct spec *b)
{
	assert_true(bytes_equal(a->cwd, b->cwd));
	assert_true(bytes_equal(a->argv, b->argv));
	assert_true(bytes_equal(a->arg0, b->arg0));
	assert_true(bytes_equal(a->env, b->env));
	assert_true(bytes_equal(a->exclude, b->exclude));
	assert_true(bytes_equal(a->set, b->set));
	assert_true(bytes_equal(a->include_only, b->include_only));
	assert_int_equal(a->inherit, b->inherit);
	assert_true(bytes_equal(a->sandbox, b->sandbox));
	assert_int_equal(a->has_policy, b->has_policy);
	assert_int_equal(a->ignore_default_excludes,
	    b->ignore_default_excludes);
	assert_int_equal(a->has_arg0, b->has_arg0);
	assert_int_equal(a->tty, b->tty);
	assert_int_equal(a->pipe_stdin, b->pipe_stdin);
	assert_int_equal(a->managed_network, b->managed_network);
	assert_int_equal(a->network_proxy, b->network_proxy);
}

static void
check_round_trip(const struct spec *s)
{
	struct spec got = {0};
	struct err e = {0};
	scoped_buf b;

	buf_init(&b, 4096);
	assert_int_equal(spec_pack(s, &b), 0);
	assert_int_equal(spec_unpack(view(&b), &got, &e), 0);
	assert_same(s, &got);
}

static void
spec_survives_the_trip(void **state)
{
	struct spec s = full_spec();
	const struct spec least = {.cwd = RAW("/"), .argv = RAW("\0\0\0\0")};

	(void)state;
	check_round_trip(&s);
	check_round_trip(&least);
	s.tty = false;
	check_round_trip(&s);
	s.network_proxy = false;
	s.has_policy = false;
	check_round_trip(&s);
}

static void
spec_pack_appends_all_or_nothing(void **state)
{
	struct spec s = full_spec();
	scoped_buf b;
	size_t whole;

	(void)state;
	buf_init(&b, 4096);
	assert_int_equal(spec_pack(&s, &b), 0);
	whole = b.len;
	for (size_t max = 0; max < whole; max++) {
		scoped_buf small;

		buf_init(&small, max);
		assert_int_equal(spec_pack(&s, &small), -EMSGSIZE);
		assert_int_equal(small.len, 0);
	}
}

static void
spec_unpack_refuses_what_is_cut_or_too_long(void **state)
{
	const struct spec s = full_spec();
	struct spec got = {0};
	struct err e;
	scoped_buf b;

	(void)state;
	buf_init(&b, 4096);
	assert_int_equal(spec_pack(&s, &b), 0);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(spec_unpack((struct bytes){.data = b.data,
						 .len = len},
				     &got, &e),
		    -EPROTO);
	assert_int_equal(buf_put_u8(&b, 0), 0);
	assert_int_equal(spec_unpack(view(&b), &got, &e), -EPROTO);
	assert_null(got.cwd.data);
}

/* One member of a good request is replaced. */
enum member { CWD, ARGV, ARG0, ENV, EXCLUDE, SET, INCLUDE_ONLY, SANDBOX };

static const struct {
	const char *name;
	enum member member;
	struct bytes value;
} malformed[] = {
    {"cwd empty", CWD, {0}},
    {"cwd relative", CWD, {(const uint8_t *)"w", 1}},
    {"cwd with dots", CWD, {(const uint8_t *)"/w/../x", 7}},
    {"cwd with a slash at its end", CWD, {(const uint8_t *)"/w/", 3}},
    {"cwd with NUL", CWD, {(const uint8_t *)"/w\0x", 4}},
    {"cwd ends in NUL", CWD, {(const uint8_t *)"/w", 3}},
    {"argv empty", ARGV, {0}},
    {"argv cut", ARGV, {(const uint8_t *)"\2\0\0\0s", 5}},
    {"argv length cut", ARGV, {(const uint8_t *)"\1\0\0", 3}},
    {"argv one byte more", ARGV, {(const uint8_t *)"\1\0\0\0ax", 6}},
    {"argv huge", ARGV, {(const uint8_t *)"\377\377\377\377a", 5}},
    {"argv with NUL", ARGV, {(const uint8_t *)"\2\0\0\0a\0", 6}},
    {"argv second with NUL", ARGV,
	{(const uint8_t *)"\1\0\0\0a\1\0\0\0\0", 10}},
    {"arg0 with NUL", ARG0, {(const uint8_t *)"a\0b", 3}},
    {"env name alone", ENV, {(const uint8_t *)"\1\0\0\0A", 5}},
    {"env three", ENV, {(const uint8_t *)"\1\0\0\0A\1\0\0\0b\1\0\0\0C", 15}},
    {"env name with NUL", ENV, {(const uint8_t *)"\2\0\0\0A\0\1\0\0\0b", 11}},
    {"env value with NUL", ENV, {(const uint8_t *)"\1\0\0\0A\2\0\0\0b\0", 11}},
    {"env cut", ENV, {(const uint8_t *)"\1\0\0\0A\2\0\0\0b", 10}},
    {"env one byte", ENV, {(const uint8_t *)"\1", 1}},
    {"exclude cut", EXCLUDE, {(const uint8_t *)"\3\0\0\0X*", 6}},
    {"exclude with NUL", EXCLUDE, {(const uint8_t *)"\2\0\0\0X\0", 6}},
    {"exclude junk", EXCLUDE, {(const uint8_t *)"xyz", 3}},
    {"set name alone", SET, {(const uint8_t *)"\1\0\0\0S", 5}},
    {"set cut", SET, {(const uint8_t *)"\1\0\0\0S\1\0\0\0", 9}},
    {"set name with NUL", SET, {(const uint8_t *)"\1\0\0\0\0\0\0\0\0", 9}},
    {"set value with NUL", SET, {(const uint8_t *)"\1\0\0\0S\1\0\0\0\0", 10}},
    {"include cut", INCLUDE_ONLY, {(const uint8_t *)"\2\0\0\0*", 5}},
    {"include with NUL", INCLUDE_ONLY, {(const uint8_t *)"\2\0\0\0*\0", 6}},
    {"include huge", INCLUDE_ONLY, {(const uint8_t *)"\0\0\0\200*", 5}},
    {"sandbox cut", SANDBOX, {(const uint8_t *)ANY_SANDBOX, 24}},
    {"sandbox kind", SANDBOX, {(const uint8_t *)"\5" ANY_SANDBOX, 26}},
};

static void
replace(struct spec *s, enum member member, struct bytes value)
{
	struct bytes *at[] = {
	    [CWD] = &s->cwd,
	    [ARGV] = &s->argv,
	    [ARG0] = &s->arg0,
	    [ENV] = &s->env,
	    [EXCLUDE] = &s->exclude,
	    [SET] = &s->set,
	    [INCLUDE_ONLY] = &s->include_only,
	    [SANDBOX] = &s->sandbox,
	};

	*at[member] = value;
}

static void
spec_unpack_refuses_malformed_members(void **state)
{
	scoped_buf b;

	(void)state;
	buf_init(&b, 4096);
	for (size_t i = 0; i < COUNT(malformed); i++) {
		struct spec s = full_spec(), got = {0};
		struct err e = {0};

		replace(&s, malformed[i].member, malformed[i].value);
		buf_clear(&b);
		assert_int_equal(spec_pack(&s, &b), 0);
		if (spec_unpack(view(&b), &got, &e) != -EPROTO)
			fail_msg("%s was taken", malformed[i].name);
		assert_true(e.code == EPROTO && e.text[0] != '\0');
		assert_null(got.cwd.data);
	}
}

static void
spec_unpack_refuses_numbers_out_of_range(void **state)
{
	/* Offsets of the numbers at the head: flags, inherit. */
	static const struct {
		size_t at;
		uint8_t value[4];
	} rows[] = {
	    {0, {128, 0, 0, 0}}, /* a flag that is none */
	    {0, {0, 1, 0, 0}},
	    {0, {0, 0, 0, 128}},
	    {0, {255, 255, 255, 255}},
	    {4, {ENV_INHERIT_ALL + 1, 0, 0, 0}},
	    {4, {0, 0, 0, 1}},
	};
	const struct spec s = full_spec();
	scoped_buf b;

	(void)state;
	buf_init(&b, 4096);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct spec got = {0};
		struct err e;

		buf_clear(&b);
		assert_int_equal(spec_pack(&s, &b), 0);
		memcpy(b.data + rows[i].at, rows[i].value, 4);
		if (spec_unpack(view(&b), &got, &e) != -EPROTO)
			fail_msg("row %zu was taken", i);
	}
}

static void
spec_unpack_refuses_one_item_too_many(void **state)
{
	struct spec s = full_spec(), got = {0};
	struct err e;
	scoped_buf env, b;

	(void)state;
	buf_init(&env, PROCESS_SPEC_MAX);
	buf_init(&b, 2 * PROCESS_SPEC_MAX);
	for (size_t i = 0; i < 2 * PROCESS_ITEMS_MAX; i++)
		assert_int_equal(buf_put_cstring(&env, ""), 0);
	s.env = view(&env);
	assert_int_equal(spec_pack(&s, &b), 0);
	assert_int_equal(spec_unpack(view(&b), &got, &e), 0);
	assert_int_equal(buf_put_cstring(&env, ""), 0);
	assert_int_equal(buf_put_cstring(&env, ""), 0);
	s.env = view(&env);
	buf_clear(&b);
	assert_int_equal(spec_pack(&s, &b), 0);
	assert_int_equal(spec_unpack(view(&b), &got, &e), -EPROTO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(strings_come_back_in_order),
	    cmocka_unit_test(strings_check_refuses),
	    cmocka_unit_test(limits_survive_the_trip),
	    cmocka_unit_test(limits_unpack_refuses_values_out_of_bounds),
	    cmocka_unit_test(limits_unpack_refuses_another_length),
	    cmocka_unit_test(spec_survives_the_trip),
	    cmocka_unit_test(spec_pack_appends_all_or_nothing),
	    cmocka_unit_test(spec_unpack_refuses_what_is_cut_or_too_long),
	    cmocka_unit_test(spec_unpack_refuses_malformed_members),
	    cmocka_unit_test(spec_unpack_refuses_numbers_out_of_range),
	    cmocka_unit_test(spec_unpack_refuses_one_item_too_many),
	};

	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
