#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/unit/unit.h"

/* Descriptor 2 while a line is caught. */
struct capture {
	int saved;
	int from;
};

static struct capture
capture_begin(void)
{
	int fds[2];
	struct capture c;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	c.saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	c.from = fds[0];
	assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	(void)close(fds[1]);
	return c;
}

/* What was written since, as a string in out. */
static void
capture_end(struct capture *c, char *out, size_t size)
{
	ssize_t n;

	assert_int_equal(dup2(c->saved, STDERR_FILENO), STDERR_FILENO);
	(void)close(c->saved);
	n = read(c->from, out, size - 1);
	(void)close(c->from);
	out[n < 0 ? 0 : n] = '\0';
}

static void
log_writes_one_line_with_its_level(void **state)
{
	struct capture c = capture_begin();
	char out[256];

	(void)state;
	log_warn("start session=%d", 7);
	capture_end(&c, out, sizeof out);
	assert_string_equal(out, "warn start session=7\n");
}

static void
log_drops_what_is_above_the_level(void **state)
{
	struct capture c = capture_begin();
	char out[256];

	(void)state;
	log_debug("not shown");
	log_set_level(LOG_DEBUG);
	log_debug("shown");
	log_set_level(LOG_ERROR);
	log_info("not shown");
	log_set_level(LOG_INFO);
	capture_end(&c, out, sizeof out);
	assert_string_equal(out, "debug shown\n");
}

static void
log_replaces_control_bytes(void **state)
{
	struct capture c = capture_begin();
	char out[256];

	(void)state;
	log_error("name=%s", "a\nerror forged\x1b[2J\x7f\tz");
	capture_end(&c, out, sizeof out);
	assert_string_equal(out, "error name=a?error forged?[2J??z\n");
}

static void
log_cuts_a_long_line(void **state)
{
	char word[2 * LOG_LINE_MAX], out[2 * LOG_LINE_MAX];
	struct capture c;

	(void)state;
	memset(word, 'x', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	c = capture_begin();
	log_info("%s", word);
	capture_end(&c, out, sizeof out);
	assert_int_equal(strlen(out), LOG_LINE_MAX);
	assert_int_equal(out[LOG_LINE_MAX - 1], '\n');
	assert_int_equal(out[LOG_LINE_MAX - 2], 'x');
}

static void
log_keeps_errno(void **state)
{
	struct capture c = capture_begin();
	char out[64];

	(void)state;
	(void)close(STDERR_FILENO);
	errno = ENOSPC;
	log_info("nobody hears this");
	assert_int_equal(errno, ENOSPC);
	capture_end(&c, out, sizeof out);
}

static void
log_quotes_what_anybody_wrote(void **state)
{
	static const char text[] =
	    "a b~\" reason=\"\\\n\x1b[2J\x7f\x80\x9b\xff\0z";
	const size_t len = sizeof text - 1;
	char out[sizeof text + 1];

	(void)state;
	memset(out, 'x', sizeof out);
	log_quotable(text, len, out, sizeof out);
	assert_string_equal(out, "a b~? reason=????[2J?????z");
	log_quotable(text, 0, out, sizeof out);
	assert_string_equal(out, "");
}

static void
log_quotes_as_much_as_there_is_room_for(void **state)
{
	char out[5] = "xxxx";

	(void)state;
	log_quotable("abc", 3, out, 4);
	assert_string_equal(out, "abc");
	log_quotable("\"bcd", 4, out, 4);
	assert_string_equal(out, "?bc");
	log_quotable("a", 1, out, 1);
	assert_string_equal(out, "");
	assert_int_equal(out[4], '\0');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(log_writes_one_line_with_its_level),
	    cmocka_unit_test(log_drops_what_is_above_the_level),
	    cmocka_unit_test(log_replaces_control_bytes),
	    cmocka_unit_test(log_cuts_a_long_line),
	    cmocka_unit_test(log_keeps_errno),
	    cmocka_unit_test(log_quotes_what_anybody_wrote),
	    cmocka_unit_test(log_quotes_as_much_as_there_is_room_for),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
