#include "base/utf8.h"

#include <string.h>

#include "tests/unit/unit.h"

/* Encode a code point without looking at it, in the shortest form. */
static size_t
encode(uint32_t c, uint8_t out[4])
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (uint8_t)(0x80 | (c & 0x3f));
	out[0] = (uint8_t)(heads[n] | c);
	return n;
}

static void
utf8_takes_every_code_point_but_surrogates(void **state)
{
	uint8_t s[4];

	(void)state;
	for (uint32_t c = 0; c < 0x110000; c++) {
		size_t n = encode(c, s);
		size_t want = c >= 0xd800 && c <= 0xdfff ? 0 : n;

		if (utf8_sequence(s, n) != want)
			fail_msg("U+%04X", (unsigned int)c);
	}
}

static void
utf8_refuses_what_is_cut(void **state)
{
	static const uint32_t points[] = {0x80, 0x7ff, 0x800, 0xffff, 0x10000,
	    0x10ffff};
	uint8_t s[4];

	(void)state;
	for (size_t i = 0; i < COUNT(points); i++) {
		size_t n = encode(points[i], s);

		for (size_t len = 1; len < n; len++)
			assert_int_equal(utf8_sequence(s, len), 0);
	}
}

static void
utf8_refuses_malformed_text(void **state)
{
	static const char *const rows[] = {
	    "\x80",		/* continuation alone */
	    "\xbf",		/* continuation alone */
	    "\xc0\x80",		/* NUL, overlong */
	    "\xc1\xbf",		/* U+007F, overlong */
	    "\xe0\x80\x80",	/* NUL, overlong */
	    "\xe0\x9f\xbf",	/* U+07FF, overlong */
	    "\xf0\x80\x80\x80", /* NUL, overlong */
	    "\xf0\x8f\xbf\xbf", /* U+FFFF, overlong */
	    "\xed\xa0\x80",	/* first surrogate */
	    "\xed\xbf\xbf",	/* last surrogate */
	    "\xf4\x90\x80\x80", /* U+110000 */
	    "\xf5\x80\x80\x80", /* past every plane */
	    "\xf8\x88\x80\x80\x80", "\xfe", "\xff",
	    "\xc3(",	     /* second byte is none */
	    "\xe2\x82(",     /* third byte is none */
	    "\xf0\x9f\x98(", /* fourth byte is none */
	    "ok\xc3",	     /* cut at the end */
	    "\xc3\xa9\xc3",  /* good, then cut */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (utf8_valid((const uint8_t *)rows[i], strlen(rows[i])))
			fail_msg("row %zu", i);
}

static void
utf8_takes_text(void **state)
{
	static const char *const rows[] = {"", "plain", "caf\xc3\xa9",
	    "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbf"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_true(
		    utf8_valid((const uint8_t *)rows[i], strlen(rows[i])));
	assert_true(utf8_valid((const uint8_t *)"a\0b", 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(utf8_takes_every_code_point_but_surrogates),
	    cmocka_unit_test(utf8_refuses_what_is_cut),
	    cmocka_unit_test(utf8_refuses_malformed_text),
	    cmocka_unit_test(utf8_takes_text),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
