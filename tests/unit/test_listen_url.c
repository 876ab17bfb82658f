#include "supervisor/listen_url.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
listen_url_takes_numeric_addresses(void **state)
{
	static const struct {
		const char *text, *host;
		bool loopback;
	} rows[] = {
	    {"ws://127.0.0.1:0", "127.0.0.1:0", true},
	    {"ws://127.255.0.9:65535", "127.255.0.9:65535", true},
	    {"ws://0.0.0.0:80", "0.0.0.0:80", false},
	    {"ws://10.0.0.1:80", "10.0.0.1:80", false},
	    {"ws://128.0.0.1:80", "128.0.0.1:80", false},
	    {"ws://[::1]:0", "[::1]:0", true},
	    {"ws://[0:0:0:0:0:0:0:1]:8080", "[::1]:8080", true},
	    {"ws://[::]:1", "[::]:1", false},
	    {"ws://[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", false},
	    {"ws://[fe80::1]:1", "[fe80::1]:1", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct listen_url u;
		struct err e;
		scoped_buf host;

		buf_init(&host, 64);
		assert_int_equal(listen_url_parse(rows[i].text, &u, &e), 0);
		assert_int_equal(listen_url_put_host(&u, &host), 0);
		assert_true(bytes_is((struct bytes){host.data, host.len},
		    rows[i].host));
		assert_int_equal(listen_url_is_loopback(&u), rows[i].loopback);
	}
}

static void
listen_url_refuses_all_else_and_writes_nothing(void **state)
{
	static const char *const rows[] = {"", "ws", "ws://", "ws://:0",
	    "127.0.0.1:0", "WS://127.0.0.1:0", "wss://127.0.0.1:0",
	    "http://127.0.0.1:0", "ws:/127.0.0.1:0", " ws://127.0.0.1:0",
	    "ws://127.0.0.1", "ws://127.0.0.1:", "ws://127.0.0.1:x",
	    "ws://127.0.0.1:-1", "ws://127.0.0.1:+1", "ws://127.0.0.1: 1",
	    "ws://127.0.0.1:1 ", "ws://127.0.0.1:65536", "ws://127.0.0.1:1/",
	    "ws://127.0.0.1:1:2", "ws://localhost:1", "ws://127.1:1",
	    "ws://127.0.0.256:1", "ws://0x7f.0.0.1:1", "ws://user@127.0.0.1:1",
	    "ws://::1:0", "ws://[::1]", "ws://[::1]0", "ws://[::1:0",
	    "ws://[]:0", "ws://[127.0.0.1]:0", "ws://[::1%lo]:0",
	    "ws://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]:0"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct listen_url u = {.len = 77};
		struct err e;

		if (listen_url_parse(rows[i], &u, &e) != -EINVAL)
			fail_msg("%s", rows[i]);
		assert_int_equal(u.len, 77);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(listen_url_takes_numeric_addresses),
	    cmocka_unit_test(listen_url_refuses_all_else_and_writes_nothing),
	};

	return cmocka_run_group_tests_name("listen_url", tests, NULL, NULL);
}
