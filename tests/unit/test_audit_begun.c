#include "supervisor/audit_begun.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/unit/unit.h"

/* The members of a line of session 1 about what has that number. */
static struct bytes
pairs_of(struct buf *out, const char *name, unsigned int number,
    const char *generation)
{
	char text[16];

	(void)snprintf(text, sizeof text, "%u", number);
	buf_init(out, 256);
	assert_int_equal(buf_put_cstring(out, name), 0);
	assert_int_equal(buf_put_cstring(out, text), 0);
	assert_int_equal(buf_put_cstring(out, "session"), 0);
	assert_int_equal(buf_put_cstring(out, "1"), 0);
	assert_int_equal(buf_put_cstring(out, "generation"), 0);
	assert_int_equal(buf_put_cstring(out, generation), 0);
	return (struct bytes){.data = out->data, .len = out->len};
}

static void
add(struct audit_begun *b, const char *event, const char *name,
    unsigned int number)
{
	scoped_buf pairs;

	audit_begun_add(b, ROLE_EXEC, bytes_of(event),
	    pairs_of(&pairs, name, number, "1"));
}

static bool
end(struct audit_begun *b, enum role role, const char *event, const char *name,
    unsigned int number, const char *generation)
{
	scoped_buf pairs;
	bool ended = audit_begun_end(b, role, bytes_of(event),
	    pairs_of(&pairs, name, number, generation));

	return ended;
}

static void
each_end_comes_once(void **state)
{
	scoped_free struct audit_begun *b = calloc(1, sizeof *b);

	(void)state;
	assert_non_null(b);
	add(b, "process_start", "lease", 7);
	add(b, "session_open", "other", 0);
	add(b, "connection_open", "connection", 7);
	assert_false(end(b, ROLE_EXEC, "process_exit", "lease", 8, "1"));
	assert_false(end(b, ROLE_EXEC, "process_exit", "lease", 7, "2"));
	assert_false(end(b, ROLE_NET, "process_exit", "lease", 7, "1"));
	assert_false(end(b, ROLE_EXEC, "process_start", "lease", 7, "1"));
	assert_false(end(b, ROLE_EXEC, "process_output", "lease", 7, "1"));
	assert_true(end(b, ROLE_EXEC, "process_exit", "lease", 7, "1"));
	assert_false(end(b, ROLE_EXEC, "process_exit", "lease", 7, "1"));
	assert_true(end(b, ROLE_EXEC, "process_gone", "lease", 7, "1"));
	assert_false(end(b, ROLE_EXEC, "process_gone", "lease", 7, "1"));
	/* What did not start never ends. */
	add(b, "process_start", "lease", 7);
	assert_true(end(b, ROLE_EXEC, "process_failed", "lease", 7, "1"));
	assert_false(end(b, ROLE_EXEC, "process_exit", "lease", 7, "1"));
	assert_false(end(b, ROLE_EXEC, "process_gone", "lease", 7, "1"));
	assert_true(end(b, ROLE_EXEC, "session_close", "other", 9, "1"));
	assert_false(end(b, ROLE_EXEC, "session_close", "other", 9, "1"));
	/* A connection has no generation and no session in its lines. */
	assert_true(
	    end(b, ROLE_EXEC, "connection_close", "connection", 7, "9"));
}

static void
a_line_without_its_numbers_begins_what_ends_alike(void **state)
{
	scoped_free struct audit_begun *b = calloc(1, sizeof *b);
	const struct bytes none = {0};

	(void)state;
	assert_non_null(b);
	assert_false(
	    audit_begun_end(b, ROLE_NET, bytes_of("process_exit"), none));
	audit_begun_add(b, ROLE_NET, bytes_of("process_start"), none);
	assert_true(
	    audit_begun_end(b, ROLE_NET, bytes_of("process_exit"), none));
	assert_false(
	    audit_begun_end(b, ROLE_NET, bytes_of("process_exit"), none));
}

/* Whoever begins without end gets no more than the room there is, and keeps
 * what came last. */
static void
the_oldest_of_a_set_is_forgotten(void **state)
{
	const unsigned int all = 4 * AUDIT_BEGUN_SETS * AUDIT_BEGUN_WAYS;
	scoped_free struct audit_begun *b = calloc(1, sizeof *b);
	unsigned int count = 0;

	(void)state;
	assert_non_null(b);
	for (unsigned int i = 0; i < all; i++)
		add(b, "process_start", "lease", i);
	for (unsigned int i = all - AUDIT_BEGUN_WAYS; i < all; i++)
		assert_true(end(b, ROLE_EXEC, "process_exit", "lease", i, "1"));
	for (unsigned int i = 0; i < all; i++)
		count += end(b, ROLE_EXEC, "process_gone", "lease", i, "1");
	assert_true(count <= AUDIT_BEGUN_SETS * AUDIT_BEGUN_WAYS);
	assert_true(count > AUDIT_BEGUN_SETS * AUDIT_BEGUN_WAYS / 2);
	/* And what ends makes room. */
	for (unsigned int i = 0; i < all; i++) {
		add(b, "connection_open", "connection", i);
		assert_true(end(b, ROLE_EXEC, "connection_close", "connection",
		    i, "1"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_end_comes_once),
	    cmocka_unit_test(a_line_without_its_numbers_begins_what_ends_alike),
	    cmocka_unit_test(the_oldest_of_a_set_is_forgotten),
	};

	return cmocka_run_group_tests_name("audit_begun", tests, NULL, NULL);
}
