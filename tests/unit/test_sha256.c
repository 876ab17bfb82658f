#include "base/sha256.h"

#include <string.h>

#include "tests/unit/unit.h"

/* The examples of FIPS 180-4, and lengths around a block's. */
static void
sha256_matches_known_digests(void **state)
{
	static const struct {
		const char *text;
		size_t repeat;
		const char *want;
	} rows[] = {
	    {"", 1,
		"e3b0c44298fc1c149afbf4c8996fb924"
		"27ae41e4649b934ca495991b7852b855"},
	    {"abc", 1,
		"ba7816bf8f01cfea414140de5dae2223"
		"b00361a396177a9cb410ff61f20015ad"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		"248d6a61d20638b8e5c026930c3e6039"
		"a33ce45964ff2167f6ecedd419db06c1"},
	    {"a", 1000000,
		"cdc76e5c9914fb9281a1c7e284d73e67"
		"f1809a48a497200e046d39ccc7112cd0"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t len = strlen(rows[i].text);
		char hex[SHA256_HEX_SIZE];
		scoped_buf all;

		buf_init(&all, 2000000);
		for (size_t n = 0; n < rows[i].repeat; n++)
			assert_int_equal(buf_put(&all, rows[i].text, len), 0);
		sha256_hex((struct bytes){.data = all.data, .len = all.len},
		    hex);
		assert_string_equal(hex, rows[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sha256_matches_known_digests),
	};

	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
