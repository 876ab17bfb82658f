/* The streams that an init hands over. */
#include "exec/lease.h"

#include <errno.h>
#include <sys/socket.h>

#include "exec/backend_job.h"
#include "tests/unit/unit.h"

#define SENT_MAX (CONTROL_STREAMS_MAX + 2)

/* A lease, and the end of its control socket that an init would have. */
static struct lease *
make(int *init)
{
	struct spawned s = {.pidfd = -1, .status = -1};
	struct lease *l;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     ends),
	    0);
	s.control = ends[0];
	*init = ends[1];
	l = lease_new((struct lease_id){1}, &s);
	assert_non_null(l);
	return l;
}

/* Send count descriptors, and take them. */
static int
hand_over(struct lease *l, int init, enum control_type type, size_t count)
{
	const struct control c = {.type = type};
	int fds[SENT_MAX], taken[CONTROL_STREAMS_MAX], r;
	size_t got;

	for (size_t i = 0; i < count; i++)
		fds[i] = init;
	assert_int_equal(raw_send(init, &c, sizeof c, fds, count), 0);
	r = lease_take_streams(l, taken, &got);
	for (size_t i = 0; r == 0 && i < got; i++)
		(void)close(taken[i]);
	return r;
}

static void
an_init_sends_as_many_streams_as_it_was_asked_for(void **state)
{
	struct job job;
	int init;
	struct lease *l = make(&init);
	unsigned int before = fds_open();

	(void)state;
	for (size_t count = 0; count <= SENT_MAX; count++) {
		l->pipe_stdin = false;
		assert_int_equal(hand_over(l, init, CONTROL_STREAMS, count),
		    count == 2 ? 0 : -EPROTO);
		l->pipe_stdin = true;
		assert_int_equal(hand_over(l, init, CONTROL_STREAMS, count),
		    count == 3 ? 0 : -EPROTO);
		assert_int_equal(hand_over(l, init, CONTROL_EXITED, count),
		    -EPROTO);
		l->command_of = &job;
		assert_int_equal(hand_over(l, init, CONTROL_STREAMS, count),
		    count == 0 ? 0 : -EPROTO);
		l->command_of = NULL;
		assert_int_equal(fds_open(), before);
	}
	(void)close(init);
	assert_int_equal(lease_take_streams(l, (int[CONTROL_STREAMS_MAX]){0},
			     &(size_t){0}),
	    -EPROTO);
	lease_free(l);
	assert_int_equal(fds_open(), before - 2);
}

/* With the news of a placeholder come none. */
static void
descriptors_of_another_record_are_closed(void **state)
{
	int init;
	struct lease *l = make(&init);
	unsigned int before = fds_open();

	(void)state;
	for (size_t count = 1; count <= CONTROL_STREAMS_MAX; count++) {
		const struct control c = {.type = CONTROL_MADE};

		assert_int_equal(
		    raw_send(init, &c, sizeof c,
			(int[CONTROL_STREAMS_MAX]){init, init, init}, count),
		    0);
		assert_int_equal(hand_over(l, init, CONTROL_STREAMS, 2),
		    -EPROTO);
		lease_read_made(l);
		assert_int_equal(fds_open(), before);
	}
	(void)close(init);
	lease_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_init_sends_as_many_streams_as_it_was_asked_for),
	    cmocka_unit_test(descriptors_of_another_record_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
