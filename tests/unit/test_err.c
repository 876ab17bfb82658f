#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
err_set_fills_code_and_text(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(err_set(&e, EFBIG, "%d bytes", 7), -EFBIG);
	assert_int_equal(e.code, EFBIG);
	assert_string_equal(e.text, "7 bytes");
}

static void
err_set_cuts_a_long_text(void **state)
{
	char word[ERR_TEXT_MAX + 10];
	struct err e = {0};

	(void)state;
	memset(word, 'x', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	assert_int_equal(err_set(&e, EIO, "%s", word), -EIO);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
	assert_int_equal(err_errno(&e, EIO, "%s", word), -EIO);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
}

static void
err_set_without_an_err_only_returns(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, EIO, "x"), -EIO);
	assert_int_equal(err_errno(NULL, EPERM, "x"), -EPERM);
}

static void
err_errno_adds_the_words_of_the_code(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(err_errno(&e, ENOENT, "open %s", "x"), -ENOENT);
	assert_string_equal(e.text, "open x: No such file or directory");
}

static void
err_errno_copes_with_an_unknown_code(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(err_errno(&e, 99999, "open"), -99999);
	assert_string_equal(e.text, "open: unknown error");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(err_set_fills_code_and_text),
	    cmocka_unit_test(err_set_cuts_a_long_text),
	    cmocka_unit_test(err_set_without_an_err_only_returns),
	    cmocka_unit_test(err_errno_adds_the_words_of_the_code),
	    cmocka_unit_test(err_errno_copes_with_an_unknown_code),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
