#include "policy/glob.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/unit.h"

static const struct {
	const char *pattern, *path;
	bool covers;
} rows[] = {
    {"/a", "/a", true}, {"/a", "/b", false},
    {"/a", "/a/b", true}, /* what lies below a match */
    {"/a", "/ab", false}, {"/*", "/a", true}, {"/*", "/a/b", true},
    {"/*", "/", false}, {"/a*", "/a", true}, {"/a*", "/abc", true},
    {"/a*", "/b", false}, {"/*c", "/abc", true}, {"/*c", "/abcd", false},
    {"/a*c", "/abbc", true}, {"/a*c", "/ab/c", false},
    {"/a*b*c", "/aXbYbZc", true}, {"/a*b*c", "/aXcYc", false},
    {"/?", "/a", true},
    {"/?", "/\xc3\xa9", true}, /* one character of two bytes */
    {"/?", "/\xff", true},     /* a byte that is no character */
    {"/?", "/ab", false}, {"/?", "/a/b", true}, {"/a?c", "/a/c", false},
    {"/*.env", "/.env", true}, {"/*.env", "/x/.env", false},
    {"/**/x", "/x", true}, {"/**/x", "/a/x", true}, {"/**/x", "/a/b/c/x", true},
    {"/**/x", "/a/x/b", true}, {"/**/x", "/ax", false},
    {"/**/x", "/a/bx", false}, {"/w/**/x", "/w/x", true},
    {"/w/**/x", "/w/a/x", true}, {"/w/**/x", "/x", false},
    {"/w/**/x", "/wa/x", false}, {"/w/**/*.env", "/w/a/b/.env", true},
    {"/w/**/*.env", "/w/a.env/b", true}, {"/w/**/*.env", "/w/a.envx", false},
    {"/w/**/a/**/b", "/w/a/b", true}, {"/w/**/a/**/b", "/w/x/a/y/z/b", true},
    {"/w/**/a/**/b", "/w/x/b/y/a", false}, {"/w/**", "/w/a/b", true},
    {"/w/**", "/w", false}, {"/w**", "/w", true}, {"/w**", "/wx/y", true},
    {"/w**z", "/wx/yz", true}, {"/w**z", "/wx/yzz", true},
    {"/w***z", "/wx/yz", true}, {"/a**/b", "/ab", true},
    {"/a**/b", "/ax/b", true}, {"/a**/b", "/axb", false},
    {"/[abc]", "/b", true}, {"/[abc]", "/d", false}, {"/[a-c]", "/b", true},
    {"/[a-c]", "/d", false}, {"/[!a-c]", "/b", false}, {"/[!a-c]", "/d", true},
    {"/[^a-c]", "/d", true},
    {"/x[!a]y", "/x/y", false}, /* no class has a slash */
    {"/[]a]", "/]", true}, {"/[!]a]", "/]", false}, {"/[!]a]", "/b", true},
    {"/[a-]", "/-", true}, {"/[\xc3\xa0-\xc3\xbf]", "/\xc3\xa9", true},
    {"/[\xc3\xa0-\xc3\xbf]", "/\xc4\x80", false}, {"/[a]*", "/abc", true},
    {"/{a,b}", "/a", false}, /* braces are themselves */
    {"/{a,b}", "/{a,b}", true},
    {"/a\\*", "/a\\b", true}, /* so is a backslash */
};

static void
glob_covers_follows_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (glob_covers(bytes_of(rows[i].pattern),
			bytes_of(rows[i].path)) != rows[i].covers)
			fail_msg("%s on %s", rows[i].pattern, rows[i].path);
}

static const struct {
	const char *pattern, *cwd, *want; /* want NULL: refused */
} resolved[] = {
    {"*.c", "/w", "/w/*.c"},
    {"**/*.c", "/w", "/w/**/*.c"},
    {"*.c", "/", "/*.c"},
    {"/x/*.c", "/w", "/x/*.c"},
    {"/x/*.c", "", "/x/*.c"},
    {"./a/./*", "/w", "/w/a/*"},
    {"../x*", "/w/v", "/w/x*"},
    {"../../../x*", "/w", "/x*"},
    {"/a//b/*/", "/w", "/a/b/*"},
    {"a", "/w", "/w/a"},
    {".", "/w", "/w"},
    {"/", "/w", "/"},
    {"/a/../..", "/w", "/"},
    {"*.c", "", NULL},
    {"", "/w", NULL},
    {"*/../x", "/w", NULL},
    {"/a/b?/..", "/w", NULL},
    {"[", "/w", NULL},
    {"[]", "/w", NULL},
    {"[!]", "/w", NULL},
    {"[a", "/w", NULL},
    {"[a/b]", "/w", NULL},
    {"[z-a]", "/w", NULL},
    {"*.c", "/w[1]", NULL},
};

static void
glob_resolve_follows_the_table(void **state)
{
	scoped_buf out;

	(void)state;
	buf_init(&out, PATH_LEN_MAX - 1);
	for (size_t i = 0; i < COUNT(resolved); i++) {
		struct err e = {0};
		int r = glob_resolve(bytes_of(resolved[i].pattern),
		    bytes_of(resolved[i].cwd), &out, &e);
		struct bytes got = {.data = out.data, .len = out.len};

		if (resolved[i].want == NULL
			? r != -EINVAL
			: r != 0 || !bytes_is(got, resolved[i].want))
			fail_msg("%s: %d %s", resolved[i].pattern, r, e.text);
	}
}

static void
glob_resolve_keeps_to_its_maximum(void **state)
{
	char pattern[PATH_LEN_MAX + 1] = "/*";
	struct err e;
	scoped_buf out;

	(void)state;
	buf_init(&out, PATH_LEN_MAX - 1);
	memset(pattern + 2, 'a', PATH_LEN_MAX - 3);
	assert_int_equal(glob_resolve(bytes_of(pattern), bytes_of("/"), &out,
			     &e),
	    0);
	pattern[PATH_LEN_MAX - 1] = 'a';
	assert_int_equal(glob_resolve(bytes_of(pattern), bytes_of("/"), &out,
			     &e),
	    -ENAMETOOLONG);
}

static void
the_parts_of_a_pattern(void **state)
{
	static const struct {
		const char *pattern;
		bool is_pattern;
		size_t base;
		bool subtree, children;
	} parts[] = {
	    {"/*", true, 1, false, true},
	    {"/**", true, 1, true, false},
	    {"/**/*", true, 1, true, false},
	    {"/a*", true, 1, false, false},
	    {"/a/*", true, 2, false, true},
	    {"/a/b*/c", true, 2, false, false},
	    {"/a/b/**", true, 4, true, false},
	    {"/a/b/**/x", true, 4, false, false},
	    {"/a/b**", true, 2, false, false},
	    {"/a/b[x]", true, 2, false, false},
	    {"/a/b?", true, 2, false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(parts); i++) {
		struct bytes p = bytes_of(parts[i].pattern);

		if (glob_is_pattern(p) != parts[i].is_pattern ||
		    glob_base(p) != parts[i].base ||
		    glob_is_subtree(p) != parts[i].subtree ||
		    glob_is_children(p) != parts[i].children)
			fail_msg("%s", parts[i].pattern);
	}
	assert_false(glob_is_pattern(bytes_of("/a/b")));
}

/* --- against another matcher ---------------------------------------------- */

static void
translate(const char *glob, char *regex)
{
	*regex++ = '^';
	for (; *glob != '\0'; glob++) {
		if (strncmp(glob, "**/", 3) == 0) {
			regex = stpcpy(regex, "(.*/)?");
			glob += 2;
		} else if (strncmp(glob, "**", 2) == 0) {
			regex = stpcpy(regex, ".*");
			glob++;
		} else if (*glob == '*') {
			regex = stpcpy(regex, "[^/]*");
		} else if (*glob == '?') {
			regex = stpcpy(regex, "[^/]");
		} else {
			*regex++ = *glob;
		}
	}
	(void)stpcpy(regex, "(/.*)?$");
}

static void
random_text(char *out, const char *alphabet, unsigned int *seed)
{
	size_t n = 1 + (size_t)rand_r(seed) % 8;

	*out++ = '/';
	while (n-- > 0)
		*out++ = alphabet[(size_t)rand_r(seed) % strlen(alphabet)];
	*out = '\0';
}

/* Three stars and more are not what the other matcher makes of them. */
static void
glob_covers_agrees_with_a_regular_expression(void **state)
{
	unsigned int seed = 1;
	unsigned int covered = 0;

	(void)state;
	for (unsigned int i = 0; i < 3000; i++) {
		char glob[16], regex[128], path[16];
		regex_t compiled;

		random_text(glob, "ab/**?", &seed);
		if (strstr(glob, "***") != NULL)
			continue;
		translate(glob, regex);
		assert_int_equal(regcomp(&compiled, regex,
				     REG_EXTENDED | REG_NOSUB),
		    0);
		for (unsigned int j = 0; j < 20; j++) {
			bool want;

			do
				random_text(path, "aab/", &seed);
			while (strcmp(path, "/") == 0);
			want = regexec(&compiled, path, 0, NULL, 0) == 0;
			covered += want;
			if (glob_covers(bytes_of(glob), bytes_of(path)) != want)
				fail_msg("%s on %s", glob, path);
		}
		regfree(&compiled);
	}
	assert_true(covered > 1000);
}

static void
the_worst_pattern_ends_in_time(void **state)
{
	char pattern[1025] = "/", path[PATH_LEN_MAX] = "/";

	(void)state;
	for (size_t i = 1; i + 2 < sizeof pattern; i += 2)
		memcpy(pattern + i, "*a", 2);
	memset(path + 1, 'a', sizeof path - 3);
	path[sizeof path - 2] = 'b';
	assert_false(glob_covers(bytes_of(pattern), bytes_of(path)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(glob_covers_follows_the_table),
	    cmocka_unit_test(glob_resolve_follows_the_table),
	    cmocka_unit_test(glob_resolve_keeps_to_its_maximum),
	    cmocka_unit_test(the_parts_of_a_pattern),
	    cmocka_unit_test(glob_covers_agrees_with_a_regular_expression),
	    cmocka_unit_test(the_worst_pattern_ends_in_time),
	};

	return cmocka_run_group_tests_name("glob", tests, NULL, NULL);
}
