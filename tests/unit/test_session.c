/* The starts that wait in a session of exec. */
#include "exec/session.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

#define COUNT_MAX 256
#define SPEC_LEN  MIB
#define SPECS_MAX 16

static struct session *
make(void)
{
	struct exec_config *config = config_new();
	struct session *s;

	assert_non_null(config);
	s = session_new(config, (struct session_id){1}, (struct generation){1},
	    0);
	assert_non_null(s);
	config_drop(config);
	return s;
}

/* Take the first one out, which must be number. */
static void
take(struct session *s, uint32_t number)
{
	struct waiting *w = session_next_waiting(s);

	assert_non_null(w);
	assert_int_equal(w->number, number);
	free(w);
}

static void
starts_wait_in_order_up_to_a_number(void **state)
{
	struct session *s = make();

	(void)state;
	assert_null(session_next_waiting(s));
	for (uint32_t i = 0; i < COUNT_MAX; i++)
		assert_int_equal(session_wait(s, i, i & 1, bytes_of("spec")),
		    0);
	assert_int_equal(session_wait(s, COUNT_MAX, false, bytes_of("")),
	    -ENOBUFS);
	take(s, 0);
	assert_int_equal(session_wait(s, COUNT_MAX, false, bytes_of("")), 0);
	for (uint32_t i = 1; i <= COUNT_MAX; i++)
		take(s, i);
	assert_null(session_next_waiting(s));
	session_free(s);
}

static void
starts_wait_up_to_a_size(void **state)
{
	uint8_t *data = calloc(1, SPEC_LEN);
	const struct bytes spec = {.data = data, .len = SPEC_LEN};
	const struct bytes more = {.data = data, .len = 1};
	struct session *s = make();

	(void)state;
	assert_non_null(data);
	for (uint32_t i = 0; i < SPECS_MAX; i++)
		assert_int_equal(session_wait(s, i, false, spec), 0);
	assert_int_equal(session_wait(s, SPECS_MAX, false, more), -ENOBUFS);
	/* What is started makes room. */
	take(s, 0);
	assert_int_equal(session_wait(s, SPECS_MAX, false, spec), 0);
	assert_int_equal(session_wait(s, SPECS_MAX, false, more), -ENOBUFS);
	session_free(s);
	free(data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(starts_wait_in_order_up_to_a_number),
	    cmocka_unit_test(starts_wait_up_to_a_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
