#include "policy/argv_template.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	/* A whole word, which becomes any number of them. */
	bool word;
	/* Whether {NAME:WORD} is its form: never, maybe, always. */
	enum { PLAIN, EITHER, PREFIXED } form;
} names[ARGV_TEMPLATE_NAMES] = {
    [ARGV_TEMPLATE_CWD] = {"cwd", false, PLAIN},
    [ARGV_TEMPLATE_ID] = {"id", false, PLAIN},
    [ARGV_TEMPLATE_TAG] = {"tag", false, PLAIN},
    [ARGV_TEMPLATE_TARGET] = {"target", false, PLAIN},
    [ARGV_TEMPLATE_SIGNAL] = {"signal", false, PLAIN},
    [ARGV_TEMPLATE_STATUS] = {"status", false, PLAIN},
    [ARGV_TEMPLATE_EXIT_CODE] = {"exit_code", false, PLAIN},
    [ARGV_TEMPLATE_TIMED_OUT] = {"timed_out", false, PLAIN},
    [ARGV_TEMPLATE_COMMAND] = {"command", false, PLAIN},
    [ARGV_TEMPLATE_ARGV] = {"argv", true, PLAIN},
    [ARGV_TEMPLATE_ENV] = {"env", true, EITHER},
    [ARGV_TEMPLATE_TTY] = {"tty", true, PREFIXED},
    [ARGV_TEMPLATE_STDIN] = {"stdin", true, PREFIXED},
};

/* A name in braces. */
struct mention {
	enum argv_template_name name;
	struct bytes prefix; /* what follows the colon */
};

/* --- words --------------------------------------------------------------- */

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/* Append the character at *at, which is in quotes, and step over it. */
static int
put_quoted(struct bytes text, size_t *at, struct buf *word)
{
	uint8_t c = text.data[*at], next;

	if (c == '\\' && *at + 1 < text.len) {
		next = text.data[*at + 1];
		if (next == '"' || next == '\\') {
			c = next;
			++*at;
		}
	}
	++*at;
	return buf_put_u8(word, c);
}

/*
 * Read the word that begins after the blanks at *at into word, without its
 * quotes. 1: there is one; 0: none is left.
 */
static int
next_word(struct bytes text, size_t *at, struct buf *word, struct err *e)
{
	bool quoted = false;
	int r = 0;

	buf_clear(word);
	while (*at < text.len && is_blank(text.data[*at]))
		++*at;
	if (*at == text.len)
		return 0;
	while (
	    r == 0 && *at < text.len && (quoted || !is_blank(text.data[*at]))) {
		if (text.data[*at] == '"') {
			quoted = !quoted;
			++*at;
		} else if (quoted) {
			r = put_quoted(text, at, word);
		} else {
			r = buf_put_u8(word, text.data[*at]);
			++*at;
		}
	}
	if (quoted)
		return err_set(e, EINVAL, "a quote is not closed");
	return r < 0 ? err_errno(e, -r, "a word") : 1;
}

/* --- names --------------------------------------------------------------- */

static int
refuse_mention(struct bytes inner, struct err *e)
{
	return err_set(e, EINVAL, "{%.*s} is not known here",
	    inner.len > 32 ? 32 : (int)inner.len, (const char *)inner.data);
}

/* inner is what the braces hold. */
static int
parse_mention(struct bytes inner, struct mention *m, struct err *e)
{
	const uint8_t *colon = memchr(inner.data, ':', inner.len);
	size_t len = colon == NULL ? inner.len : (size_t)(colon - inner.data);
	struct bytes name = {.data = inner.data, .len = len};
	unsigned int i = 0;

	while (i < ARGV_TEMPLATE_NAMES && !bytes_is(name, names[i].name))
		i++;
	if (i == ARGV_TEMPLATE_NAMES ||
	    (colon == NULL ? names[i].form == PREFIXED
			   : names[i].form == PLAIN || len + 1 == inner.len))
		return refuse_mention(inner, e);
	m->name = (enum argv_template_name)i;
	m->prefix = (struct bytes){0};
	if (colon != NULL)
		m->prefix = (struct bytes){.data = colon + 1,
		    .len = inner.len - len - 1};
	return 0;
}

/* The braces that open at *at, which is then behind them. Returns 1. */
static int
take_mention(struct bytes word, size_t *at, struct mention *m, struct err *e)
{
	const uint8_t *inner = word.data + *at + 1;
	size_t left = word.len - *at - 1;
	const uint8_t *end = left == 0 ? NULL : memchr(inner, '}', left);
	int r;

	if (end == NULL)
		return err_set(e, EINVAL,
		    "a brace is not closed; {{ stands for the character");
	*at = (size_t)(end - word.data) + 1;
	r = parse_mention((struct bytes){.data = inner,
			      .len = (size_t)(end - inner)},
	    m, e);
	return r < 0 ? r : 1;
}

/*
 * Go on in word from *at: append what comes before the next name to text, and
 * step over both. 1: m is the name; 0: the word is at its end.
 */
static int
next_mention(struct bytes word, size_t *at, struct buf *text, struct mention *m,
    struct err *e)
{
	while (*at < word.len) {
		const uint8_t *c = word.data + *at;
		bool twice = *c == '{' && *at + 1 < word.len && c[1] == '{';
		int r;

		if (*c == '{' && !twice)
			return take_mention(word, at, m, e);
		*at += twice ? 2 : 1;
		r = buf_put_u8(text, *c);
		if (r < 0)
			return err_errno(e, -r, "a word");
	}
	return 0;
}

/* --- checking ------------------------------------------------------------ */

static int
check_mention(const struct mention *m, bool whole, bool first, uint32_t allowed,
    struct err *e)
{
	const char *name = names[m->name].name;

	if ((allowed & ARGV_TEMPLATE_BIT(m->name)) == 0)
		return refuse_mention(bytes_of(name), e);
	if (names[m->name].word && !whole)
		return err_set(e, EINVAL, "{%s} must be a word of its own",
		    name);
	if (first && m->name != ARGV_TEMPLATE_ARGV)
		return err_set(e, EINVAL,
		    "{%s} must not be in the name of the program", name);
	return 0;
}

static int
check_word(struct bytes word, bool first, uint32_t allowed, uint32_t *used,
    struct err *e)
{
	scoped_buf text = {.max = ARGV_TEMPLATE_MAX};
	struct mention m;
	size_t at = 0;
	int r;

	for (;;) {
		bool begins = at == 0;

		r = next_mention(word, &at, &text, &m, e);
		if (r <= 0)
			return r;
		r = check_mention(&m, begins && at == word.len && text.len == 0,
		    first, allowed, e);
		if (r < 0)
			return r;
		*used |= ARGV_TEMPLATE_BIT(m.name);
	}
}

int
argv_template_check(struct bytes text, uint32_t allowed, uint32_t *used,
    struct err *e)
{
	scoped_buf word = {.max = ARGV_TEMPLATE_MAX};
	size_t at = 0, count = 0;
	int r = 0;

	*used = 0;
	if (text.len > ARGV_TEMPLATE_MAX)
		return err_set(e, EINVAL, "at most %d bytes are accepted",
		    ARGV_TEMPLATE_MAX);
	while ((r = next_word(text, &at, &word, e)) > 0) {
		r = check_word((struct bytes){word.data, word.len}, count == 0,
		    allowed, used, e);
		if (r < 0)
			return r;
		if (++count > ARGV_TEMPLATE_WORDS_MAX)
			return err_set(e, EINVAL,
			    "at most %d words are accepted",
			    ARGV_TEMPLATE_WORDS_MAX);
	}
	if (r == 0 && count == 0)
		return err_set(e, EINVAL, "a command is missing");
	return r;
}

/* --- replacing ----------------------------------------------------------- */

/* As one word of sh(1), XCU 2.2.2. */
static int
put_shell_word(struct bytes s, struct buf *out)
{
	int r = buf_put_u8(out, '\'');

	for (size_t i = 0; r == 0 && i < s.len; i++)
		r = s.data[i] == '\'' ? buf_put(out, "'\\''", 4)
				      : buf_put_u8(out, s.data[i]);
	return r < 0 ? r : buf_put_u8(out, '\'');
}

static int
put_shell_list(struct bytes list, struct buf *out)
{
	struct reader reader;
	struct bytes s;
	int r = 0;

	reader_init(&reader, list.data, list.len);
	while (r == 0 && buf_get_string(&reader, &s, list.len)) {
		r = buf_put_u8(out, ' ');
		if (r == 0)
			r = put_shell_word(s, out);
	}
	return r;
}

static int
put_text(struct buf *out, const char *text)
{
	return buf_put(out, text, strlen(text));
}

/* Whether env(1) would take the first of argv for a variable. */
static bool
is_like_variable(struct bytes argv)
{
	struct reader reader;
	struct bytes s;

	reader_init(&reader, argv.data, argv.len);
	return buf_get_string(&reader, &s, argv.len) && s.len > 0 &&
	       memchr(s.data, '=', s.len) != NULL;
}

/* A shell drops variables whose names it does not know, and is looked up in the
 * program's PATH: it is there only if it must. */
static int
put_command(const struct argv_template_values *v, struct buf *out)
{
	int r = put_text(out, "cd ");

	if (r == 0)
		r = put_shell_word(v->scalar[ARGV_TEMPLATE_CWD], out);
	if (r == 0)
		r = put_text(out, " && exec env");
	if (r == 0)
		r = put_shell_list(v->env, out);
	if (r == 0 && is_like_variable(v->argv))
		r = put_text(out, " /bin/sh -c 'exec \"$@\"' sh");
	return r < 0 ? r : put_shell_list(v->argv, out);
}

/* The strings of list, each after prefix if there is one. */
static int
put_words(struct bytes list, struct bytes prefix, struct buf *out)
{
	struct reader reader;
	struct bytes s;
	int r = 0;

	reader_init(&reader, list.data, list.len);
	while (r == 0 && buf_get_string(&reader, &s, list.len)) {
		if (prefix.len > 0)
			r = buf_put_string(out, prefix.data, prefix.len);
		if (r == 0)
			r = buf_put_string(out, s.data, s.len);
	}
	return r;
}

/* A name that is a word of its own. */
static int
expand_words(const struct mention *m, const struct argv_template_values *v,
    struct buf *out)
{
	bool wanted;

	if (m->name == ARGV_TEMPLATE_ARGV)
		return put_words(v->argv, m->prefix, out);
	if (m->name == ARGV_TEMPLATE_ENV)
		return put_words(v->env, m->prefix, out);
	wanted = m->name == ARGV_TEMPLATE_TTY ? v->tty : v->stdin_open;
	return wanted ? buf_put_string(out, m->prefix.data, m->prefix.len) : 0;
}

static int
expand_word(struct bytes word, const struct argv_template_values *v,
    struct buf *out, struct err *e)
{
	scoped_buf text = {.max = out->max};
	struct mention m;
	size_t at = 0;
	int r;

	while ((r = next_mention(word, &at, &text, &m, e)) > 0) {
		if (names[m.name].word)
			return expand_words(&m, v, out);
		if (m.name == ARGV_TEMPLATE_COMMAND)
			r = put_command(v, &text);
		else
			r = buf_put(&text, v->scalar[m.name].data,
			    v->scalar[m.name].len);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : buf_put_string(out, text.data, text.len);
}

/* Nothing that the client names must look like an option. */
static int
refuse_options(struct bytes list, bool first_only, const char *what,
    struct err *e)
{
	struct reader reader;
	struct bytes s;

	reader_init(&reader, list.data, list.len);
	while (buf_get_string(&reader, &s, list.len)) {
		if (s.len > 0 && s.data[0] == '-')
			return err_set(e, EINVAL,
			    "%s begins with '-', which this backend would "
			    "take for an option",
			    what);
		if (first_only)
			return 0;
	}
	return 0;
}

int
argv_template_expand(struct bytes text, const struct argv_template_values *v,
    struct buf *out, struct err *e)
{
	scoped_buf word = {.max = ARGV_TEMPLATE_MAX};
	size_t at = 0;
	int r = refuse_options(v->argv, true, "the name of the program", e);

	if (r == 0)
		r = refuse_options(v->env, false, "the name of a variable", e);
	if (r < 0)
		return r;
	while ((r = next_word(text, &at, &word, e)) > 0) {
		r = expand_word((struct bytes){word.data, word.len}, v, out, e);
		if (r < 0)
			return r;
	}
	return r;
}
