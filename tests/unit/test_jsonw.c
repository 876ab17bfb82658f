#include "net/jsonw.h"

#include <jansson.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
jsonw_puts_commas_where_they_belong(void **state)
{
	scoped_buf b;
	struct jsonw w;
	struct bytes got;

	(void)state;
	buf_init(&b, 1024);
	jsonw_init(&w, &b);
	jsonw_open(&w, '{');
	jsonw_key(&w, "a");
	jsonw_open(&w, '[');
	jsonw_int(&w, -1);
	jsonw_uint(&w, UINT64_MAX);
	jsonw_null(&w);
	jsonw_open(&w, '{');
	jsonw_close(&w, '}');
	jsonw_close(&w, ']');
	jsonw_key(&w, "b");
	jsonw_bool(&w, true);
	jsonw_key(&w, "c");
	jsonw_base64(&w, bytes_of("hi"));
	jsonw_key(&w, "d");
	jsonw_file_uri(&w, bytes_of("/x y"));
	jsonw_close(&w, '}');
	got = (struct bytes){.data = b.data, .len = b.len};
	assert_true(jsonw_ok(&w));
	assert_true(
	    bytes_is(got, "{\"a\":[-1,18446744073709551615,null,{}],\"b\":true,"
			  "\"c\":\"aGk=\",\"d\":\"file:///x%20y\"}"));
}

/* Every byte, alone and between others, gives text that a parser reads back. */
static void
jsonw_string_is_always_valid_json(void **state)
{
	(void)state;
	for (unsigned int c = 0; c < 256; c++) {
		uint8_t text[] = {'a', (uint8_t)c, 'z'};
		scoped_buf b;
		struct jsonw w;
		json_t *v;

		buf_init(&b, 64);
		jsonw_init(&w, &b);
		jsonw_string(&w, (struct bytes){text, sizeof text});
		v = json_loadb((const char *)b.data, b.len,
		    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(v);
		if (c < 0x80)
			assert_memory_equal(json_string_value(v), text,
			    sizeof text);
		else
			assert_string_equal(json_string_value(v),
			    "a\xef\xbf\xbdz");
		json_decref(v);
	}
}

static void
jsonw_fails_once_and_for_all_past_the_maximum(void **state)
{
	scoped_buf b;
	struct jsonw w;

	(void)state;
	buf_init(&b, 8);
	jsonw_init(&w, &b);
	jsonw_text(&w, "much too long");
	assert_false(jsonw_ok(&w));
	jsonw_int(&w, 1);
	assert_false(jsonw_ok(&w));
	assert_true(b.len <= 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(jsonw_puts_commas_where_they_belong),
	    cmocka_unit_test(jsonw_string_is_always_valid_json),
	    cmocka_unit_test(jsonw_fails_once_and_for_all_past_the_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
