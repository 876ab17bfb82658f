#include "cli/attach_target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/unit/unit.h"

static void
target_takes_this_host(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
	} rows[] = {
	    {"ws://127.0.0.1:4500", "127.0.0.1", 4500},
	    {"ws://127.255.255.254/path", "127.255.255.254", 80},
	    {"ws://[::1]:9", "::1", 9},
	    {"ws://[0:0:0:0:0:0:0:1]:9", "0:0:0:0:0:0:0:1", 9},
	    {"ws://localhost:9", "127.0.0.1", 9},
	    {"WS://LocalHost:9", "127.0.0.1", 9},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct attach_target t;
		struct err e;

		assert_int_equal(attach_target_parse(rows[i].text, &t, &e), 0);
		assert_int_equal(t.kind, ATTACH_WS);
		assert_string_equal(t.url.host, rows[i].host);
		assert_int_equal(t.url.port, rows[i].port);
	}
}

static void
target_refuses_other_hosts(void **state)
{
	static const char *const rows[] = {"ws://127.example.test",
	    "ws://127.0.0.1.example.test", "ws://localhost.example.test",
	    "ws://localhost.", "ws://codex.example.test:4500",
	    "wss://codex.example.test", "ws://10.0.0.1", "ws://128.0.0.1",
	    "ws://0.0.0.0", "ws://127.1", "ws://127", "ws://2130706433",
	    "ws://0x7f.0.0.1", "ws://127.0.0.01x", "ws://127.0.0.256",
	    "ws://[::]:1", "ws://[::2]:1", "ws://[::ffff:127.0.0.1]:1",
	    "ws://[fe80::1]:1", "ws://[::1%lo]:1", "wss://127.example.test"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct attach_target t = {.url.port = 77};
		struct err e;

		if (attach_target_parse(rows[i], &t, &e) != -EACCES)
			fail_msg("%s", rows[i]);
		assert_int_equal(t.url.port, 77);
	}
}

static void
target_refuses_what_it_cannot_read(void **state)
{
	static const char *const rows[] = {"", "stdio:", "stdi", "unix",
	    "http://127.0.0.1", "127.0.0.1:4500", "ws:", "ws://",
	    "ws://127.0.0.1:0", "ws://user@127.0.0.1", "ws://127.0.0.1 ",
	    "wss://127.0.0.1:4500", "wss://localhost", "wss://"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct attach_target t = {.url.port = 77};
		struct err e;

		if (attach_target_parse(rows[i], &t, &e) != -EINVAL)
			fail_msg("%s", rows[i]);
		assert_int_equal(t.url.port, 77);
	}
}

static void
target_takes_stdio(void **state)
{
	struct attach_target t;
	struct err e;

	(void)state;
	assert_int_equal(attach_target_parse("stdio", &t, &e), 0);
	assert_int_equal(t.kind, ATTACH_STDIO);
	assert_int_equal(attach_target_parse("stdio://", &t, &e), 0);
	assert_int_equal(t.kind, ATTACH_STDIO);
}

/* A directory and a socket of the given length of path in it; the path is
 * left in a->sun_path. Removes nothing. */
static void
make_socket(struct sockaddr_un *a, char directory[])
{
	scoped_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_non_null(mkdtemp(directory));
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(a->sun_path, sizeof a->sun_path, "%s/app", directory);
	assert_int_equal(bind(fd, (struct sockaddr *)a, sizeof *a), 0);
}

static void
target_takes_a_socket_behind_a_link(void **state)
{
	char directory[] = "/tmp/sallyport-target-XXXXXX";
	char link_path[64], text[128], want[128];
	struct attach_target t;
	struct sockaddr_un a;
	struct err e;

	(void)state;
	make_socket(&a, directory);
	(void)snprintf(link_path, sizeof link_path, "%s/link", directory);
	assert_int_equal(symlink(a.sun_path, link_path), 0);
	(void)snprintf(want, sizeof want, "+%s", a.sun_path);
	(void)snprintf(text, sizeof text, "unix:%s", link_path);
	assert_int_equal(attach_target_parse(text, &t, &e), 0);
	assert_int_equal(t.kind, ATTACH_UNIX);
	assert_string_equal(t.url.host, want);
	(void)snprintf(text, sizeof text, "unix://%s", a.sun_path);
	assert_int_equal(attach_target_parse(text, &t, &e), 0);
	assert_string_equal(t.url.host, want);
	(void)snprintf(text, sizeof text, "unix:%s/none", directory);
	assert_int_equal(attach_target_parse(text, &t, &e), -ENOENT);
	(void)snprintf(text, sizeof text, "unix:%s", directory);
	assert_int_equal(attach_target_parse(text, &t, &e), -EINVAL);
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(unlink(a.sun_path), 0);
	assert_int_equal(rmdir(directory), 0);
}

static void
target_refuses_a_socket_of_another_user(void **state)
{
	char directory[] = "/tmp/sallyport-target-XXXXXX";
	struct attach_target t;
	struct sockaddr_un a;
	char text[128];
	struct err e;

	(void)state;
	if (geteuid() != 0)
		skip();
	make_socket(&a, directory);
	assert_int_equal(chown(a.sun_path, 1234, 1234), 0);
	(void)snprintf(text, sizeof text, "unix:%s", a.sun_path);
	assert_int_equal(attach_target_parse(text, &t, &e), -EACCES);
	assert_int_equal(unlink(a.sun_path), 0);
	assert_int_equal(rmdir(directory), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(target_takes_this_host),
	    cmocka_unit_test(target_refuses_other_hosts),
	    cmocka_unit_test(target_refuses_what_it_cannot_read),
	    cmocka_unit_test(target_takes_stdio),
	    cmocka_unit_test(target_takes_a_socket_behind_a_link),
	    cmocka_unit_test(target_refuses_a_socket_of_another_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
