/* For whose sessions exec starts a file worker at all. */
#include <errno.h>
#include <string.h>

#include "exec/executor.h"
#include "tests/unit/unit.h"

/* A net that asks in session 1, where no worker is left to be had: what is
 * refused for another reason is refused before that is looked at. */
struct fixture {
	struct exec_config config;
	struct session session, *sessions[1];
	struct peer peer;
	struct executor x;
	struct channel *net, *supervisor;
};

static struct channel *
connect_to(struct channel **far, enum role here, enum role there)
{
	int ends[2];

	assert_int_equal(channel_pair(ends), 0);
	*far = channel_new(ends[1], there, here);
	return channel_new(ends[0], here, there);
}

static void
fixture_make(struct fixture *f, const struct backend_config *b)
{
	*f = (struct fixture){.config.backend = *b};
	f->session.config = &f->config;
	f->session.id.v = 1;
	f->session.generation.v = 1;
	f->session.state = SESSION_READY;
	STAILQ_INIT(&f->session.waiting);
	f->sessions[0] = &f->session;
	f->x.sessions = f->sessions;
	f->x.slot_count = 1;
	f->peer.generation.v = 1;
	f->peer.channel = connect_to(&f->net, ROLE_EXEC, ROLE_NET);
	f->x.supervisor =
	    connect_to(&f->supervisor, ROLE_EXEC, ROLE_SUPERVISOR);
	LIST_INIT(&f->x.peers);
	LIST_INIT(&f->x.leases);
	LIST_INSERT_HEAD(&f->x.peers, &f->peer, link);
}

static void
fixture_remove(struct fixture *f)
{
	channel_free(f->peer.channel);
	channel_free(f->x.supervisor);
	channel_free(f->net);
	channel_free(f->supervisor);
}

static void
ask(struct fixture *f)
{
	const struct msg m = {.type = MSG_WORKER_OPEN,
	    .u.worker_open = {.number = 7, .session = 1}};
	struct err e = {0};

	assert_int_equal(executor_on_worker_open(&f->x, &f->peer, &m, &e), 0);
}

/* Net is refused for that reason. */
static void
expect(struct fixture *f, enum refuse_reason reason, const char *part)
{
	const struct msg_worker_refused *refused;
	struct err e = {0};
	struct msg m;
	char text[256];

	assert_int_equal(channel_recv(f->net, &m, &e), 1);
	assert_int_equal(m.type, MSG_WORKER_REFUSED);
	refused = &m.u.worker_refused;
	assert_int_equal(refused->number, 7);
	assert_int_equal(refused->reason, reason);
	assert_true(refused->text.len < sizeof text);
	memcpy(text, refused->text.data, refused->text.len);
	text[refused->text.len] = '\0';
	if (strstr(text, part) == NULL)
		fail_msg("%s", text);
	msg_done(&m);
	assert_int_equal(channel_recv(f->net, &m, &e), -EAGAIN);
}

static const struct {
	bool on;
	enum backend_files files;
	bool refused;
} rows[] = {
    {false, BACKEND_FILES_REFUSE, false}, /* there is no backend */
    {true, BACKEND_FILES_REFUSE, true},
    {true, BACKEND_FILES_LOCAL, false},
    {true, BACKEND_FILES_BIND, false},
    {true, BACKEND_FILES_WORKER, false},
    {true, BACKEND_FILES_SEND, false},
};

static void
a_backend_that_refuses_files_has_no_worker(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct fixture f;

		fixture_make(&f, &(struct backend_config){.on = rows[i].on,
				     .files = rows[i].files});
		ask(&f);
		if (rows[i].refused)
			expect(&f, REFUSE_POLICY, "backend.files");
		else
			expect(&f, REFUSE_BUSY, "too many file workers");
		fixture_remove(&f);
	}
}

static void
nor_has_one_that_was_asked_for_too_early(void **state)
{
	struct fixture f;
	struct waiting *w;
	struct err e = {0};
	struct msg m;

	(void)state;
	fixture_make(&f, &(struct backend_config){.on = true,
			     .files = BACKEND_FILES_REFUSE});
	f.session.state = SESSION_OPENING;
	ask(&f);
	assert_int_equal(channel_recv(f.net, &m, &e), -EAGAIN);
	f.session.state = SESSION_READY;
	w = session_next_waiting(&f.session);
	assert_non_null(w);
	executor_worker_resume(&f.x, &f.session, w);
	free(w);
	expect(&f, REFUSE_POLICY, "backend.files");
	fixture_remove(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_backend_that_refuses_files_has_no_worker),
	    cmocka_unit_test(nor_has_one_that_was_asked_for_too_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
