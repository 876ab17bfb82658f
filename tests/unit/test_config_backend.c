/* What keys of [backend] go together, and what is bound. */
#include "supervisor/config.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
config_finish_wants_a_backend_whole(void **state)
{
	static const struct {
		const char *set[5], *words; /* NULL: it is */
	} rows[] = {
	    {{"backend.type=docker"}, "backend.target: is missing"},
	    {{"backend.type=docker", "backend.target=box"}, NULL},
	    {{"backend.type=ssh"}, "backend.target: is missing"},
	    {{"backend.type=command"}, "backend.start: is missing"},
	    {{"backend.type=command", "backend.start=run {argv}"}, NULL},
	    {{"backend.start=run {argv}"}, "native has no commands"},
	    {{"backend.inspect=run"}, "native has no commands"},
	    {{"backend.prepare=run {id} {tag}"}, "native has no commands"},
	    {{"sandbox.preset=open", "backend.gid=998"},
		"backend.gid: the preset open runs"},
	    {{"sandbox.preset=open", "backend.uid=1000"},
		"backend.uid: the preset open runs"},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.uid=1000"},
		NULL},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=local", "backend.uid=1000"},
		"backend.uid: with files = local"},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=bind"},
		"backend.bind: HOST:GUEST goes with files = bind"},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=local", "backend.bind=/h:/g"},
		"backend.bind: HOST:GUEST goes with files = bind"},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=bind", "backend.bind=/h:/g"},
		NULL},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=bind", "backend.bind=/h:/g",
		 "backend.uid=1000"},
		"backend.uid: with files = local and files = bind"},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=bind", "backend.bind=/h:/g",
		 "backend.worker=/w"},
		"backend.worker: goes with files = worker"},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=worker"},
		"backend.worker: is missing"},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=worker", "backend.worker=/w"},
		NULL},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=send", "backend.uid=1000"},
		NULL},
	    {{"backend.type=command", "backend.start=run {argv}",
		 "backend.files=local", "backend.worker=/w"},
		"backend.worker: goes with files = worker"},
	    {{"backend.socket=/run/a"}, "backend.socket: the type native"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool bad = rows[i].words != NULL;
		struct config c;
		struct err e;

		assert_int_equal(config_init(&c), 0);
		for (size_t j = 0; j < 5 && rows[i].set[j] != NULL; j++)
			assert_int_equal(config_set_text(&c, CONFIG_FLAG,
					     rows[i].set[j], &e),
			    0);
		assert_int_equal(config_finish(&c, &e), bad ? -EINVAL : 0);
		if (bad)
			assert_non_null(strstr(e.text, rows[i].words));
		config_done(&c);
	}
}

/* What HOST and GUEST are; NULL: text is none of the two. */
static const struct {
	const char *text, *host, *guest;
} binds[] = {
    {"/h:/g", "/h", "/g"},
    {"/h:x:/g:y", "/h:x", "/g:y"},
    {"/h:/g:/x", "/h", "/g:/x"},
    {"/work:/works", "/work", "/works"},
    {"/h", NULL, NULL},
    {"/h:g", NULL, NULL},
    {"h:/g", NULL, NULL},
    {":/g", NULL, NULL},
    {"/:/g", NULL, NULL},
    {"/h:/", NULL, NULL},
    {"/h/:/g", NULL, NULL},
    {"/h:/g/..", NULL, NULL},
    {"/h:/h", NULL, NULL},
    {"/h:/h/in", NULL, NULL},
    {"/h/in:/h", NULL, NULL},
    {"/h:/proc", NULL, NULL},
    {"/h:/dev/shm", NULL, NULL},
};

static void
config_backend_bind_follows_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(binds); i++) {
		bool bad = binds[i].host == NULL;
		struct config c;
		struct bytes host, guest;
		struct err e;

		assert_int_equal(config_init(&c), 0);
		if (config_set(&c, CONFIG_FLAG, "backend", "bind",
			binds[i].text, &e) != (bad ? -EINVAL : 0))
			fail_msg("%s", binds[i].text);
		config_backend_bind(&c.backend, &host, &guest);
		assert_true(host.len == 0 && guest.len == 0);
		c.backend.files = BACKEND_FILES_BIND;
		config_backend_bind(&c.backend, &host, &guest);
		assert_true(bytes_is(host, bad ? "" : binds[i].host));
		assert_true(bytes_is(guest, bad ? "" : binds[i].guest));
		config_done(&c);
	}
}

static void
config_backend_bind_takes_the_longest_paths(void **state)
{
	char text[2 * PATH_LEN_MAX + 8];
	struct config c;
	struct err e;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		size_t len = PATH_LEN_MAX - 1 + more;

		memset(text, 'a', sizeof text);
		text[0] = '/';
		memcpy(text + len, ":/g", sizeof ":/g");
		assert_int_equal(config_init(&c), 0);
		assert_int_equal(config_set(&c, CONFIG_FLAG, "backend", "bind",
				     text, &e),
		    more == 0 ? 0 : -EINVAL);
		config_done(&c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(config_finish_wants_a_backend_whole),
	    cmocka_unit_test(config_backend_bind_follows_the_table),
	    cmocka_unit_test(config_backend_bind_takes_the_longest_paths),
	};

	return cmocka_run_group_tests_name("config_backend", tests, NULL, NULL);
}
