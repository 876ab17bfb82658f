#include "supervisor/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define HEAD "{\"v\":1,\"time\":\"2026-01-02T03:04:05.678Z\",\"role\":\"exec\","

/* Pack a NULL-terminated array of strings. */
static void
pack(const char *const *strings, struct buf *out)
{
	buf_init(out, 64 * 1024);
	for (; *strings != NULL; strings++)
		assert_int_equal(buf_put_cstring(out, *strings), 0);
}

static int
format(struct buf *out, const char *event, struct bytes pairs)
{
	const struct timespec now = {1767323045, 678999999};
	struct err e;

	return audit_format(out, &now, ROLE_EXEC, bytes_of(event), pairs, &e);
}

static void
audit_format_writes_one_object_a_line(void **state)
{
	static const struct {
		const char *pairs[7];
		const char *want;
	} rows[] = {
	    {{NULL}, HEAD "\"event\":\"started\"}\n"},
	    {{"pid", "12", NULL},
		HEAD "\"event\":\"started\",\"pid\":\"12\"}\n"},
	    {{"a", "", "b_2", "x y", NULL},
		HEAD "\"event\":\"started\",\"a\":\"\",\"b_2\":\"x y\"}\n"},
	    {{"a", "\"\\/\b\n\x1b\x7f", NULL},
		HEAD "\"event\":\"started\",\"a\":\"\\\"\\\\/\\u0008\\u000a"
		     "\\u001b\\u007f\"}\n"},
	    {{"a", "\xc3\xa9\xf0\x9f\x98\x80", NULL},
		HEAD "\"event\":\"started\",\"a\":\"\xc3\xa9\xf0\x9f\x98\x80"
		     "\"}\n"},
	    {{"a", "x\xff\xc0\xaf\xed\xa0\x80", NULL},
		HEAD "\"event\":\"started\",\"a\":\"x\\ufffd\\ufffd\\ufffd"
		     "\\ufffd\\ufffd\\ufffd\"}\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		scoped_buf out, pairs;

		pack(rows[i].pairs, &pairs);
		buf_init(&out, AUDIT_LINE_MAX);
		assert_int_equal(format(&out, "started",
				     (struct bytes){pairs.data, pairs.len}),
		    0);
		assert_int_equal(buf_put_u8(&out, 0), 0);
		assert_string_equal((char *)out.data, rows[i].want);
	}
}

static void
audit_format_refuses_what_could_forge_a_line(void **state)
{
	static const struct {
		const char *event;
		const char *pairs[7];
	} rows[] = {
	    {"", {NULL}},
	    {"Started", {NULL}},
	    {"a b", {NULL}},
	    {"a\"", {NULL}},
	    {"started", {"role", "net", NULL}},
	    {"started", {"time", "0", NULL}},
	    {"started", {"event", "x", NULL}},
	    {"started", {"v", "1", NULL}},
	    {"started", {"dropped", "1", NULL}},
	    {"started", {"seq", "1", NULL}},
	    {"started", {"hash", "x", NULL}},
	    {"started", {"a", NULL}},
	    {"started", {"", "x", NULL}},
	    {"started", {"a\"b", "x", NULL}},
	    {"started", {"a", "1", "a", "2", NULL}},
	    {"started", {"a", "1", "b", "2", "a", "3", NULL}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		scoped_buf out, pairs;

		pack(rows[i].pairs, &pairs);
		buf_init(&out, AUDIT_LINE_MAX);
		assert_int_equal(format(&out, rows[i].event,
				     (struct bytes){pairs.data, pairs.len}),
		    -EPROTO);
		assert_int_equal(out.len, 0);
	}
}

static void
audit_format_refuses_a_list_that_is_cut(void **state)
{
	static const uint8_t cut[] = {4, 0, 0, 0, 'a'};
	scoped_buf out;

	(void)state;
	buf_init(&out, AUDIT_LINE_MAX);
	assert_int_equal(format(&out, "started",
			     (struct bytes){cut, sizeof cut}),
	    -EPROTO);
}

static void
audit_format_has_room_for_the_longest_message(void **state)
{
	scoped_buf out, pairs;
	char value[16000];

	(void)state;
	memset(value, 1, sizeof value);
	buf_init(&out, AUDIT_LINE_MAX);
	buf_init(&pairs, 64 * 1024);
	assert_int_equal(buf_put_cstring(&pairs, "a"), 0);
	assert_int_equal(buf_put_string(&pairs, value, sizeof value), 0);
	assert_int_equal(format(&out, "started",
			     (struct bytes){pairs.data, pairs.len}),
	    0);
	assert_true(out.len > 6 * sizeof value);
}

static void
read_lines(const char *path, char *text, size_t size)
{
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, size - 1);

	assert_true(n >= 0);
	text[n] = '\0';
}

static unsigned int
count(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

/* The file's size is limited, as by a full disk. */
static void
audit_tells_of_lines_that_were_lost(void **state)
{
	char dir[] = "/tmp/audit.XXXXXX", path[64], text[4096];
	struct config_audit c = {.file = path, .burst = 1, .chain = 1};
	struct rlimit before, small = {500, RLIM_INFINITY};
	struct audit a;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/log", dir);
	assert_int_equal(audit_open(&a, &c, &e), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 5; i++)
		audit_own(&a, "started", (const char *[]){"n", "1", NULL});
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(a.lost, 4);
	assert_false(audit_failed(&a));
	audit_own(&a, "started", (const char *[]){"n", "2", NULL});
	read_lines(path, text, sizeof text);
	assert_int_equal(count(text, "\n"), 4);
	assert_int_equal(count(text, "\"audit_gap\",\"lines\":\"4\",\"reason\""
				     ":\"EFBIG\",\"seq\":\"3\""),
	    1);
	assert_int_equal(count(text, "\"seq\":\"4\""), 1);
	/* Stop says so, and a log that cannot be begun is none. */
	c.on_error = AUDIT_STOP;
	audit_adjust(&a, &c);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	audit_own(&a, "started", (const char *[]){NULL});
	assert_true(audit_failed(&a));
	audit_close(&a);
	assert_int_equal(audit_open(&a, &c, &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	audit_close(&a);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void
audit_counts_what_a_flood_took(void **state)
{
	char dir[] = "/tmp/audit.XXXXXX", path[64], text[4096];
	struct config_audit c = {.file = path, .rate = 1000000, .burst = 1};
	struct bytes pairs = {0};
	struct audit a;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/log", dir);
	assert_int_equal(audit_open(&a, &c, &e), 0);
	a.rate->per_second = 1; /* the next is a second away */
	for (int i = 0; i < 3; i++)
		assert_int_equal(audit_write(&a, ROLE_NET, bytes_of("flood"),
				     pairs, &e),
		    0);
	audit_own(&a, "crash", (const char *[]){NULL});
	/* As if none of them had come yet. */
	memset(a.rate->roles, 0, sizeof a.rate->roles);
	for (int i = 0; i < AUDIT_BUCKETS; i++)
		a.rate->sessions[ROLE_NET][i].at_ms = 0;
	assert_int_equal(audit_write(&a, ROLE_NET, bytes_of("flood"), pairs,
			     &e),
	    0);
	read_lines(path, text, sizeof text);
	assert_int_equal(count(text, "\"flood\""), 2);
	assert_int_equal(count(text, "\"crash\""), 1);
	assert_int_equal(count(text, "\"flood\",\"dropped\":\"2\"}"), 1);
	audit_close(&a);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(audit_format_writes_one_object_a_line),
	    cmocka_unit_test(audit_format_refuses_what_could_forge_a_line),
	    cmocka_unit_test(audit_format_refuses_a_list_that_is_cut),
	    cmocka_unit_test(audit_format_has_room_for_the_longest_message),
	    cmocka_unit_test(audit_tells_of_lines_that_were_lost),
	    cmocka_unit_test(audit_counts_what_a_flood_took),
	};

	return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
