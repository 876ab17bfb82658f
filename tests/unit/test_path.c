#include "base/path.h"

#include <string.h>

#include "base/limits.h"
#include "tests/unit/unit.h"

static void
canonical_paths_are_told_from_others(void **state)
{
	static const struct {
		const char *path;
		bool canonical, subpath;
	} rows[] = {
	    {"", false, true},
	    {"/", true, false},
	    {"/a", true, false},
	    {"/a/b", true, false},
	    {"/...", true, false},
	    {"/.git", true, false},
	    {"/a..b/..c", true, false},
	    {"a", false, true},
	    {"a/b", false, true},
	    {".git", false, true},
	    {"//", false, false},
	    {"//a", false, false},
	    {"/a/", false, false},
	    {"/a//b", false, false},
	    {"/.", false, false},
	    {"/..", false, false},
	    {"/a/./b", false, false},
	    {"/a/../b", false, false},
	    {"/a/..", false, false},
	    {".", false, false},
	    {"..", false, false},
	    {"a/", false, false},
	    {"a//b", false, false},
	    {"a/..", false, false},
	    {"./a", false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bytes path = bytes_of(rows[i].path);

		if (path_is_canonical(path) != rows[i].canonical ||
		    path_is_subpath(path) != rows[i].subpath)
			fail_msg("%s", rows[i].path);
	}
}

static void
a_path_has_no_zero_byte(void **state)
{
	(void)state;
	assert_false(path_is_canonical(
	    (struct bytes){.data = (const uint8_t *)"/a\0b", .len = 4}));
	assert_false(path_is_subpath(
	    (struct bytes){.data = (const uint8_t *)"a\0", .len = 2}));
}

static void
a_path_has_a_longest_length(void **state)
{
	uint8_t text[PATH_LEN_MAX];
	struct bytes path = {.data = text, .len = PATH_LEN_MAX - 1};

	(void)state;
	memset(text, 'a', sizeof text);
	text[0] = '/';
	assert_true(path_is_canonical(path));
	path.len++;
	assert_false(path_is_canonical(path));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(canonical_paths_are_told_from_others),
	    cmocka_unit_test(a_path_has_no_zero_byte),
	    cmocka_unit_test(a_path_has_a_longest_length),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
