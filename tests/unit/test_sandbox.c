#include "net/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/unit.h"

/* The object that carries permissions; the rest as a client sends it. */
#define OBJECT(permissions, rest)                                              \
	"{\"permissions\":" permissions                                        \
	",\"windowsSandboxLevel\":\"disabled\"" rest "}"
#define MANAGED(entries)                                                       \
	OBJECT("{\"type\":\"managed\",\"file_system\":{\"type\":"              \
	       "\"restricted\",\"entries\":[" entries                          \
	       "]},\"network\":\"restricted\"}",                               \
	    "")
#define SPECIAL(value, access)                                                 \
	"{\"path\":{\"type\":\"special\",\"value\":" value                     \
	"},\"access\":\"" access "\"}"
#define PATH(uri, access)                                                      \
	"{\"path\":{\"type\":\"path\",\"path\":\"" uri                         \
	"\"},\"access\":\"" access "\"}"
#define GLOB(pattern, access)                                                  \
	"{\"path\":{\"type\":\"glob_pattern\",\"pattern\":\"" pattern          \
	"\"},\"access\":\"" access "\"}"

static int
decode(const char *text, bool strict, struct sandbox *out, struct err *e)
{
	json_error_t why;
	json_t *object = json_loads(text, JSON_ALLOW_NUL, &why);
	int r;

	if (object == NULL)
		fail_msg("%s: %s", text, why.text);
	r = sandbox_decode(object, strict, out, e);
	json_decref(object);
	return r;
}

static struct sandbox_spec
unpack(const struct sandbox *s)
{
	struct sandbox_spec spec = {0};
	struct err e = {0};
	struct bytes packed = {.data = s->packed.data, .len = s->packed.len};

	if (sandbox_spec_unpack(packed, &spec, &e) < 0)
		fail_msg("%s", e.text);
	return spec;
}

static void
null_packs_to_nothing(void **state)
{
	struct sandbox s;
	struct err e;

	(void)state;
	assert_int_equal(sandbox_decode(NULL, true, &s, &e), 0);
	assert_int_equal(s.kind, SANDBOX_NULL);
	assert_int_equal(s.packed.len, 0);
	sandbox_done(&s);
}

static void
kinds_and_networks_are_told_apart(void **state)
{
	static const struct {
		const char *text;
		enum sandbox_kind kind;
		bool network;
	} rows[] = {
	    {OBJECT("{\"type\":\"disabled\"}", ""), SANDBOX_DISABLED, true},
	    {OBJECT("{\"type\":\"external\",\"network\":\"enabled\"}", ""),
		SANDBOX_EXTERNAL, true},
	    {OBJECT("{\"type\":\"external\",\"network\":\"restricted\"}", ""),
		SANDBOX_EXTERNAL, false},
	    {OBJECT("{\"type\":\"managed\",\"file_system\":{\"type\":"
		    "\"unrestricted\"},\"network\":\"enabled\"}",
		 ""),
		SANDBOX_UNRESTRICTED, true},
	    {MANAGED(""), SANDBOX_RESTRICTED, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sandbox_spec spec;
		struct err e = {0};
		struct sandbox s;

		if (decode(rows[i].text, true, &s, &e) < 0)
			fail_msg("%s: %s", rows[i].text, e.text);
		spec = unpack(&s);
		assert_int_equal(s.kind, rows[i].kind);
		assert_int_equal(s.network_enabled, rows[i].network);
		assert_int_equal(spec.kind, rows[i].kind);
		assert_int_equal(spec.network_enabled, rows[i].network);
		assert_int_equal(spec.entries.len, 0);
		sandbox_done(&s);
	}
}

static void
every_entry_comes_through(void **state)
{
	static const char text[] =
	    MANAGED(PATH("file:///a/../b%20c/", "read") "," GLOB("**/*.env",
		"none") "," SPECIAL("{\"kind\":\"root\"}",
		"read") "," SPECIAL("{\"kind\":\"minimal\"}",
		"read") "," SPECIAL("{\"kind\":\"current_working_directory\"}",
		"write") "," SPECIAL("{\"kind\":\"project_roots\"}",
		"write") "," SPECIAL("{\"kind\":\"project_roots\",\"subpath\":"
				     "\".git/\"}",
		"deny") "," SPECIAL("{\"kind\":\"tmpdir\",\"subpath\":null}",
		"write") "," SPECIAL("{\"kind\":\"slash_tmp\"}",
		"write") "," SPECIAL("{\"kind\":\"unknown\",\"path\":\"x\"}",
		"read"));
	static const struct {
		uint32_t path, access;
		const char *text;
	} want[] = {
	    {SANDBOX_PATH, SANDBOX_READ, "/b c"},
	    {SANDBOX_GLOB, SANDBOX_DENY, "**/*.env"},
	    {SANDBOX_ROOT, SANDBOX_READ, ""},
	    {SANDBOX_MINIMAL, SANDBOX_READ, ""},
	    {SANDBOX_CWD, SANDBOX_WRITE, ""},
	    {SANDBOX_PROJECT_ROOTS, SANDBOX_WRITE, ""},
	    {SANDBOX_PROJECT_ROOTS, SANDBOX_DENY, ".git"},
	    {SANDBOX_TMPDIR, SANDBOX_WRITE, ""},
	    {SANDBOX_SLASH_TMP, SANDBOX_WRITE, ""},
	    {SANDBOX_UNKNOWN, SANDBOX_READ, ""},
	};
	struct sandbox_entry entry;
	struct sandbox_spec spec;
	struct err e = {0};
	struct sandbox s;
	struct reader r;

	(void)state;
	if (decode(text, true, &s, &e) < 0)
		fail_msg("%s", e.text);
	spec = unpack(&s);
	reader_init(&r, spec.entries.data, spec.entries.len);
	for (size_t i = 0; i < COUNT(want); i++) {
		assert_true(sandbox_entry_next(&r, &entry));
		assert_int_equal(entry.path, want[i].path);
		assert_int_equal(entry.access, want[i].access);
		assert_true(bytes_is(entry.text, want[i].text));
		assert_false(entry.skip_missing);
	}
	assert_false(sandbox_entry_next(&r, &entry));
	sandbox_done(&s);
}

static void
the_other_members_come_through(void **state)
{
	static const char text[] =
	    OBJECT("{\"type\":\"managed\",\"file_system\":{\"type\":"
		   "\"restricted\",\"entries\":[{\"path\":{\"type\":"
		   "\"special\",\"value\":{\"kind\":\"root\"}},\"access\":"
		   "\"read\",\"missing_path_behavior\":\"skip\"}],"
		   "\"glob_scan_max_depth\":3},\"network\":\"enabled\"}",
		",\"cwd\":\"file:///w\",\"workspaceRoots\":[\"file:///w\","
		"\"file:///x/\"],\"policyContext\":{\"cwd\":\"file:///w\"},"
		"\"windowsSandboxPrivateDesktop\":false,"
		"\"useLegacyLandlock\":false,\"userHomeDir\":\"file:///h\"");
	struct sandbox_entry entry;
	struct sandbox_spec spec;
	struct err e = {0};
	struct sandbox s;
	struct reader r;

	(void)state;
	if (decode(text, true, &s, &e) < 0)
		fail_msg("%s", e.text);
	spec = unpack(&s);
	assert_int_equal(spec.glob_scan_max_depth, 3);
	assert_true(bytes_is(spec.cwd, "/w"));
	assert_true(spec.has_roots);
	assert_int_equal(spec.roots.len, 4 + 2 + 4 + 2);
	assert_memory_equal(spec.roots.data, "\2\0\0\0/w\2\0\0\0/x", 12);
	reader_init(&r, spec.entries.data, spec.entries.len);
	assert_true(sandbox_entry_next(&r, &entry));
	assert_true(entry.skip_missing);
	sandbox_done(&s);
}

static void
the_level_is_needed_only_when_strict(void **state)
{
	static const char text[] = "{\"permissions\":{\"type\":\"disabled\"}}";
	struct err e = {0};
	struct sandbox s;

	(void)state;
	assert_int_equal(decode(text, false, &s, &e), 0);
	sandbox_done(&s);
	assert_int_equal(decode(text, true, &s, &e), -EINVAL);
	assert_string_equal(e.text, "missing field `windowsSandboxLevel`");
	sandbox_done(&s);
}

static const struct {
	const char *text, *part; /* part of the message */
} bad[] = {
    {"{}", "missing field `permissions`"},
    {OBJECT("null", ""), "missing field `permissions`"},
    {OBJECT("1", ""), "`permissions`"},
    {OBJECT("{}", ""), "missing field `type`"},
    {OBJECT("{\"type\":1}", ""), "`type`"},
    {OBJECT("{\"type\":\"bogus\"}", ""), "unknown variant `bogus` for `type`"},
    {OBJECT("{\"type\":\"external\"}", ""), "missing field `network`"},
    {OBJECT("{\"type\":\"external\",\"network\":\"some\"}", ""),
	"unknown variant `some` for `network`"},
    {OBJECT("{\"type\":\"managed\",\"network\":\"enabled\"}", ""),
	"missing field `file_system`"},
    {OBJECT("{\"type\":\"managed\",\"fileSystem\":{\"type\":\"unrestricted\"},"
	    "\"network\":\"enabled\"}",
	 ""),
	"missing field `file_system`"},
    {OBJECT("{\"type\":\"managed\",\"file_system\":[],\"network\":"
	    "\"enabled\"}",
	 ""),
	"`file_system`"},
    {OBJECT("{\"type\":\"managed\",\"file_system\":{\"type\":\"x\"},"
	    "\"network\":\"enabled\"}",
	 ""),
	"unknown variant `x`"},
    {OBJECT("{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\"},"
	    "\"network\":\"enabled\"}",
	 ""),
	"missing field `entries`"},
    {OBJECT("{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\","
	    "\"entries\":{}},\"network\":\"enabled\"}",
	 ""),
	"`entries`"},
    {OBJECT("{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\","
	    "\"entries\":[],\"glob_scan_max_depth\":0},\"network\":"
	    "\"enabled\"}",
	 ""),
	"`glob_scan_max_depth`"},
    {OBJECT("{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\","
	    "\"entries\":[],\"glob_scan_max_depth\":\"1\"},\"network\":"
	    "\"enabled\"}",
	 ""),
	"`glob_scan_max_depth`"},
    {OBJECT("{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\","
	    "\"entries\":[]}}",
	 ""),
	"missing field `network`"},
    {MANAGED("1"), "`entries`"},
    {MANAGED("{}"), "missing field `path`"},
    {MANAGED("{\"path\":\"/\",\"access\":\"read\"}"), "`path`"},
    {MANAGED("{\"path\":{},\"access\":\"read\"}"), "missing field `type`"},
    {MANAGED("{\"path\":{\"type\":\"file\"},\"access\":\"read\"}"),
	"unknown variant `file`"},
    {MANAGED("{\"path\":{\"type\":\"path\"},\"access\":\"read\"}"),
	"missing field `path`"},
    {MANAGED("{\"path\":{\"type\":\"path\",\"path\":1},\"access\":\"read\"}"),
	"`path`"},
    {MANAGED(PATH("/w", "read")), "`path`: "},
    {MANAGED(PATH("file://h/w", "read")), "`path`: "},
    {MANAGED(PATH("file:///a%00", "read")), "`path`: "},
    {MANAGED(PATH("file:///w", "execute")), "unknown variant `execute`"},
    {MANAGED(PATH("file:///w", "")), "unknown variant `` for `access`"},
    {MANAGED("{\"path\":{\"type\":\"path\",\"path\":\"file:///w\"}}"),
	"missing field `access`"},
    {MANAGED("{\"path\":{\"type\":\"path\",\"path\":\"file:///w\"},"
	     "\"access\":\"read\",\"missing_path_behavior\":\"create\"}"),
	"unknown variant `create`"},
    {MANAGED("{\"path\":{\"type\":\"glob_pattern\"},\"access\":\"deny\"}"),
	"missing field `pattern`"},
    {MANAGED(GLOB("", "deny")), "`pattern`"},
    {MANAGED(GLOB("a\\u0000b", "deny")), "`pattern`"},
    {MANAGED("{\"path\":{\"type\":\"special\"},\"access\":\"read\"}"),
	"missing field `value`"},
    {MANAGED(SPECIAL("{}", "read")), "missing field `kind`"},
    {MANAGED(SPECIAL("{\"kind\":\"home\"}", "read")),
	"unknown variant `home` for `kind`"},
    {MANAGED(SPECIAL("{\"kind\":\"project_roots\",\"subpath\":1}", "read")),
	"`subpath`"},
    {MANAGED(
	 SPECIAL("{\"kind\":\"project_roots\",\"subpath\":\"../x\"}", "read")),
	"`subpath`"},
    {MANAGED(
	 SPECIAL("{\"kind\":\"project_roots\",\"subpath\":\"/x\"}", "read")),
	"`subpath`"},
    {OBJECT("{\"type\":\"disabled\"}", ",\"cwd\":1"), "`cwd`"},
    {OBJECT("{\"type\":\"disabled\"}", ",\"cwd\":\"w\""), "`cwd`: "},
    {OBJECT("{\"type\":\"disabled\"}", ",\"workspaceRoots\":\"file:///w\""),
	"`workspaceRoots`"},
    {OBJECT("{\"type\":\"disabled\"}", ",\"workspaceRoots\":[null]"),
	"`workspaceRoots`"},
    {OBJECT("{\"type\":\"disabled\"}", ",\"workspaceRoots\":[\"w\"]"),
	"`workspaceRoots`: "},
    {OBJECT("{\"type\":\"disabled\"}", ",\"useLegacyLandlock\":0"),
	"`useLegacyLandlock`"},
    {"{\"permissions\":{\"type\":\"disabled\"},\"windowsSandboxLevel\":"
     "\"high\"}",
	"unknown variant `high`"},
};

static void
what_is_wrong_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct err e = {0};
		struct sandbox s;

		if (decode(bad[i].text, true, &s, &e) != -EINVAL ||
		    strstr(e.text, bad[i].part) == NULL)
			fail_msg("%s: %s", bad[i].text, e.text);
		assert_int_equal(s.packed.len, 0);
		assert_int_equal(s.kind, SANDBOX_NULL);
		sandbox_done(&s);
	}
}

/* Decode an object with count entries of a path of len bytes. */
static int
decode_many(size_t count, size_t len, struct err *e)
{
	scoped_buf text;
	struct sandbox s;
	int r;

	buf_init(&text, 64 * MIB);
	assert_int_equal(buf_printf(&text,
			     "{\"permissions\":{\"type\":\"managed\","
			     "\"network\":\"enabled\",\"file_system\":"
			     "{\"type\":\"restricted\",\"entries\":["),
	    0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(
		    buf_printf(&text,
			"%s{\"access\":\"read\",\"path\":{\"type\":\"path\","
			"\"path\":\"file:///%0*d\"}}",
			i == 0 ? "" : ",", (int)len - 1, 0),
		    0);
	assert_int_equal(buf_put(&text, "]}}}", 5), 0);
	r = decode((const char *)text.data, false, &s, e);
	sandbox_done(&s);
	return r;
}

static void
bounds_hold_at_their_maximum(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(decode_many(SANDBOX_ENTRIES_MAX, 8, &e), 0);
	assert_int_equal(decode_many(SANDBOX_ENTRIES_MAX + 1, 8, &e), -EINVAL);
	assert_non_null(strstr(e.text, "`entries`"));
	assert_int_equal(decode_many(1, PATH_LEN_MAX - 1, &e), 0);
	assert_int_equal(decode_many(1, PATH_LEN_MAX, &e), -EINVAL);
	assert_int_equal(decode_many(63, 4000, &e), 0);
	assert_int_equal(decode_many(66, 4000, &e), -EINVAL);
	assert_non_null(strstr(e.text, "too large"));
}

static void
memory_that_runs_out_is_told(void **state)
{
	static const char text[] = MANAGED(PATH("file:///a", "read"));
	json_t *object = json_loads(text, 0, NULL);
	unsigned int n = 0;
	int r = -ENOMEM;

	(void)state;
	while (r != 0) {
		struct err e = {0};
		struct sandbox s;

		alloc_fail_at(++n);
		r = sandbox_decode(object, true, &s, &e);
		if (!alloc_failed())
			assert_int_equal(r, 0);
		else if (r != 0)
			assert_int_equal(r, -ENOMEM);
		sandbox_done(&s);
	}
	alloc_fail_at(0);
	assert_true(n > 2);
	json_decref(object);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(null_packs_to_nothing),
	    cmocka_unit_test(kinds_and_networks_are_told_apart),
	    cmocka_unit_test(every_entry_comes_through),
	    cmocka_unit_test(the_other_members_come_through),
	    cmocka_unit_test(the_level_is_needed_only_when_strict),
	    cmocka_unit_test(what_is_wrong_is_named),
	    cmocka_unit_test(bounds_hold_at_their_maximum),
	    cmocka_unit_test(memory_that_runs_out_is_told),
	};

	return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
