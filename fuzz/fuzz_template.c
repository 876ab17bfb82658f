/*
 * Reaches argv_template_check and argv_template_expand: an administrator's
 * command and the values that a client brings. The input is a byte of flags,
 * then the command, the values, the program's arguments and its environment,
 * which "\x1e" parts, and "\x1f" the items of the last three.
 *
 * Asserts that what is refused has a reason, that a command has no names but
 * those that are allowed, that no value makes a word more, that nothing which
 * looks like an option gets in, and that a plain reader of sh(1)'s quotes finds
 * in {command} what was put there.
 */
#include <errno.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "policy/argv_template.h"

#define LIST_MAX  65536
#define WORDS_MAX 4096

static const uint32_t sets[] = {
    BACKEND_START_NAMES,
    BACKEND_SIGNAL_NAMES,
    BACKEND_TERMINATE_NAMES,
    BACKEND_FINALIZE_NAMES,
    (1u << ARGV_TEMPLATE_NAMES) - 1,
};

/* Append the items of a section to list, at most max of them. No value holds a
 * NUL byte. */
static size_t
take_list(struct reader *r, struct buf *list, size_t max)
{
	struct bytes section = fuzz_until(r, 0x1e);
	struct reader items;
	size_t count = 0;

	reader_init(&items, section.data, section.len);
	while (items.left > 0 && count < max) {
		struct bytes s = fuzz_until(&items, 0x1f);

		if (bytes_has_nul(s))
			continue;
		assert(buf_put_string(list, s.data, s.len) == 0);
		count++;
	}
	return count;
}

static bool
next(struct reader *list, struct bytes *s)
{
	return list->left > 0 && buf_get_string(list, s, LIST_MAX);
}

static struct reader
reader_of(struct bytes b)
{
	struct reader r;

	reader_init(&r, b.data, b.len);
	return r;
}

static size_t
count_words(const struct buf *list)
{
	struct reader r = reader_of(fuzz_view(list));
	struct bytes s;
	size_t count = 0;

	while (next(&r, &s))
		count++;
	assert(buf_get_end(&r));
	return count;
}

static bool
has_option(struct bytes list, bool first_only)
{
	struct reader r = reader_of(list);
	struct bytes s;

	while (next(&r, &s)) {
		if (s.len > 0 && s.data[0] == '-')
			return true;
		if (first_only)
			break;
	}
	return false;
}

/* --- a plain reader of sh(1) -----------------------------------------------
 */

/* The next word of a line of words in single quotes, each apostrophe of which
 * is written '\''. False at its end. */
static bool
next_quoted(struct reader *line, struct buf *word)
{
	bool quoted = false;
	uint8_t c;

	buf_clear(word);
	while (line->left > 0 && *line->at == ' ')
		(void)fuzz_u8(line);
	if (line->left == 0)
		return false;
	while (line->left > 0 && (quoted || *line->at != ' ')) {
		c = fuzz_u8(line);
		if (c == '\'') {
			quoted = !quoted;
			continue;
		}
		if (!quoted && c == '\\')
			c = fuzz_u8(line);
		assert(buf_put_u8(word, c) == 0);
	}
	assert(!quoted);
	return true;
}

static void
expect_word(struct reader *line, struct bytes want)
{
	scoped_buf word;

	buf_init(&word, LIST_MAX);
	assert(next_quoted(line, &word));
	assert(bytes_equal(fuzz_view(&word), want));
}

static void
expect_words(struct reader *line, const char *const *words)
{
	for (; *words != NULL; words++)
		expect_word(line, bytes_of(*words));
}

static void
expect_list(struct reader *line, struct bytes list)
{
	struct reader r = reader_of(list);
	struct bytes s;

	while (next(&r, &s))
		expect_word(line, s);
}

static void
check_command(const struct argv_template_values *v)
{
	static const char *const shell[] = {"/bin/sh", "-c", "exec \"$@\"",
	    "sh", NULL};
	struct reader words, line, argv = reader_of(v->argv);
	struct bytes s, program = {0};
	struct err e = {0};
	scoped_buf out, rest;

	buf_init(&out, LIST_MAX);
	buf_init(&rest, LIST_MAX);
	assert(argv_template_expand(bytes_of("x {command}"), v, &out, &e) == 0);
	words = reader_of(fuzz_view(&out));
	assert(next(&words, &s) && bytes_is(s, "x"));
	assert(next(&words, &s) && words.left == 0);
	line = reader_of(s);
	expect_word(&line, bytes_of("cd"));
	expect_word(&line, v->scalar[ARGV_TEMPLATE_CWD]);
	expect_words(&line, (const char *const[]){"&&", "exec", "env", NULL});
	expect_list(&line, v->env);
	/* What env(1) would take for a variable is behind a shell. */
	if (next(&argv, &program) && program.len > 0 &&
	    memchr(program.data, '=', program.len) != NULL)
		expect_words(&line, shell);
	expect_list(&line, v->argv);
	assert(!next_quoted(&line, &rest));
}

/* --- any command -----------------------------------------------------------
 */

/* As many words as with values that are empty. */
static void
check_words(struct bytes text, const struct buf *out,
    const struct argv_template_values *v)
{
	struct argv_template_values empty = *v;
	struct err e = {0};
	scoped_buf bare;

	buf_init(&bare, LIST_MAX);
	memset(empty.scalar, 0, sizeof empty.scalar);
	assert(argv_template_expand(text, &empty, &bare, &e) == 0);
	assert(count_words(out) == count_words(&bare));
	assert(count_words(out) > 0);
}

static void
check_expanded(struct bytes text, const struct argv_template_values *v)
{
	bool refused = has_option(v->argv, true) || has_option(v->env, false);
	struct err e = {0};
	scoped_buf out;
	int r;

	buf_init(&out, LIST_MAX);
	r = argv_template_expand(text, v, &out, &e);
	if (r == -EMSGSIZE && !refused)
		return;
	assert(r == (refused ? -EINVAL : 0));
	if (refused)
		assert(e.code == EINVAL && strchr(e.text, '-') != NULL);
	else
		check_words(text, &out, v);
}

/* Returns whether the command is one. */
static bool
check_text(struct bytes text, uint32_t allowed, uint32_t *used)
{
	uint32_t again;
	struct err e = {0};
	int r = argv_template_check(text, allowed, used, &e);

	if (r < 0) {
		assert(r == -EINVAL && e.code == EINVAL && e.text[0] != '\0');
		return false;
	}
	assert(text.len <= ARGV_TEMPLATE_MAX && (*used & ~allowed) == 0);
	/* What it has is all that it needs to be allowed. */
	assert(argv_template_check(text, *used, &again, &e) == 0);
	assert(again == *used);
	for (uint32_t bit = 1; bit <= *used; bit <<= 1)
		if (*used & bit)
			assert(argv_template_check(text, *used & ~bit, &again,
				   &e) == -EINVAL);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct argv_template_values v = {0};
	scoped_buf scalars, argv, env;
	uint32_t used, allowed;
	struct bytes text;
	struct reader r, values;
	uint8_t flags;

	buf_init(&scalars, LIST_MAX);
	buf_init(&argv, LIST_MAX);
	buf_init(&env, LIST_MAX);
	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	flags = fuzz_u8(&r);
	allowed = sets[(flags >> 2) % (sizeof sets / sizeof sets[0])];
	text = fuzz_until(&r, 0x1e);
	(void)take_list(&r, &scalars, ARGV_TEMPLATE_SCALARS);
	values = reader_of(fuzz_view(&scalars));
	for (size_t i = 0; i < ARGV_TEMPLATE_SCALARS; i++)
		(void)next(&values, &v.scalar[i]);
	if (take_list(&r, &argv, WORDS_MAX) == 0)
		assert(buf_put_cstring(&argv, "p") == 0);
	(void)take_list(&r, &env, WORDS_MAX);
	v.argv = fuzz_view(&argv);
	v.env = fuzz_view(&env);
	v.tty = flags & 1;
	v.stdin_open = flags & 2;
	if (check_text(text, allowed, &used))
		check_expanded(text, &v);
	if (!has_option(v.argv, true) && !has_option(v.env, false))
		check_command(&v);
	return 0;
}
