/* Lines for the audit log that a role cannot hand over. */
#include "privsep/tell.h"

#include <errno.h>
#include <string.h>

#include "privsep/pack.h"
#include "tests/unit/unit.h"

static const char *const nothing[] = {"some", "thing", NULL};

/* The next line that arrives; its second value is in *value. */
static void
expect(struct channel *c, const char *event, const char *value)
{
	struct bytes got = {0};
	struct reader r;
	struct err e;
	struct msg m;

	assert_int_equal(channel_recv(c, &m, &e), 1);
	assert_int_equal(m.type, MSG_AUDIT);
	assert_true(bytes_is(m.u.audit.event, event));
	reader_init(&r, m.u.audit.pairs.data, m.u.audit.pairs.len);
	assert_true(strings_next(&r, &got) && strings_next(&r, &got));
	assert_true(bytes_is(got, value));
	msg_done(&m);
}

/* All that is on its way. */
static void
drain(struct channel *from, struct channel *to)
{
	struct err e;
	struct msg m;

	while (channel_recv(to, &m, &e) == 1) {
		msg_done(&m);
		assert_int_equal(channel_flush(from), 0);
	}
	assert_false(channel_pending(from));
}

static void
what_was_lost_is_told_first(void **state)
{
	static char long_text[15000];
	struct channel *net, *supervisor;
	struct tell t = {0};
	int fds[2];

	(void)state;
	memset(long_text, 'x', sizeof long_text - 1);
	assert_int_equal(channel_pair(fds), 0);
	net = channel_new(fds[0], ROLE_NET, ROLE_SUPERVISOR);
	supervisor = channel_new(fds[1], ROLE_SUPERVISOR, ROLE_NET);
	assert_true(net != NULL && supervisor != NULL);
	tell_audit(&t, net, "one", nothing);
	expect(supervisor, "one", "thing");
	while (t.lost < 3)
		tell_audit(&t, net, "two",
		    (const char *[]){"text", long_text, NULL});
	drain(net, supervisor);
	tell_audit(&t, net, "three", nothing);
	assert_int_equal(t.lost, 0);
	expect(supervisor, "audit_lost", "3");
	expect(supervisor, "three", "thing");
	channel_free(supervisor);
	tell_audit(&t, net, "four", nothing);
	tell_audit(&t, net, "five", nothing);
	assert_int_equal(t.lost, 2);
	assert_int_equal(t.lost_errno, EPIPE);
	channel_free(net);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_lost_is_told_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
