#include "base/base64.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

/* The vectors of RFC 4648 section 10. */
static const struct {
	const char *plain, *text;
} vectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

static void
base64_follows_the_vectors_of_the_rfc(void **state)
{
	uint8_t bytes[16];
	char text[16];
	size_t len, bad;

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		size_t plain_len = strlen(vectors[i].plain);

		len = base64_encode(text, (const uint8_t *)vectors[i].plain,
		    plain_len);
		assert_int_equal(len, strlen(vectors[i].text));
		assert_memory_equal(text, vectors[i].text, len);
		assert_int_equal(base64_decode(bytes, vectors[i].text,
				     strlen(vectors[i].text), &len, &bad),
		    0);
		assert_int_equal(len, plain_len);
		assert_memory_equal(bytes, vectors[i].plain, len);
	}
}

static unsigned int
bit_of(const uint8_t *data, size_t i)
{
	return (unsigned int)data[i / 8] >> (7 - i % 8) & 1;
}

/* One bit at a time: slow and plain. */
static size_t
plain_encode(char *dst, const uint8_t *src, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz"
				      "0123456789+/";
	size_t out = 0;

	for (size_t bit = 0; bit < len * 8; bit += 6) {
		unsigned int v = 0;

		for (size_t i = bit; i < bit + 6; i++)
			v = v << 1 | (i < len * 8 ? bit_of(src, i) : 0);
		dst[out++] = letters[v];
	}
	while (out % 4 != 0)
		dst[out++] = '=';
	return out;
}

static void
fill(uint8_t *data, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525u + 1013904223u;
		data[i] = (uint8_t)(seed >> 24);
	}
}

static void
base64_agrees_with_a_plain_encoder_at_every_length(void **state)
{
	uint8_t data[300], back[302];
	char text[404], want[404];
	size_t len, back_len, bad;

	(void)state;
	for (size_t n = 0; n <= sizeof data; n++) {
		fill(data, n, (uint32_t)n);
		memset(text, '#', sizeof text);
		len = base64_encode(text, data, n);
		assert_int_equal(len, base64_encoded_len(n));
		assert_int_equal(len, plain_encode(want, data, n));
		assert_memory_equal(text, want, len);
		assert_int_equal(text[len], '#');
		assert_true(base64_decoded_max(len) >= n);
		assert_int_equal(base64_decode(back, text, len, &back_len,
				     &bad),
		    0);
		assert_int_equal(back_len, n);
		assert_memory_equal(back, data, n);
	}
}

static void
base64_decodes_in_place(void **state)
{
	uint8_t data[300], raw[400];
	size_t len, back_len, bad;

	(void)state;
	for (size_t n = 0; n <= sizeof data; n++) {
		fill(data, n, (uint32_t)(n + 1000));
		len = base64_encode((char *)raw, data, n);
		assert_int_equal(base64_decode(raw, (const char *)raw, len,
				     &back_len, &bad),
		    0);
		assert_int_equal(back_len, n);
		assert_memory_equal(raw, data, n);
	}
}

static void
base64_refuses_and_names_the_offset(void **state)
{
	static const struct {
		const char *text;
		size_t bad;
	} rows[] = {
	    {"*AAA", 0},
	    {"A*AA", 1},
	    {"AA*A", 2},
	    {"AAA*", 3},
	    {"AAAA*AAA", 4},
	    {"A", 1},
	    {"AA", 2},
	    {"AAA", 3},
	    {"AAAAA", 5},
	    {"AAAAAAA", 7},
	    {"=", 0},
	    {"====", 0},
	    {"A===", 1},
	    {"=AAA", 0},
	    {"A=AA", 1},
	    {"AA=A", 2},
	    {"AAAA====", 4},
	    {"AA==AAAA", 2},
	    {"AAA=AAAA", 3},
	    {"AAAA=", 4},
	    {"AAAA==", 4},
	    {"AAAAA=", 5},
	    {"AB==", 1}, /* bits that no byte holds */
	    {"AI==", 1},
	    {"AAB=", 2},
	    {"AAC=", 2},
	    {"Zh==", 1},
	    {"Zm9=", 2},
	    {"AA A", 2}, /* blanks are not skipped */
	    {"AAA\n", 3},
	    {"AA-A", 2}, /* not the alphabet of URLs */
	    {"AA_A", 2},
	    {"AA\x80"
	     "A",
		2},
	    {"AAA\xff", 3},
	};
	uint8_t out[16];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t len = 77, bad = 99;

		if (base64_decode(out, rows[i].text, strlen(rows[i].text), &len,
			&bad) != -EINVAL)
			fail_msg("row %zu was taken", i);
		if (bad != rows[i].bad)
			fail_msg("row %zu: offset %zu", i, bad);
		assert_int_equal(len, 77);
	}
}

static void
base64_refuses_every_byte_outside_the_alphabet(void **state)
{
	uint8_t out[3];
	unsigned int taken = 0;

	(void)state;
	for (int c = 0; c < 256; c++) {
		char text[] = {'A', (char)c, 'A', 'A'};
		size_t len, bad;

		if (base64_decode(out, text, sizeof text, &len, &bad) == 0)
			taken++;
	}
	assert_int_equal(taken, 64);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(base64_follows_the_vectors_of_the_rfc),
	    cmocka_unit_test(
		base64_agrees_with_a_plain_encoder_at_every_length),
	    cmocka_unit_test(base64_decodes_in_place),
	    cmocka_unit_test(base64_refuses_and_names_the_offset),
	    cmocka_unit_test(base64_refuses_every_byte_outside_the_alphabet),
	};

	return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
