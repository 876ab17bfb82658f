#include "privsep/sandbox_spec.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/unit.h"

/* An initialiser of bytes that may hold zeros. */
#define RAW(literal)                                                           \
	{                                                                      \
		.data = (const uint8_t *)(literal), .len = sizeof(literal) - 1 \
	}

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

static const struct sandbox_entry all_kinds[] = {
    {SANDBOX_PATH, SANDBOX_READ, false, RAW("/a/b")},
    {SANDBOX_PATH, SANDBOX_DENY, true, RAW("/")},
    {SANDBOX_GLOB, SANDBOX_DENY, false, RAW("**/*.env")},
    {SANDBOX_ROOT, SANDBOX_READ, false, {0}},
    {SANDBOX_MINIMAL, SANDBOX_READ, false, {0}},
    {SANDBOX_CWD, SANDBOX_WRITE, false, {0}},
    {SANDBOX_PROJECT_ROOTS, SANDBOX_WRITE, false, {0}},
    {SANDBOX_PROJECT_ROOTS, SANDBOX_READ, true, RAW(".git/hooks")},
    {SANDBOX_TMPDIR, SANDBOX_WRITE, false, {0}},
    {SANDBOX_SLASH_TMP, SANDBOX_WRITE, false, {0}},
    {SANDBOX_UNKNOWN, SANDBOX_READ, false, {0}},
};

static void
put_all(struct buf *entries)
{
	buf_init(entries, SANDBOX_SPEC_MAX);
	for (size_t i = 0; i < COUNT(all_kinds); i++)
		assert_int_equal(sandbox_entry_put(entries, &all_kinds[i]), 0);
}

static struct sandbox_spec
full_spec(const struct buf *entries)
{
	return (struct sandbox_spec){
	    .kind = SANDBOX_RESTRICTED,
	    .network_enabled = true,
	    .has_roots = true,
	    .glob_scan_max_depth = 7,
	    .cwd = RAW("/w"),
	    .roots = RAW("\2\0\0\0/w\4\0\0\0/x/y"),
	    .entries = view(entries),
	};
}

static void
a_spec_survives_the_trip(void **state)
{
	struct sandbox_spec s, got = {0};
	struct sandbox_entry entry;
	scoped_buf entries, packed, again;
	struct reader r;
	struct err e;

	(void)state;
	put_all(&entries);
	buf_init(&packed, SANDBOX_SPEC_MAX);
	buf_init(&again, SANDBOX_SPEC_MAX);
	s = full_spec(&entries);
	assert_int_equal(sandbox_spec_pack(&s, &packed), 0);
	assert_int_equal(sandbox_spec_unpack(view(&packed), &got, &e), 0);
	assert_int_equal(got.kind, s.kind);
	assert_true(got.network_enabled && got.has_roots);
	assert_int_equal(got.glob_scan_max_depth, 7);
	assert_true(bytes_equal(got.cwd, s.cwd));
	assert_true(bytes_equal(got.roots, s.roots));
	reader_init(&r, got.entries.data, got.entries.len);
	for (size_t i = 0; i < COUNT(all_kinds); i++) {
		assert_true(sandbox_entry_next(&r, &entry));
		assert_int_equal(entry.path, all_kinds[i].path);
		assert_int_equal(entry.access, all_kinds[i].access);
		assert_int_equal(entry.skip_missing, all_kinds[i].skip_missing);
		assert_true(bytes_equal(entry.text, all_kinds[i].text));
	}
	assert_false(sandbox_entry_next(&r, &entry));
	assert_int_equal(sandbox_spec_pack(&got, &again), 0);
	assert_true(bytes_equal(view(&packed), view(&again)));
}

static void
null_is_no_bytes(void **state)
{
	struct sandbox_spec s = {.kind = SANDBOX_NULL};
	struct err e;
	scoped_buf packed;

	(void)state;
	buf_init(&packed, 16);
	assert_int_equal(sandbox_spec_pack(&s, &packed), 0);
	assert_int_equal(packed.len, 0);
	s.kind = SANDBOX_EXTERNAL;
	assert_int_equal(sandbox_spec_unpack(view(&packed), &s, &e), 0);
	assert_int_equal(s.kind, SANDBOX_NULL);
}

static void
packing_appends_all_or_nothing(void **state)
{
	scoped_buf entries, packed;
	struct sandbox_spec s;
	size_t whole;

	(void)state;
	put_all(&entries);
	buf_init(&packed, SANDBOX_SPEC_MAX);
	s = full_spec(&entries);
	assert_int_equal(sandbox_spec_pack(&s, &packed), 0);
	whole = packed.len;
	for (size_t max = 0; max < whole; max++) {
		scoped_buf small;

		buf_init(&small, max);
		assert_int_equal(sandbox_spec_pack(&s, &small), -EMSGSIZE);
		assert_int_equal(small.len, 0);
	}
}

static void
what_is_cut_or_too_long_is_refused(void **state)
{
	struct sandbox_spec s, got = {0};
	scoped_buf entries, packed;
	struct err e;

	(void)state;
	put_all(&entries);
	buf_init(&packed, SANDBOX_SPEC_MAX);
	s = full_spec(&entries);
	assert_int_equal(sandbox_spec_pack(&s, &packed), 0);
	for (size_t len = 1; len < packed.len; len++)
		assert_int_equal(
		    sandbox_spec_unpack((struct bytes){.data = packed.data,
					    .len = len},
			&got, &e),
		    -EPROTO);
	assert_int_equal(buf_put_u8(&packed, 0), 0);
	assert_int_equal(sandbox_spec_unpack(view(&packed), &got, &e), -EPROTO);
	assert_int_equal(got.kind, SANDBOX_NULL);
}

/* Packed entries, each a good or a bad one alone. */
static const struct {
	const char *name;
	struct bytes entries;
} bad_entries[] = {
    {"path out of range", RAW("\11\0\0\0\0\0\0")},
    {"access out of range", RAW("\3\3\0\0\0\0\0")},
    {"flag out of range", RAW("\3\0\2\0\0\0\0")},
    {"cut in the head", RAW("\3\0")},
    {"cut in the length", RAW("\3\0\0\0\0")},
    {"cut in the text", RAW("\0\0\0\2\0\0\0/")},
    {"huge length", RAW("\0\0\0\377\377\377\377/")},
    {"second is cut", RAW("\3\0\0\0\0\0\0\3")},
    {"path empty", RAW("\0\0\0\0\0\0\0")},
    {"path relative", RAW("\0\0\0\1\0\0\0a")},
    {"path with slash at the end", RAW("\0\0\0\3\0\0\0/a/")},
    {"path with two slashes", RAW("\0\0\0\4\0\0\0/a//")},
    {"path that begins with two", RAW("\0\0\0\3\0\0\0//a")},
    {"path with dot", RAW("\0\0\0\4\0\0\0/a/.")},
    {"path with dots", RAW("\0\0\0\7\0\0\0/a/../b")},
    {"path with NUL", RAW("\0\0\0\3\0\0\0/a\0")},
    {"glob empty", RAW("\1\2\0\0\0\0\0")},
    {"glob with NUL", RAW("\1\2\0\2\0\0\0*\0")},
    {"root with text", RAW("\2\0\0\1\0\0\0/")},
    {"minimal with text", RAW("\3\0\0\1\0\0\0a")},
    {"cwd with text", RAW("\4\0\0\1\0\0\0a")},
    {"subpath absolute", RAW("\5\0\0\2\0\0\0/a")},
    {"subpath with dots", RAW("\5\0\0\4\0\0\0../a")},
    {"subpath with slash at the end", RAW("\5\0\0\2\0\0\0a/")},
    {"subpath with NUL", RAW("\5\0\0\1\0\0\0\0")},
    {"tmpdir with text", RAW("\6\0\0\1\0\0\0a")},
    {"slash_tmp with text", RAW("\7\0\0\1\0\0\0a")},
    {"unknown with text", RAW("\10\0\0\1\0\0\0a")},
};

static void
refuse(const char *name, const struct sandbox_spec *s)
{
	struct sandbox_spec got = {.glob_scan_max_depth = 77};
	struct err e = {0};
	scoped_buf packed;

	buf_init(&packed, 2 * SANDBOX_SPEC_MAX);
	assert_int_equal(sandbox_spec_pack(s, &packed), 0);
	if (sandbox_spec_unpack(view(&packed), &got, &e) != -EPROTO)
		fail_msg("%s was taken", name);
	assert_true(e.code == EPROTO && e.text[0] != '\0');
	assert_int_equal(got.glob_scan_max_depth, 77);
}

static void
malformed_entries_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bad_entries); i++) {
		struct sandbox_spec s = {.kind = SANDBOX_RESTRICTED,
		    .entries = bad_entries[i].entries};

		refuse(bad_entries[i].name, &s);
	}
}

static void
malformed_members_are_refused(void **state)
{
	static const struct {
		const char *name;
		struct sandbox_spec s;
	} rows[] = {
	    {"kind", {.kind = SANDBOX_KIND_MAX + 1}},
	    {"kind huge", {.kind = UINT32_MAX}},
	    {"cwd relative", {.kind = SANDBOX_EXTERNAL, .cwd = RAW("w")}},
	    {"cwd with dots", {.kind = SANDBOX_EXTERNAL, .cwd = RAW("/w/..")}},
	    {"entries of another kind", {.kind = SANDBOX_UNRESTRICTED,
					    .entries = RAW("\3\0\0\0\0\0\0")}},
	    {"depth of another kind",
		{.kind = SANDBOX_EXTERNAL, .glob_scan_max_depth = 1}},
	    {"roots that are not there",
		{.kind = SANDBOX_RESTRICTED, .roots = RAW("\1\0\0\0/")}},
	    {"root relative", {.kind = SANDBOX_RESTRICTED,
				  .has_roots = true,
				  .roots = RAW("\1\0\0\0w")}},
	    {"roots cut", {.kind = SANDBOX_RESTRICTED,
			      .has_roots = true,
			      .roots = RAW("\2\0\0\0/")}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		refuse(rows[i].name, &rows[i].s);
}

static void
flags_that_are_none_are_refused(void **state)
{
	static const uint8_t flags[] = {1u << 2, 1u << 7, 255};
	struct sandbox_spec s = {.kind = SANDBOX_EXTERNAL}, got = {0};
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT(flags); i++) {
		scoped_buf packed;

		buf_init(&packed, 64);
		assert_int_equal(sandbox_spec_pack(&s, &packed), 0);
		packed.data[4] = flags[i];
		assert_int_equal(sandbox_spec_unpack(view(&packed), &got, &e),
		    -EPROTO);
	}
}

static void
bounds_hold_at_their_maximum(void **state)
{
	const struct sandbox_entry any = {.path = SANDBOX_ROOT};
	scoped_buf entries, roots, packed;
	struct sandbox_spec s = {.kind = SANDBOX_RESTRICTED, .has_roots = true},
			    got;
	struct err e;

	(void)state;
	buf_init(&entries, SANDBOX_SPEC_MAX);
	buf_init(&roots, SANDBOX_SPEC_MAX);
	buf_init(&packed, SANDBOX_SPEC_MAX);
	for (size_t i = 0; i < SANDBOX_ENTRIES_MAX; i++)
		assert_int_equal(sandbox_entry_put(&entries, &any), 0);
	for (size_t i = 0; i < SANDBOX_ROOTS_MAX; i++)
		assert_int_equal(buf_put_cstring(&roots, "/r"), 0);
	s.entries = view(&entries);
	s.roots = view(&roots);
	assert_int_equal(sandbox_spec_pack(&s, &packed), 0);
	assert_int_equal(sandbox_spec_unpack(view(&packed), &got, &e), 0);
	assert_int_equal(sandbox_entry_put(&entries, &any), 0);
	s.entries = view(&entries);
	refuse("one entry too many", &s);
	entries.len = 0;
	s.entries = view(&entries);
	assert_int_equal(buf_put_cstring(&roots, "/r"), 0);
	s.roots = view(&roots);
	refuse("one root too many", &s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_spec_survives_the_trip),
	    cmocka_unit_test(null_is_no_bytes),
	    cmocka_unit_test(packing_appends_all_or_nothing),
	    cmocka_unit_test(what_is_cut_or_too_long_is_refused),
	    cmocka_unit_test(malformed_entries_are_refused),
	    cmocka_unit_test(malformed_members_are_refused),
	    cmocka_unit_test(flags_that_are_none_are_refused),
	    cmocka_unit_test(bounds_hold_at_their_maximum),
	};

	return cmocka_run_group_tests_name("sandbox_spec", tests, NULL, NULL);
}
