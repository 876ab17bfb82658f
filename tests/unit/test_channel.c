#include "privsep/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/unit/unit.h"

/* Net and exec, joined. */
struct joined {
	struct channel *net, *exec;
};

static struct joined
join(void)
{
	struct joined j;
	int fds[2];

	assert_int_equal(channel_pair(fds), 0);
	j.net = channel_new(fds[0], ROLE_NET, ROLE_EXEC);
	j.exec = channel_new(fds[1], ROLE_EXEC, ROLE_NET);
	assert_true(j.net != NULL && j.exec != NULL);
	return j;
}

static void
part(struct joined *j)
{
	channel_free(j->net);
	channel_free(j->exec);
}

static int
null_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void
pair_is_nonblocking_and_close_on_exec(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(channel_pair(fds), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
		assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		(void)close(fds[i]);
	}
}

static void
a_message_arrives_as_it_was_sent(void **state)
{
	const struct msg_process_signal sent = {1, 2, 15};
	struct joined j = join();
	struct err e;
	struct msg m;

	(void)state;
	assert_int_equal(channel_peer(j.net), ROLE_EXEC);
	assert_int_equal(channel_recv(j.exec, &m, &e), -EAGAIN);
	assert_int_equal(channel_send_process_signal(j.net, &sent, NULL, 0), 0);
	assert_false(channel_pending(j.net));
	assert_int_equal(channel_recv(j.exec, &m, &e), 1);
	assert_int_equal(m.type, MSG_PROCESS_SIGNAL);
	assert_int_equal(m.u.process_signal.session, 1);
	assert_int_equal(m.u.process_signal.lease, 2);
	assert_int_equal(m.u.process_signal.signum, 15);
	msg_done(&m);
	part(&j);
}

static void
descriptors_arrive_close_on_exec(void **state)
{
	const struct msg_process_started sent = {.number = 1, .lease = 2};
	unsigned int before = fds_open();
	struct joined j = join();
	int fds[] = {null_fd(), null_fd(), null_fd()};
	struct err e;
	struct msg m;

	(void)state;
	assert_int_equal(channel_send_process_started(j.exec, &sent, fds, 3),
	    0);
	assert_true(fcntl(fds[0], F_GETFD) < 0);
	assert_int_equal(channel_recv(j.net, &m, &e), 1);
	assert_int_equal(m.fd_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(fcntl(m.fds[i], F_GETFD) & FD_CLOEXEC);
	msg_done(&m);
	part(&j);
	assert_int_equal(fds_open(), before);
}

static void
a_large_blob_travels_with_descriptors(void **state)
{
	static uint8_t env[CHANNEL_INLINE_MAX + 1] = {'e'};
	const struct msg_exec_config sent = {.env = {env, sizeof env}};
	struct channel *supervisor, *exec;
	unsigned int before = fds_open();
	int fds[] = {null_fd(), null_fd()}, pair[2];
	struct err e;
	struct msg m;

	(void)state;
	assert_int_equal(channel_pair(pair), 0);
	supervisor = channel_new(pair[0], ROLE_SUPERVISOR, ROLE_EXEC);
	exec = channel_new(pair[1], ROLE_EXEC, ROLE_SUPERVISOR);
	assert_int_equal(channel_send_exec_config(supervisor, &sent, fds, 2),
	    0);
	assert_int_equal(channel_recv(exec, &m, &e), 1);
	assert_int_equal(m.fd_count, 2);
	assert_true(bytes_equal(m.u.exec_config.env, sent.env));
	msg_done(&m);
	channel_free(supervisor);
	channel_free(exec);
	assert_int_equal(fds_open(), before);
}

static void
records_queue_while_the_peer_does_not_read(void **state)
{
	struct msg_process_gone sent = {0};
	struct joined j = join();
	struct err e;
	struct msg m;
	uint32_t next = 0;

	(void)state;
	for (sent.lease = 0; sent.lease < 2000; sent.lease++)
		assert_int_equal(channel_send_process_gone(j.exec, &sent, NULL,
				     0),
		    0);
	assert_true(channel_pending(j.exec));
	while (next < 2000) {
		int r = channel_recv(j.net, &m, &e);

		if (r == -EAGAIN) {
			assert_int_equal(channel_flush(j.exec), 0);
			continue;
		}
		assert_int_equal(r, 1);
		assert_int_equal(m.u.process_gone.lease, next++);
		msg_done(&m);
	}
	assert_false(channel_pending(j.exec));
	assert_int_equal(channel_recv(j.net, &m, &e), -EAGAIN);
	part(&j);
}

static void
a_full_queue_refuses_and_keeps_no_descriptor(void **state)
{
	const struct msg_process_started sent = {.number = 1};
	unsigned int before = fds_open();
	const struct msg_process_gone gone = {1};
	struct joined j = join();
	int fd, r = 0;
	unsigned int count = 0;

	(void)state;
	while (r == 0 && count++ < 2 * CHANNEL_QUEUE_MAX)
		r = channel_send_process_gone(j.exec, &gone, NULL, 0);
	assert_int_equal(r, -ENOBUFS);
	fd = null_fd();
	assert_int_equal(channel_send_process_started(j.exec, &sent, &fd, 1),
	    -ENOBUFS);
	assert_true(fcntl(fd, F_GETFD) < 0);
	part(&j);
	assert_int_equal(fds_open(), before);
}

static void
queued_bytes_are_bounded(void **state)
{
	static const uint8_t spec[CHANNEL_INLINE_MAX] = {0};
	const struct msg_process_start sent = {.spec = {spec, sizeof spec}};
	struct joined j = join();
	size_t count = 0;
	int r = 0;

	(void)state;
	while (r == 0 && count++ < CHANNEL_QUEUE_MAX)
		r = channel_send_process_start(j.net, &sent, NULL, 0);
	assert_int_equal(r, -ENOBUFS);
	assert_true(count <= CHANNEL_BYTES_MAX / sizeof spec + 16);
	part(&j);
}

/* Read all that was sent to exec, and what is queued for it. */
static void
drain(struct joined *j)
{
	struct err e;
	struct msg m;

	do {
		assert_int_equal(channel_flush(j->net), 0);
		while (channel_recv(j->exec, &m, &e) == 1)
			msg_done(&m);
	} while (channel_pending(j->net));
}

static void
what_was_sent_makes_room_again(void **state)
{
	static const uint8_t spec[CHANNEL_INLINE_MAX] = {0};
	const struct msg_process_start sent = {.spec = {spec, sizeof spec}};
	struct joined j = join();

	(void)state;
	for (int i = 0; i < 3; i++) {
		size_t count = 0;

		while (channel_send_process_start(j.net, &sent, NULL, 0) == 0)
			count++;
		assert_true(count >= CHANNEL_BYTES_MAX / CHANNEL_RECORD_MAX);
		assert_true(channel_crowded(j.net));
		drain(&j);
		assert_false(channel_crowded(j.net));
	}
	part(&j);
}

static void
queued_descriptors_are_closed_with_the_channel(void **state)
{
	const struct msg_process_started sent = {.number = 1};
	unsigned int before = fds_open();
	struct joined j = join();

	(void)state;
	for (int i = 0; i < 600; i++) {
		int fd = null_fd();

		assert_int_equal(channel_send_process_started(j.exec, &sent,
				     &fd, 1),
		    0);
	}
	assert_true(channel_pending(j.exec));
	part(&j);
	assert_int_equal(fds_open(), before);
}

static void
the_end_of_the_peer_is_seen(void **state)
{
	const struct msg_process_gone gone = {1};
	const struct msg_session_open open_ = {1};
	struct joined j = join();
	struct err e;
	struct msg m;

	(void)state;
	assert_int_equal(channel_send_process_gone(j.exec, &gone, NULL, 0), 0);
	channel_free(j.exec);
	j.exec = NULL;
	assert_int_equal(channel_recv(j.net, &m, &e), 1);
	msg_done(&m);
	assert_int_equal(channel_recv(j.net, &m, &e), 0);
	assert_int_equal(channel_send_session_open(j.net, &open_, NULL, 0),
	    -EPIPE);
	part(&j);
}

/* A raw end, so that records can be sent that a channel would not. */
struct raw {
	int fd;
	struct channel *exec;
};

static struct raw
raw_join(void)
{
	struct raw r;
	int fds[2];

	assert_int_equal(channel_pair(fds), 0);
	r.fd = fds[0];
	r.exec = channel_new(fds[1], ROLE_EXEC, ROLE_NET);
	assert_non_null(r.exec);
	return r;
}

static void
raw_part(struct raw *r)
{
	(void)close(r->fd);
	channel_free(r->exec);
}

/* Send len bytes with count copies of one descriptor. */
static void
raw_send(int fd, const void *data, size_t len, size_t count)
{
	union {
		struct cmsghdr align;
		char raw[CMSG_SPACE(250 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data,
	    .iov_len = len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[250];

	if (count > 0) {
		struct cmsghdr *m;

		fds[0] = null_fd();
		for (size_t i = 1; i < count; i++)
			fds[i] = fds[0];
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(count * sizeof fds[0]);
		m = CMSG_FIRSTHDR(&h);
		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(count * sizeof fds[0]);
		memcpy(CMSG_DATA(m), fds, count * sizeof fds[0]);
	}
	assert_int_equal(sendmsg(fd, &h, MSG_NOSIGNAL), len);
	if (count > 0)
		(void)close(fds[0]);
}

static void
too_many_descriptors_are_refused_and_closed(void **state)
{
	/* SESSION_OPEN 1: a good record, were it alone. */
	static const uint8_t record[8] = {MSG_SESSION_OPEN, 0, 0, 0, 1};
	static const size_t counts[] = {1, CHANNEL_FDS_MAX, CHANNEL_FDS_MAX + 1,
	    CHANNEL_FDS_MAX + 2, CHANNEL_FDS_MAX + 3, 250};

	(void)state;
	for (size_t i = 0; i < COUNT(counts); i++) {
		unsigned int before = fds_open();
		struct raw r = raw_join();
		struct err e;
		struct msg m;

		raw_send(r.fd, record, sizeof record, counts[i]);
		assert_int_equal(channel_recv(r.exec, &m, &e), -EPROTO);
		raw_part(&r);
		if (fds_open() != before)
			fail_msg("%zu descriptors leak", counts[i]);
	}
}

static void
broken_records_are_refused(void **state)
{
	static const uint8_t big[CHANNEL_RECORD_MAX + 1] = {1};
	static const struct {
		const char *name;
		const void *data;
		size_t len;
	} rows[] = {
	    {"one byte", "\1", 1},
	    {"unknown type", "\377\377\377\177", 4},
	    {"longer than a record", big, sizeof big},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct raw r = raw_join();
		struct err e = {0};
		struct msg m;

		raw_send(r.fd, rows[i].data, rows[i].len, 0);
		if (channel_recv(r.exec, &m, &e) != -EPROTO)
			fail_msg("%s", rows[i].name);
		assert_int_equal(e.code, EPROTO);
		raw_part(&r);
	}
}

static void
an_empty_record_ends_the_channel(void **state)
{
	unsigned int before = fds_open();
	struct raw r = raw_join();
	struct err e;
	struct msg m;

	(void)state;
	raw_send(r.fd, "", 0, 2);
	assert_int_equal(channel_recv(r.exec, &m, &e), 0);
	raw_part(&r);
	assert_int_equal(fds_open(), before);
}

static void
channel_new_closes_its_end_when_memory_runs_out(void **state)
{
	unsigned int before = fds_open();
	int pair[2];

	(void)state;
	assert_int_equal(channel_pair(pair), 0);
	alloc_fail_at(1);
	assert_null(channel_new(pair[0], ROLE_NET, ROLE_EXEC));
	alloc_fail_at(0);
	(void)close(pair[1]);
	assert_int_equal(fds_open(), before);
}

/* The record is packed with one allocation; the queue makes the next ones. */
static void
sending_leaks_nothing_when_memory_runs_out(void **state)
{
	const struct msg_process_started sent = {.number = 1};
	unsigned int before = fds_open();

	(void)state;
	for (unsigned int n = 1; n <= 4; n++) {
		struct joined j = join();
		int r = 0;

		alloc_fail_at(n);
		for (int i = 0; i < 600 && r == 0; i++) {
			int fd = null_fd();

			r = channel_send_process_started(j.exec, &sent, &fd, 1);
		}
		alloc_fail_at(0);
		assert_int_equal(r, -ENOMEM);
		part(&j);
	}
	assert_int_equal(fds_open(), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pair_is_nonblocking_and_close_on_exec),
	    cmocka_unit_test(a_message_arrives_as_it_was_sent),
	    cmocka_unit_test(descriptors_arrive_close_on_exec),
	    cmocka_unit_test(a_large_blob_travels_with_descriptors),
	    cmocka_unit_test(records_queue_while_the_peer_does_not_read),
	    cmocka_unit_test(a_full_queue_refuses_and_keeps_no_descriptor),
	    cmocka_unit_test(queued_bytes_are_bounded),
	    cmocka_unit_test(what_was_sent_makes_room_again),
	    cmocka_unit_test(queued_descriptors_are_closed_with_the_channel),
	    cmocka_unit_test(the_end_of_the_peer_is_seen),
	    cmocka_unit_test(too_many_descriptors_are_refused_and_closed),
	    cmocka_unit_test(broken_records_are_refused),
	    cmocka_unit_test(an_empty_record_ends_the_channel),
	    cmocka_unit_test(channel_new_closes_its_end_when_memory_runs_out),
	    cmocka_unit_test(sending_leaks_nothing_when_memory_runs_out),
	};

	return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
