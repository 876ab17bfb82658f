#include "cli/url.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
url_takes_hosts_ports_and_paths(void **state)
{
	static const struct {
		const char *text, *host, *authority, *path;
		uint16_t port;
	} rows[] = {
	    {"ws://127.0.0.1:8080/abc", "127.0.0.1", "127.0.0.1:8080", "/abc",
		8080},
	    {"ws://127.0.0.1:1", "127.0.0.1", "127.0.0.1:1", "/", 1},
	    {"WS://Host/", "Host", "Host:80", "/", 80},
	    {"ws://host", "host", "host:80", "/", 80},
	    {"ws://[::1]:65535/a/b?c=d&e", "::1", "[::1]:65535", "/a/b?c=d&e",
		65535},
	    {"ws://[::1]", "::1", "[::1]:80", "/", 80},
	    {"ws://host?x", "host", "host:80", "/?x", 80},
	    {"ws://host:9//", "host", "host:9", "//", 9},
	    {"ws://host/a:b@c]", "host", "host:80", "/a:b@c]", 80},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct url u;
		struct err e;

		assert_int_equal(url_parse(rows[i].text, &u, &e), 0);
		assert_string_equal(u.host, rows[i].host);
		assert_string_equal(u.authority, rows[i].authority);
		assert_string_equal(u.path, rows[i].path);
		assert_int_equal(u.port, rows[i].port);
	}
}

static void
url_refuses_all_else_and_writes_nothing(void **state)
{
	static const char *const rows[] = {"", "ws", "ws:/", "ws://", "ws:///x",
	    "wss://host/", "http://host/", "//host", "host:1", " ws://host",
	    "ws://host ", "ws://ho st/", "ws://host/\r\nA: b", "ws://host/\x7f",
	    "ws://host/\xc3\xa9", "ws://:1/", "ws://host:/", "ws://host:0/",
	    "ws://host:65536/", "ws://host:x/", "ws://host:1x/",
	    "ws://host:-1/", "ws://host:+1/", "ws://host:1:2/", "ws://[::1/",
	    "ws://[]/", "ws://[]:1/", "ws://[::1]1/", "ws://[::1]:/",
	    "ws://user@host/", "ws://user:pass@host/", "ws://host/#f",
	    "ws://host#f"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct url u = {.port = 77};
		struct err e;

		if (url_parse(rows[i], &u, &e) != -EINVAL)
			fail_msg("%s", rows[i]);
		assert_int_equal(u.port, 77);
	}
}

static void
url_is_bounded(void **state)
{
	char text[URL_MAX + 16] = "ws://";
	struct url u;
	struct err e;

	(void)state;
	memset(text + 5, 'h', 255);
	assert_int_equal(url_parse(text, &u, &e), 0);
	assert_int_equal(strlen(u.host), 255);
	text[5 + 255] = 'h';
	assert_int_equal(url_parse(text, &u, &e), -EINVAL);
	memset(text + 5, 0, sizeof text - 5);
	text[5] = 'h';
	memset(text + 6, '/', URL_MAX - 7);
	assert_int_equal(url_parse(text, &u, &e), 0);
	assert_int_equal(strlen(u.path), URL_MAX - 7);
	text[URL_MAX - 1] = '/';
	assert_int_equal(url_parse(text, &u, &e), -EINVAL);
}

static void
url_errors_keep_the_path_secret(void **state)
{
	static const char *const rows[] = {"ws://host:x/secret",
	    "wss://host/secret", "ws:///secret", "ws://host/secret#f",
	    "ws://[host/secret", "ws://host/secret x"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct url u;
		struct err e;

		assert_int_equal(url_parse(rows[i], &u, &e), -EINVAL);
		assert_null(strstr(e.text, "secret"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(url_takes_hosts_ports_and_paths),
	    cmocka_unit_test(url_refuses_all_else_and_writes_nothing),
	    cmocka_unit_test(url_is_bounded),
	    cmocka_unit_test(url_errors_keep_the_path_secret),
	};

	return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
