#include "supervisor/config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

/* The file NAME in tests/data/config, at most CONFIG_FILE_MAX bytes. */
static void
read_data(const char *name, struct buf *out)
{
	scoped_free char *path = NULL;
	FILE *f;

	assert_true(
	    asprintf(&path, "%s/config/%s", getenv("TEST_DATA"), name) > 0);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_int_equal(buf_reserve(out, CONFIG_FILE_MAX), 0);
	out->len = fread(out->data, 1, CONFIG_FILE_MAX, f);
	(void)fclose(f);
}

static int
parse_data(struct config *c, const char *name, struct buf *errors)
{
	scoped_buf text;

	buf_init(&text, CONFIG_FILE_MAX);
	read_data(name, &text);
	return config_parse(c, name,
	    (struct bytes){.data = text.data, .len = text.len}, errors);
}

static void
check_bad(const char *name)
{
	scoped_buf errors, want;
	char want_name[256];
	struct config c;

	buf_init(&errors, CONFIG_ERRORS_MAX);
	buf_init(&want, CONFIG_FILE_MAX);
	(void)snprintf(want_name, sizeof want_name, "%.*s.want",
	    (int)strlen(name) - 5, name);
	read_data(want_name, &want);
	assert_int_equal(config_init(&c), 0);
	assert_int_equal(parse_data(&c, name, &errors), -EINVAL);
	if (errors.len != want.len ||
	    memcmp(errors.data, want.data, want.len) != 0)
		fail_msg("%s:\n%.*swanted:\n%.*s", name, (int)errors.len,
		    (char *)errors.data, (int)want.len, (char *)want.data);
	config_done(&c);
}

static void
check_good(const char *name)
{
	scoped_buf errors;
	struct config c;
	struct err e;

	buf_init(&errors, CONFIG_ERRORS_MAX);
	assert_int_equal(config_init(&c), 0);
	if (parse_data(&c, name, &errors) < 0)
		fail_msg("%.*s", (int)errors.len, (char *)errors.data);
	assert_int_equal(errors.len, 0);
	assert_int_equal(config_finish(&c, &e), 0);
	config_done(&c);
}

/* Check every tests/data/config/PREFIX*.conf; returns how many there are. */
static int
for_each(const char *prefix, void (*check)(const char *name))
{
	scoped_free char *path = NULL;
	struct dirent *entry;
	int count = 0;
	DIR *dir;

	assert_true(asprintf(&path, "%s/config", getenv("TEST_DATA")) > 0);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		const char *dot = strrchr(entry->d_name, '.');

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    dot == NULL || strcmp(dot, ".conf") != 0)
			continue;
		check(entry->d_name);
		count++;
	}
	(void)closedir(dir);
	return count;
}

static void
config_tells_every_mistake_with_its_line(void **state)
{
	(void)state;
	assert_true(for_each("bad-", check_bad) >= 60);
}

static void
config_takes_what_is_well_formed(void **state)
{
	(void)state;
	assert_true(for_each("good-", check_good) >= 12);
}

static void
load_good(struct config *c, const char *name)
{
	scoped_buf errors;
	struct err e;

	buf_init(&errors, CONFIG_ERRORS_MAX);
	assert_int_equal(config_init(c), 0);
	assert_int_equal(parse_data(c, name, &errors), 0);
	assert_int_equal(config_finish(c, &e), 0);
}

static void
config_reads_units(void **state)
{
	struct config c;

	(void)state;
	load_good(&c, "good-units.conf");
	assert_int_equal(c.limits.shutdown_timeout, 60000);
	assert_int_equal(c.limits.handshake_timeout, 200);
	assert_int_equal(c.limits.initialize_timeout, 7);
	assert_int_equal(c.limits.session_retention, 3600000);
	assert_int_equal(c.limits.tmp_size, 64 << 20);
	assert_int_equal(c.limits.shm_size, 65536);
	assert_true(c.limits.child_memory == UINT64_C(1) << 40);
	assert_int_equal(c.limits.sessions_max, 4096);
	config_done(&c);
}

static void
config_reads_every_key(void **state)
{
	struct config c;

	(void)state;
	load_good(&c, "good-every-key.conf");
	assert_int_equal(c.workspaces.count, 1);
	assert_string_equal(c.workspaces.items[0], "/w");
	assert_true(list_has(&c.env_set, "PATH=/bin"));
	assert_true(list_has(&c.env_set, "EMPTY="));
	assert_int_equal(c.env_scrub.count, 1);
	assert_int_equal(c.preset, PRESET_STRICT);
	assert_int_equal(c.allow_root, 1);
	assert_int_equal(c.degraded, 1);
	assert_int_equal(c.uid_base, 200000);
	assert_int_equal(c.net_uid, 0x30000);
	assert_int_equal(c.http_uid, 0x30001);
	assert_int_equal(c.http.enabled, 1);
	assert_int_equal(c.http.allow.count, 3);
	assert_int_equal(c.http.deny.count, 1);
	assert_int_equal(c.http.allow_private, 1);
	assert_int_equal(c.http.allow_public, 0);
	assert_int_equal(c.http.ports.count, 1);
	assert_true(list_has(&c.http.env, "EMPTY"));
	assert_string_equal(c.http.resolver, "127.0.0.1:5353");
	assert_string_equal(c.http.proxy, "http://[::1]:3128");
	assert_string_equal(c.http.ca_file, "/etc/ca.pem");
	assert_int_equal(c.http.max_body, 1 << 20);
	assert_int_equal(c.http.max_concurrent, 3);
	assert_int_equal(c.http.max_redirects, 0);
	assert_int_equal(c.network, NETWORK_ENABLED);
	assert_int_equal(c.atomic_writes, 1);
	assert_string_equal(c.audit.file, "/var/log/x");
	assert_int_equal(c.log_level, LOG_DEBUG);
	config_done(&c);
}

static void
config_keeps_a_value_to_the_end_of_its_line(void **state)
{
	struct config c;

	(void)state;
	load_good(&c, "good-value-with-semicolon.conf");
	assert_true(list_has(&c.env_set, "LS_COLORS=di=1 ; ln=2 # x"));
	config_done(&c);
}

static void
config_set_replaces_a_name_and_keeps_the_rest(void **state)
{
	struct config c;
	struct err e;
	size_t before;

	(void)state;
	assert_int_equal(config_init(&c), 0);
	before = c.env_set.count;
	assert_true(list_has(&c.env_set, "HOME=/tmp/home"));
	assert_int_equal(config_set(&c, CONFIG_FILE, "env", "set", "HOME=/x",
			     &e),
	    0);
	assert_int_equal(config_set(&c, CONFIG_FLAG, "env", "set", "HOME=/y",
			     &e),
	    0);
	assert_int_equal(c.env_set.count, before);
	assert_true(list_has(&c.env_set, "HOME=/y"));
	assert_int_equal(config_set(&c, CONFIG_FLAG, "env", "set", "HOMES=1",
			     &e),
	    0);
	assert_int_equal(c.env_set.count, before + 1);
	config_done(&c);
}

static void
config_command_line_wins_over_file_over_preset(void **state)
{
	struct config c;
	struct err e;

	(void)state;
	assert_int_equal(config_init(&c), 0);
	assert_int_equal(config_set(&c, CONFIG_FILE, "sandbox", "preset",
			     "open", &e),
	    0);
	assert_int_equal(config_set_text(&c, CONFIG_FLAG,
			     "limits.workers_max=3", &e),
	    0);
	assert_int_equal(config_set(&c, CONFIG_FILE, "limits", "workers_max",
			     "2", &e),
	    -EEXIST);
	assert_int_equal(c.limits.workers_max, 3);
	assert_int_equal(config_set_text(&c, CONFIG_FLAG,
			     "limits.workers_max=5", &e),
	    0);
	assert_int_equal(c.limits.workers_max, 5);
	assert_int_equal(config_finish(&c, &e), 0);
	assert_int_equal(c.network, NETWORK_ENABLED);
	config_done(&c);
}

static void
config_preset_leaves_what_is_said_otherwise(void **state)
{
	struct config c;
	struct err e;

	(void)state;
	assert_int_equal(config_init(&c), 0);
	assert_int_equal(config_set_text(&c, CONFIG_FLAG, "sandbox.preset=open",
			     &e),
	    0);
	assert_int_equal(config_set_text(&c, CONFIG_FLAG,
			     "profile.network=restricted", &e),
	    0);
	assert_int_equal(config_finish(&c, &e), 0);
	assert_int_equal(c.network, NETWORK_RESTRICTED);
	config_done(&c);
}

static void
config_workspaces_of_the_command_line_replace_the_files(void **state)
{
	static const char *const rows[][2] = {
	    {"server.workspace", "/c"},
	    {"server.workspace", "/d"},
	};
	struct config c;
	struct err e;

	(void)state;
	load_good(&c, "good-lists.conf");
	assert_int_equal(c.workspaces.count, 2);
	assert_string_equal(c.workspaces.items[1], "/b c");
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(config_set(&c, CONFIG_FLAG, "server",
				     "workspace", rows[i][1], &e),
		    0);
	assert_int_equal(c.workspaces.count, 2);
	assert_string_equal(c.workspaces.items[0], "/c");
	assert_int_equal(config_set(&c, CONFIG_FLAG, "env", "allow", "MORE",
			     &e),
	    0);
	assert_int_equal(c.env_allow.count, 3);
	config_done(&c);
}

static void
config_scrub_list_is_replaced_or_emptied(void **state)
{
	struct config c;

	(void)state;
	load_good(&c, "good-empty.conf");
	assert_true(list_has(&c.env_scrub, "PASSWORD"));
	config_done(&c);
	load_good(&c, "good-lists.conf");
	assert_int_equal(c.env_scrub.count, 2);
	config_done(&c);
	load_good(&c, "good-scrub-nothing.conf");
	assert_int_equal(c.env_scrub.count, 0);
	config_done(&c);
}

static void
config_set_text_wants_section_key_value(void **state)
{
	static const char *const rows[] = {"", "x", "a.b", "a=b", "=a.b",
	    "a=b.c", ".=", "server.=x", ".compat=codex",
	    "server.compat=", "limits.workers_max=0x",
	    "limits.workers_max=0x11111111111111111"};
	struct config c;
	struct err e;

	(void)state;
	assert_int_equal(config_init(&c), 0);
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_true(config_set_text(&c, CONFIG_FLAG, rows[i], &e) < 0);
	assert_int_equal(c.limits.workers_max, 4);
	config_done(&c);
}

static void
config_finish_refuses_ids_that_meet(void **state)
{
	static const struct {
		const char *base, *net;
		int want;
	} rows[] = {
	    {"200000", "199999", 0},
	    {"200000", "200000", -EINVAL},
	    {"200000", "200511", -EINVAL},
	    {"200000", "200512", 0},
	    {"0xfffefe01", "200000", -EINVAL},
	    {"0xfffefe00", "200000", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct config c;
		struct err e;

		assert_int_equal(config_init(&c), 0);
		assert_int_equal(config_set(&c, CONFIG_FLAG, "sandbox",
				     "uid_base", rows[i].base, &e),
		    0);
		assert_int_equal(config_set(&c, CONFIG_FLAG, "sandbox",
				     "net_uid", rows[i].net, &e),
		    0);
		assert_int_equal(config_finish(&c, &e), rows[i].want);
		config_done(&c);
	}
}

static void
config_policy_names_no_value_of_the_environment(void **state)
{
	struct config c;
	scoped_buf policy;
	struct err e;

	(void)state;
	buf_init(&policy, 32768);
	load_good(&c, "good-lists.conf");
	assert_int_equal(config_set(&c, CONFIG_FLAG, "env", "set", "DB=hunter2",
			     &e),
	    0);
	assert_int_equal(config_put_policy(&c, &policy), 0);
	assert_null(memmem(policy.data, policy.len, "hunter2", 7));
	assert_non_null(memmem(policy.data, policy.len, "env.set = DB\n", 13));
	assert_non_null(
	    memmem(policy.data, policy.len, "limits.tmp_size = 1G\n", 21));
	config_done(&c);
}

/* The shipped file with every setting uncommented: "#key", not "# prose". */
static void
read_shipped(struct buf *out)
{
	scoped_buf text;
	uint8_t *at;

	buf_init(&text, CONFIG_FILE_MAX);
	read_data("../../../policy/sallyport.conf", &text);
	at = text.data;
	for (size_t i = 0; i < text.len; i++) {
		bool first = i == 0 || at[i - 1] == '\n';

		if (!first || at[i] != '#' || i + 1 == text.len ||
		    at[i + 1] == ' ' || at[i + 1] == '\n')
			assert_int_equal(buf_put_u8(out, at[i]), 0);
	}
}

static void
put_policy(struct config *c, struct buf *out)
{
	struct err e;

	list_clear(&c->workspaces);
	list_clear(&c->env_allow);
	list_clear(&c->http.allow);
	list_clear(&c->http.deny);
	list_clear(&c->http.ports);
	list_clear(&c->http.env);
	free(c->http.resolver);
	free(c->http.proxy);
	c->http.resolver = c->http.proxy = NULL;
	config_audit_done(&c->audit);
	config_backend_done(&c->backend);
	c->backend.lost_status = 256;
	assert_int_equal(config_finish(c, &e), 0);
	assert_int_equal(config_put_policy(c, out), 0);
}

static void
config_shipped_file_tells_every_key_and_its_default(void **state)
{
	scoped_buf text, errors, shipped, builtin;
	struct config a, b;

	(void)state;
	buf_init(&text, CONFIG_FILE_MAX);
	buf_init(&errors, CONFIG_ERRORS_MAX);
	buf_init(&shipped, 32768);
	buf_init(&builtin, 32768);
	read_shipped(&text);
	assert_int_equal(config_init(&a), 0);
	assert_int_equal(config_init(&b), 0);
	if (config_parse(&a, "sallyport.conf",
		(struct bytes){.data = text.data, .len = text.len},
		&errors) < 0)
		fail_msg("%.*s", (int)errors.len, (char *)errors.data);
	for (size_t i = 0; i < COUNT(a.level); i++)
		if (a.level[i] != CONFIG_FILE)
			fail_msg("key %zu is missing", i);
	put_policy(&a, &shipped);
	put_policy(&b, &builtin);
	assert_int_equal(shipped.len, builtin.len);
	assert_memory_equal(shipped.data, builtin.data, builtin.len);
	config_done(&a);
	config_done(&b);
}

static void
config_complaints_stop_at_their_bound(void **state)
{
	struct config c;
	scoped_buf text, errors;

	(void)state;
	buf_init(&text, CONFIG_FILE_MAX);
	buf_init(&errors, CONFIG_ERRORS_MAX);
	while (text.len < CONFIG_FILE_MAX - 16)
		assert_int_equal(buf_put(&text, "x\n", 2), 0);
	assert_int_equal(config_init(&c), 0);
	assert_int_equal(config_parse(&c, "f",
			     (struct bytes){.data = text.data, .len = text.len},
			     &errors),
	    -EINVAL);
	assert_true(errors.len > CONFIG_ERRORS_MAX - 64);
	config_done(&c);
}

static void
config_load_refuses_what_is_no_file(void **state)
{
	static const char *const rows[] = {"/nonexistent", "/", "/dev/null"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		scoped_buf errors;
		struct config c;
		unsigned int before = fds_open();

		buf_init(&errors, CONFIG_ERRORS_MAX);
		assert_int_equal(config_init(&c), 0);
		assert_int_equal(config_load(&c, CONFIG_FILE, rows[i], &errors),
		    -EINVAL);
		assert_true(errors.len > 0);
		assert_int_equal(fds_open(), before);
		config_done(&c);
	}
}

static void
config_survives_every_failing_allocation(void **state)
{
	scoped_buf text;
	bool reached = true;

	(void)state;
	buf_init(&text, CONFIG_FILE_MAX);
	read_data("good-lists.conf", &text);
	for (unsigned int n = 1; reached; n++) {
		scoped_buf errors;
		struct config c;

		buf_init(&errors, CONFIG_ERRORS_MAX);
		alloc_fail_at(n);
		if (config_init(&c) == 0)
			(void)!config_parse(&c, "f",
			    (struct bytes){.data = text.data, .len = text.len},
			    &errors);
		reached = alloc_failed();
		alloc_fail_at(0);
		config_done(&c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(config_tells_every_mistake_with_its_line),
	    cmocka_unit_test(config_takes_what_is_well_formed),
	    cmocka_unit_test(config_reads_units),
	    cmocka_unit_test(config_reads_every_key),
	    cmocka_unit_test(config_keeps_a_value_to_the_end_of_its_line),
	    cmocka_unit_test(config_set_replaces_a_name_and_keeps_the_rest),
	    cmocka_unit_test(config_command_line_wins_over_file_over_preset),
	    cmocka_unit_test(config_preset_leaves_what_is_said_otherwise),
	    cmocka_unit_test(
		config_workspaces_of_the_command_line_replace_the_files),
	    cmocka_unit_test(config_scrub_list_is_replaced_or_emptied),
	    cmocka_unit_test(config_set_text_wants_section_key_value),
	    cmocka_unit_test(config_finish_refuses_ids_that_meet),
	    cmocka_unit_test(config_policy_names_no_value_of_the_environment),
	    cmocka_unit_test(
		config_shipped_file_tells_every_key_and_its_default),
	    cmocka_unit_test(config_complaints_stop_at_their_bound),
	    cmocka_unit_test(config_load_refuses_what_is_no_file),
	    cmocka_unit_test(config_survives_every_failing_allocation),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
