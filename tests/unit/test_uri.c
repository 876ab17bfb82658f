#include "net/uri.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/unit.h"

static const struct {
	const char *uri, *path;
} good[] = {
    {"file:///a/b", "/a/b"},
    {"file:/a/b", "/a/b"},
    {"FILE:///a", "/a"},
    {"file:a", "/a"},
    {"  file:///a \n", "/a"},
    {"file://", "/"},
    {"file:///", "/"},
    {"file:", "/"},
    {"file://localhost/a", "/a"},
    {"file://LOCALHOST/a", "/a"},
    {"file:///a/", "/a"},
    {"file:///a//b///c", "/a/b/c"},
    {"file:///a/./b", "/a/b"},
    {"file:///a/../b", "/b"},
    {"file:///../../a", "/a"},
    {"file:///a/%2e%2E/b", "/b"},
    {"file:///a/.%2e/b", "/b"},
    {"file:///a/...", "/a/..."},
    {"file:///a%2Fb", "/a/b"},
    {"file:///a%5Cb", "/a\\b"},
    {"file:///a\\b", "/a/b"},
    {"file:///%FF", "/\xff"},
    {"file:///a%", "/a%"},
    {"file:///a%4", "/a%4"},
    {"file:///a%zz", "/a%zz"},
    {"file:///%41%c3%a9", "/A\xc3\xa9"},
    {"file:///sp ace", "/sp ace"},
    {"file:///w/C:/x", "/w/C:/x"},
    {"file:///Cx:/x", "/Cx:/x"},
};

static const struct {
	const char *uri;
	int error;
	const char *text; /* part of the message */
} bad[] = {
    {"", EINVAL, "relative URL without a base"},
    {"/a", EINVAL, "relative URL without a base"},
    {"a", EINVAL, "relative URL without a base"},
    {"1file:///a", EINVAL, "relative URL without a base"},
    {":///a", EINVAL, "relative URL without a base"},
    {"https://x/a", EINVAL, "unsupported path URI scheme `https`"},
    {"files:///a", EINVAL, "unsupported path URI scheme `files`"},
    {"file:///a?b", EINVAL, "query parameters"},
    {"file:///a#b", EINVAL, "fragments"},
    {"file:///a%00", EINVAL, "is invalid on 'linux'"},
    {"file://u@h/a", EINVAL, "user names"},
    {"file://host/a", EADDRNOTAVAIL, "'file://host/a' is invalid"},
    {"file://127.0.0.1/a", EADDRNOTAVAIL, "is invalid on 'linux'"},
    {"file:///C:/w", EADDRNOTAVAIL, "is invalid on 'linux'"},
    {"file:///c:", EADDRNOTAVAIL, "is invalid on 'linux'"},
    {"file:///%43:/w", EADDRNOTAVAIL, "is invalid on 'linux'"},
    {"file:///C|/w", EADDRNOTAVAIL, "is invalid on 'linux'"},
    {"file:///a/../C:/w", EADDRNOTAVAIL, "is invalid on 'linux'"},
};

static void
uri_to_path_follows_the_table(void **state)
{
	scoped_buf path;

	(void)state;
	buf_init(&path, PATH_LEN_MAX - 1);
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct err e = {0};
		int r = uri_to_path(bytes_of(good[i].uri), &path, &e);
		struct bytes got = {.data = path.data, .len = path.len};

		if (r < 0 || !bytes_is(got, good[i].path))
			fail_msg("%s: %d %.*s (%s)", good[i].uri, r,
			    (int)got.len, (const char *)got.data, e.text);
	}
}

static void
uri_to_path_refuses_with_words(void **state)
{
	scoped_buf path;

	(void)state;
	buf_init(&path, PATH_LEN_MAX - 1);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err e = {0};
		int r = uri_to_path(bytes_of(bad[i].uri), &path, &e);

		if (r != -bad[i].error || strstr(e.text, bad[i].text) == NULL)
			fail_msg("%s: %d %s", bad[i].uri, r, e.text);
	}
}

static void
uri_to_path_accepts_the_longest_path_and_no_more(void **state)
{
	char uri[PATH_LEN_MAX + 16];
	scoped_buf path;
	struct err e = {0};

	(void)state;
	buf_init(&path, PATH_LEN_MAX - 1);
	memset(uri, 'a', sizeof uri);
	memcpy(uri, "file:///", 8);
	uri[7 + PATH_LEN_MAX - 1] = '\0';
	assert_int_equal(uri_to_path(bytes_of(uri), &path, &e), 0);
	assert_int_equal(path.len, PATH_LEN_MAX - 1);
	uri[7 + PATH_LEN_MAX - 1] = 'a';
	uri[7 + PATH_LEN_MAX] = '\0';
	assert_int_equal(uri_to_path(bytes_of(uri), &path, &e), -ENAMETOOLONG);
}

static void
uri_from_path_encodes_and_comes_back(void **state)
{
	scoped_buf uri, path;
	struct err e = {0};
	uint8_t all[256];
	struct bytes got;

	(void)state;
	buf_init(&uri, 4096);
	buf_init(&path, PATH_LEN_MAX - 1);
	assert_int_equal(uri_from_path(bytes_of("/a b#?%\xc3\xa9~-._"), &uri),
	    0);
	got = (struct bytes){.data = uri.data, .len = uri.len};
	assert_true(bytes_is(got, "file:///a%20b%23%3F%25%C3%A9~-._"));
	for (size_t i = 0; i < sizeof all; i++)
		all[i] = (uint8_t)(i == 0 ? '/' : i == '/' ? 'x' : i);
	buf_clear(&uri);
	got = (struct bytes){.data = all, .len = sizeof all};
	assert_int_equal(uri_from_path(got, &uri), 0);
	got = (struct bytes){.data = uri.data, .len = uri.len};
	assert_int_equal(uri_to_path(got, &path, &e), 0);
	assert_int_equal(path.len, sizeof all);
	assert_memory_equal(path.data, all, sizeof all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(uri_to_path_follows_the_table),
	    cmocka_unit_test(uri_to_path_refuses_with_words),
	    cmocka_unit_test(uri_to_path_accepts_the_longest_path_and_no_more),
	    cmocka_unit_test(uri_from_path_encodes_and_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
