#include "policy/argv_template.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

#define ALL ((1u << ARGV_TEMPLATE_NAMES) - 1)

static const struct {
	const char *text, *words; /* joined by '|' */
} rows[] = {
    {"prog", "prog"},
    {"  prog \t a  b ", "prog|a|b"},
    {"prog \"a b\" c\"d e\"f", "prog|a b|cd ef"},
    {"prog \"\"", "prog|"},
    {"prog \"\\\"x\\\\\\n\"", "prog|\"x\\\\n"},
    {"prog a\\b", "prog|a\\b"},
    {"prog {{x} a{{", "prog|{x}|a{"},
    {"{argv}", "sh|-c|a 'b'"},
    {"prog {argv} end", "prog|sh|-c|a 'b'|end"},
    {"prog {env}", "prog|A=1|B=x y"},
    {"prog {env:-e}", "prog|-e|A=1|-e|B=x y"},
    {"prog \"{env:--env x}\"", "prog|--env x|A=1|--env x|B=x y"},
    {"prog {tty:-t} {stdin:-i} c", "prog|-t|c"},
    {"prog --cd={cwd}/. {id}{id}{tag}", "prog|--cd=/work dir/.|778"},
    {"prog {target}:{signal}:{status}:{exit_code}:{timed_out}",
	"prog|box:INT:failed:3:true"},
    {"ssh {command}", "ssh|cd '/work dir' && exec env 'A=1' 'B=x y' "
		      "'sh' '-c' 'a '\\''b'\\'''"},
};

static void
pack(struct buf *b, const char *const *strings)
{
	buf_init(b, 4096);
	for (; *strings != NULL; strings++)
		assert_int_equal(buf_put_cstring(b, *strings), 0);
}

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

/* The words of list joined by '|'. */
static const char *
join(const struct buf *list)
{
	static char text[1024];
	struct reader r;
	struct bytes s;
	size_t len = 0;

	reader_init(&r, list->data, list->len);
	while (r.left > 0 && buf_get_string(&r, &s, sizeof text - len - 1)) {
		if (len > 0)
			text[len++] = '|';
		memcpy(text + len, s.data, s.len);
		len += s.len;
	}
	text[len] = '\0';
	return text;
}

static struct argv_template_values
values(const struct buf *argv, const struct buf *env)
{
	return (struct argv_template_values){
	    .scalar = {[ARGV_TEMPLATE_CWD] = bytes_of("/work dir"),
		[ARGV_TEMPLATE_ID] = bytes_of("7"),
		[ARGV_TEMPLATE_TAG] = bytes_of("8"),
		[ARGV_TEMPLATE_TARGET] = bytes_of("box"),
		[ARGV_TEMPLATE_SIGNAL] = bytes_of("INT"),
		[ARGV_TEMPLATE_STATUS] = bytes_of("failed"),
		[ARGV_TEMPLATE_EXIT_CODE] = bytes_of("3"),
		[ARGV_TEMPLATE_TIMED_OUT] = bytes_of("true")},
	    .argv = view(argv),
	    .env = view(env),
	    .tty = true};
}

static void
words_and_values_become_a_vector(void **state)
{
	scoped_buf argv, env, out;

	(void)state;
	pack(&argv, (const char *[]){"sh", "-c", "a 'b'", NULL});
	pack(&env, (const char *[]){"A=1", "B=x y", NULL});
	buf_init(&out, 4096);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct argv_template_values v = values(&argv, &env);
		struct bytes text = bytes_of(rows[i].text);
		uint32_t used;
		struct err e;

		buf_clear(&out);
		assert_int_equal(argv_template_check(text, ALL, &used, &e), 0);
		assert_int_equal(argv_template_expand(text, &v, &out, &e), 0);
		assert_string_equal(join(&out), rows[i].words);
	}
}

static void
a_program_is_no_variable(void **state)
{
	scoped_buf argv, env, out;
	struct argv_template_values v;
	struct err e;

	(void)state;
	pack(&argv, (const char *[]){"./a=b", "c=d", NULL});
	pack(&env, (const char *[]){"A=1", NULL});
	buf_init(&out, 4096);
	v = values(&argv, &env);
	assert_int_equal(argv_template_expand(bytes_of("ssh {command}"), &v,
			     &out, &e),
	    0);
	assert_string_equal(join(&out),
	    "ssh|cd '/work dir' && exec env 'A=1' /bin/sh -c 'exec \"$@\"' sh "
	    "'./a=b' 'c=d'");
}

static void
a_malformed_command_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
	    {"", "missing"},
	    {" \t ", "missing"},
	    {"prog \"a", "quote is not closed"},
	    {"prog {argv", "brace is not closed"},
	    {"prog {", "brace is not closed"},
	    {"prog {nothing}", "{nothing} is not known"},
	    {"prog {}", "{} is not known"},
	    {"prog {cwd:x}", "{cwd:x} is not known"},
	    {"prog {env:}", "{env:} is not known"},
	    {"prog {tty}", "{tty} is not known"},
	    {"prog a{argv}", "{argv} must be a word of its own"},
	    {"prog {argv}b", "{argv} must be a word of its own"},
	    {"prog {env}{argv}", "{env} must be a word of its own"},
	    {"prog {{{argv}", "{argv} must be a word of its own"},
	    {"{cwd}/prog", "{cwd} must not be in the name"},
	    {"{tty:prog}", "{tty} must not be in the name"},
	};
	uint32_t used;
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(argv_template_check(bytes_of(bad[i].text), ALL,
				     &used, &e),
		    -EINVAL);
		if (strstr(e.text, bad[i].words) == NULL)
			fail_msg("%s: %s", bad[i].text, e.text);
	}
}

static void
only_the_names_of_its_place_are_known(void **state)
{
	struct bytes text = bytes_of("kill {id}");
	uint32_t used;
	struct err e;

	(void)state;
	assert_int_equal(argv_template_check(text,
			     ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_ID), &used, &e),
	    0);
	assert_int_equal(used, ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_ID));
	assert_int_equal(argv_template_check(text,
			     ALL & ~ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_ID), &used,
			     &e),
	    -EINVAL);
}

static void
bounds_hold_to_the_byte_and_word(void **state)
{
	char text[ARGV_TEMPLATE_MAX + 2];
	uint32_t used;
	struct err e;

	(void)state;
	memset(text, 'a', sizeof text);
	text[ARGV_TEMPLATE_MAX] = '\0';
	assert_int_equal(argv_template_check(bytes_of(text), 0, &used, &e), 0);
	text[ARGV_TEMPLATE_MAX] = 'a';
	text[ARGV_TEMPLATE_MAX + 1] = '\0';
	assert_int_equal(argv_template_check(bytes_of(text), 0, &used, &e),
	    -EINVAL);
	for (size_t i = 1; i < 2 * ARGV_TEMPLATE_WORDS_MAX; i += 2)
		text[i] = ' ';
	text[2 * ARGV_TEMPLATE_WORDS_MAX] = '\0';
	assert_int_equal(argv_template_check(bytes_of(text), 0, &used, &e), 0);
	text[2 * ARGV_TEMPLATE_WORDS_MAX] = 'a';
	text[2 * ARGV_TEMPLATE_WORDS_MAX + 1] = '\0';
	assert_int_equal(argv_template_check(bytes_of(text), 0, &used, &e),
	    -EINVAL);
}

static void
what_looks_like_an_option_is_refused(void **state)
{
	struct bytes text = bytes_of("ssh {command}");
	scoped_buf bad, good, none, out;
	struct argv_template_values v;
	struct err e;

	(void)state;
	pack(&bad, (const char *[]){"-rf", "x", NULL});
	pack(&good, (const char *[]){"rm", "-rf", NULL});
	pack(&none, (const char *[]){NULL});
	buf_init(&out, 4096);
	v = values(&bad, &none);
	assert_int_equal(argv_template_expand(text, &v, &out, &e), -EINVAL);
	v = values(&good, &bad);
	assert_int_equal(argv_template_expand(text, &v, &out, &e), -EINVAL);
	v = values(&good, &none);
	buf_clear(&out);
	assert_int_equal(argv_template_expand(text, &v, &out, &e), 0);
	buf_init(&none, 8);
	assert_int_equal(argv_template_expand(text, &v, &none, &e), -EMSGSIZE);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(words_and_values_become_a_vector),
	    cmocka_unit_test(a_program_is_no_variable),
	    cmocka_unit_test(a_malformed_command_is_refused_with_the_reason),
	    cmocka_unit_test(only_the_names_of_its_place_are_known),
	    cmocka_unit_test(bounds_hold_to_the_byte_and_word),
	    cmocka_unit_test(what_looks_like_an_option_is_refused),
	};

	return cmocka_run_group_tests_name("argv_template", tests, NULL, NULL);
}
