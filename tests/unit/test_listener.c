#include "supervisor/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/unit/unit.h"

/* A socket of the kernel's choice of port, and its address in u. */
static int
listening(const char *text, struct listen_url *u)
{
	struct err e;
	int fd;

	assert_int_equal(listen_url_parse(text, u, &e), 0);
	fd = listener_open(u, &e);
	assert_true(fd >= 0);
	return fd;
}

/* A frame that follows another would else wait for the peer's delayed ACK. */
static void
what_it_accepts_sends_at_once(void **state)
{
	struct listen_url u;
	scoped_fd listener = listening("ws://127.0.0.1:0", &u);
	scoped_fd client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	scoped_fd accepted = -1;
	int on = 0;
	socklen_t len = sizeof on;

	(void)state;
	assert_int_equal(connect(client, (struct sockaddr *)&u.addr, u.len), 0);
	accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(accepted >= 0);
	assert_int_equal(getsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on,
			     &len),
	    0);
	assert_int_equal(on, 1);
}

static void
an_address_in_use_is_named(void **state)
{
	struct listen_url u;
	scoped_fd first = listening("ws://127.0.0.1:0", &u);
	struct err e = {0};

	(void)state;
	assert_true(first >= 0);
	assert_int_equal(listener_open(&u, &e), -EADDRINUSE);
	assert_non_null(strstr(e.text, "listen on 127.0.0.1:"));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_it_accepts_sends_at_once),
	    cmocka_unit_test(an_address_in_use_is_named),
	};

	return cmocka_run_group_tests_name("listener", tests, NULL, NULL);
}
