#include "supervisor/report_html.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

static void
check(const struct html *h, const char *want)
{
	assert_int_equal(h->result, 0);
	assert_int_equal(h->out.len, strlen(want));
	assert_memory_equal(h->out.data, want, h->out.len);
}

static void
arguments_are_text_and_the_format_is_markup(void **state)
{
	struct html h;

	(void)state;
	html_init(&h, 256);
	html_put(&h, "<p class=\"%s\">%u %d %zu 100%%</p>", "a\"><b>'&", 1u, -2,
	    (size_t)3);
	check(&h,
	    "<p class=\"a&quot;&gt;&lt;b&gt;&#39;&amp;\">1 -2 3 100%</p>");
	html_done(&h);
}

static void
what_cannot_be_seen_is_spelled_out(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"", ""},
	    {"plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
		"plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
	    {"\t\n\x1b", "&lt;U+0009&gt;&lt;U+000A&gt;&lt;U+001B&gt;"},
	    {"\x7f\xc2\x80\xc2\xa0\xc2\xa1",
		"&lt;U+007F&gt;&lt;U+0080&gt;&lt;U+00A0&gt;\xc2\xa1"},
	    {"\xe2\x80\xae", "&lt;U+202E&gt;"},
	    {"\xe2\x80\x90", "\xe2\x80\x90"}, /* a hyphen is seen */
	    {"\xef\xbb\xbf", "&lt;U+FEFF&gt;"},
	    {"\xf3\xa0\x81\x81", "&lt;U+E0041&gt;"},
	    /* No UTF-8: alone, cut short, overlong, a surrogate. */
	    {"\xff", "&lt;byte FF&gt;"},
	    {"\xe2\x82", "&lt;byte E2&gt;&lt;byte 82&gt;"},
	    {"\xc0\xbc", "&lt;byte C0&gt;&lt;byte BC&gt;"},
	    {"\xed\xa0\x80", "&lt;byte ED&gt;&lt;byte A0&gt;&lt;byte 80&gt;"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct html h;

		html_init(&h, 256);
		html_text(&h, bytes_of(rows[i].text));
		check(&h, rows[i].want);
		html_done(&h);
	}
}

static void
a_nul_is_a_character_like_others(void **state)
{
	struct html h;

	(void)state;
	html_init(&h, 256);
	html_text(&h,
	    (struct bytes){.data = (const uint8_t *)"a\0b", .len = 3});
	check(&h, "a&lt;U+0000&gt;b");
	html_done(&h);
}

static void
a_name_may_break_behind_its_marks(void **state)
{
	struct html h;

	(void)state;
	html_init(&h, 256);
	html_word(&h, "limits.tmp_size");
	html_word(&h, "_<");
	html_word(&h, "");
	check(&h, "limits.<wbr>tmp_<wbr>size_<wbr>&lt;");
	html_done(&h);
}

static void
a_page_that_is_full_says_so_and_stays_so(void **state)
{
	struct html h;

	(void)state;
	html_init(&h, 8);
	html_put(&h, "<p>%s", "12345");
	check(&h, "<p>12345");
	html_put(&h, "%s", "6");
	assert_int_equal(h.result, -EMSGSIZE);
	html_put(&h, "</p>");
	html_raw(&h, bytes_of(""));
	assert_int_equal(h.result, -EMSGSIZE);
	assert_int_equal(h.out.len, 8);
	html_done(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arguments_are_text_and_the_format_is_markup),
	    cmocka_unit_test(what_cannot_be_seen_is_spelled_out),
	    cmocka_unit_test(a_nul_is_a_character_like_others),
	    cmocka_unit_test(a_name_may_break_behind_its_marks),
	    cmocka_unit_test(a_page_that_is_full_says_so_and_stays_so),
	};

	return cmocka_run_group_tests_name("report_html", tests, NULL, NULL);
}
