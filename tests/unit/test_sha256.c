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

/* Cases 1, 2 and 6 of RFC 4231. */
static void
hmac_matches_known_digests(void **state)
{
	static const struct {
		const char *key, *text, *want;
		int repeat;
	} rows[] = {
	    {"\x0b", "Hi There",
		"b0344c61d8db38535ca8afceaf0bf12b"
		"881dc200c9833da726e9376c2e32cff7",
		20},
	    {"Jefe", "what do ya want for nothing?",
		"5bdcc146bf60754e6a042426089575c7"
		"5a003f089d2739839dec58b964ec3843",
		1},
	    {"\xaa", "Test Using Larger Than Block-Size Key - Hash Key First",
		"60e431591ee0b67f0d8a26aacbf5b77f"
		"8e0bc6213728c5140546040f0ee37f54",
		131},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char hex[SHA256_HEX_SIZE];
		scoped_buf key;

		buf_init(&key, 256);
		for (int n = 0; n < rows[i].repeat; n++)
			assert_int_equal(buf_put(&key, rows[i].key,
					     strlen(rows[i].key)),
			    0);
		assert_int_equal(hmac_sha256_hex((struct bytes){key.data,
						     key.len},
				     bytes_of(rows[i].text), hex),
		    0);
		assert_string_equal(hex, rows[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sha256_matches_known_digests),
	    cmocka_unit_test(hmac_matches_known_digests),
	};

	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
