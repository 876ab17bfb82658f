#include "policy/glob.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"

enum token_kind {
	TOKEN_CHARACTER,
	TOKEN_ANY,
	TOKEN_CLASS,
	TOKEN_STAR,
	TOKEN_DEEP,	   /* ** */
	TOKEN_DIRECTORIES, /* ** and a slash */
};

struct token {
	enum token_kind kind;
	uint32_t character; /* of TOKEN_CHARACTER */
	struct bytes class; /* of TOKEN_CLASS: what stands in the brackets */
	size_t next;	    /* where the next token begins */
};

/* --- characters and tokens ----------------------------------------------- */

/* The character at *at, which moves past it. A byte that begins none is one
 * beyond Unicode. */
static uint32_t
next_character(struct bytes text, size_t *at)
{
	const uint8_t *s = text.data + *at;
	size_t len = utf8_sequence(s, text.len - *at);
	uint32_t c;

	*at += len == 0 ? 1 : len;
	if (len == 0)
		return UINT32_C(0x110000) + *s;
	if (len == 1)
		return *s;
	c = *s & (0x7fu >> len);
	for (size_t i = 1; i < len; i++)
		c = c << 6 | (s[i] & 0x3fu);
	return c;
}

/* Skip the sign that negates a class. */
static bool
class_negated(struct bytes class, size_t *at)
{
	if (class.len == 0 || (class.data[0] != '!' && class.data[0] != '^'))
		return false;
	*at = 1;
	return true;
}

static void
class_range(struct bytes class, size_t *at, uint32_t *low, uint32_t *high)
{
	*low = *high = next_character(class, at);
	/* A '-' at the end is itself. */
	if (class.len - *at < 2 || class.data[*at] != '-')
		return;
	(*at)++;
	*high = next_character(class, at);
}

static bool
class_has(struct bytes class, uint32_t c)
{
	uint32_t low, high;
	size_t at = 0;
	bool negated = class_negated(class, &at), found = false;

	while (at < class.len) {
		class_range(class, &at, &low, &high);
		found |= c >= low && c <= high;
	}
	return c != '/' && found != negated;
}

static bool class_is_good(struct bytes class)
{
	uint32_t low, high;
	size_t at = 0;

	(void)class_negated(class, &at);
	if (memchr(class.data, '/', class.len) != NULL)
		return false;
	while (at < class.len) {
		class_range(class, &at, &low, &high);
		if (low > high)
			return false;
	}
	return true;
}

/* pattern.data[at] is '['. False if the class is not closed or wrong. */
static bool
get_class(struct bytes pattern, size_t at, struct token *t)
{
	size_t start = at + 1, first = start;

	if (first < pattern.len &&
	    (pattern.data[first] == '!' || pattern.data[first] == '^'))
		first++;
	for (size_t i = first + 1; i < pattern.len; i++) {
		if (pattern.data[i] != ']')
			continue;
		*t = (struct token){.kind = TOKEN_CLASS,
		    .class = {.data = pattern.data + start, .len = i - start},
		    .next = i + 1};
		return class_is_good(t->class);
	}
	return false;
}

static void
get_stars(struct bytes pattern, size_t at, struct token *t)
{
	size_t end = at;

	while (end < pattern.len && pattern.data[end] == '*')
		end++;
	*t = (struct token){.kind = TOKEN_STAR, .next = end};
	if (end - at == 1)
		return;
	t->kind = TOKEN_DEEP;
	if (end < pattern.len && pattern.data[end] == '/') {
		t->kind = TOKEN_DIRECTORIES;
		t->next++;
	}
}

/* The token at offset at, which is below the length. False if malformed. */
static bool
get_token(struct bytes pattern, size_t at, struct token *t)
{
	switch (pattern.data[at]) {
	case '*':
		get_stars(pattern, at, t);
		return true;
	case '?':
		*t = (struct token){.kind = TOKEN_ANY, .next = at + 1};
		return true;
	case '[':
		return get_class(pattern, at, t);
	default:
		*t = (struct token){.kind = TOKEN_CHARACTER, .next = at};
		t->character = next_character(pattern, &t->next);
		return true;
	}
}

static bool
is_good(struct bytes pattern)
{
	struct token t;

	for (size_t at = 0; at < pattern.len; at = t.next)
		if (!get_token(pattern, at, &t))
			return false;
	return true;
}

/* --- matching ------------------------------------------------------------ */

/*
 * Every place of the pattern where matching may stand after some characters of
 * the text: by offset, whether a token is about to begin (AT) and whether it is
 * amid the components that TOKEN_DIRECTORIES takes (INSIDE).
 */
enum { AT = 1, INSIDE = 2 };

struct places {
	uint8_t set[PATH_LEN_MAX + 1];
};

/* Tokens that may take nothing let the next one begin as well. */
static void
settle(struct bytes pattern, struct places *p)
{
	struct token t;

	for (size_t i = 0; i < pattern.len; i++) {
		if ((p->set[i] & AT) == 0 || !get_token(pattern, i, &t))
			continue;
		if (t.kind == TOKEN_DIRECTORIES)
			p->set[i] |= INSIDE;
		if (t.kind >= TOKEN_STAR)
			p->set[t.next] |= AT;
	}
}

static bool
token_takes(const struct token *t, uint32_t c)
{
	switch (t->kind) {
	case TOKEN_CHARACTER:
		return t->character == c;
	case TOKEN_CLASS:
		return class_has(t->class, c);
	case TOKEN_ANY:
	case TOKEN_STAR:
		return c != '/';
	case TOKEN_DEEP:
		return true;
	case TOKEN_DIRECTORIES:
		break;
	}
	return false;
}

static void
step(struct bytes pattern, const struct places *from, uint32_t c,
    struct places *to)
{
	struct token t;

	memset(to->set, 0, pattern.len + 1);
	for (size_t i = 0; i < pattern.len; i++) {
		if (from->set[i] == 0 || !get_token(pattern, i, &t))
			continue;
		if ((from->set[i] & INSIDE) != 0) {
			to->set[i] |= INSIDE;
			to->set[t.next] |= c == '/' ? AT : 0;
		}
		if ((from->set[i] & AT) != 0 && token_takes(&t, c))
			to->set[t.kind >= TOKEN_STAR ? i : t.next] |= AT;
	}
	settle(pattern, to);
}

static bool
is_wild(uint8_t c)
{
	return c == '*' || c == '?' || c == '[';
}

static struct bytes
from(struct bytes text, size_t at)
{
	return (struct bytes){.data = text.data + at, .len = text.len - at};
}

/* Match from the path's beginning, or from behind what is known to match. */
static bool
match(struct bytes pattern, struct bytes path, bool first)
{
	struct places places[2];
	unsigned int now = 0;
	size_t at = 0;

	memset(places[now].set, 0, pattern.len + 1);
	places[now].set[0] = AT;
	settle(pattern, &places[now]);
	while (at < path.len) {
		/* The end of a component: a directory above, if not first. */
		if (path.data[at] == '/' && (at > 0 || !first) &&
		    (places[now].set[pattern.len] & AT) != 0)
			return true;
		step(pattern, &places[now], next_character(path, &at),
		    &places[!now]);
		now = !now;
	}
	return (places[now].set[pattern.len] & AT) != 0;
}

bool
glob_covers(struct bytes pattern, struct bytes path)
{
	size_t n = 0;

	if (pattern.len >= PATH_LEN_MAX || path.len <= 1)
		return false;
	/* What stands before the first wildcard is itself: most paths are out
	 * of the question by that alone. */
	for (; n < pattern.len && !is_wild(pattern.data[n]); n++)
		if (n >= path.len || path.data[n] != pattern.data[n])
			return false;
	/* Unless it ends amid a character of the path. */
	if (n < path.len && (path.data[n] & 0xc0) == 0x80)
		n = 0;
	return match(from(pattern, n), from(path, n), n == 0);
}

/* --- what a pattern is ---------------------------------------------------- */

bool
glob_is_pattern(struct bytes pattern)
{
	for (size_t i = 0; i < pattern.len; i++)
		if (is_wild(pattern.data[i]))
			return true;
	return false;
}

size_t
glob_base(struct bytes pattern)
{
	size_t slash = 0;

	for (size_t i = 0; i < pattern.len && !is_wild(pattern.data[i]); i++)
		if (pattern.data[i] == '/')
			slash = i;
	return slash == 0 ? 1 : slash;
}

/* What follows the base, without the slash between. */
static struct bytes
tail(struct bytes pattern)
{
	size_t base = glob_base(pattern), skip = base == 1 ? 1 : base + 1;

	return (struct bytes){.data = pattern.data + skip,
	    .len = pattern.len - skip};
}

bool
glob_is_subtree(struct bytes pattern)
{
	struct bytes rest = tail(pattern);

	return bytes_is(rest, "**") || bytes_is(rest, "**/*") ||
	       bytes_is(rest, "**/**");
}

bool
glob_is_children(struct bytes pattern)
{
	return bytes_is(tail(pattern), "*");
}

/* --- making one absolute -------------------------------------------------- */

/* Take the last component off out. */
static int
go_up(struct buf *out, struct err *e)
{
	size_t len = out->len;

	while (len > 0 && out->data[len - 1] != '/') {
		if (is_wild(out->data[len - 1]))
			return err_set(e, EINVAL,
			    "glob pattern: .. after a wildcard");
		len--;
	}
	out->len = len > 0 ? len - 1 : 0;
	return 0;
}

static int
add_component(struct buf *out, struct bytes part, struct err *e)
{
	int r;

	if (part.len == 0 || bytes_is(part, "."))
		return 0;
	if (bytes_is(part, ".."))
		return go_up(out, e);
	r = buf_reserve(out, part.len + 1);
	if (r == 0)
		r = buf_put_u8(out, '/');
	if (r == 0)
		r = buf_put(out, part.data, part.len);
	if (r == -EMSGSIZE)
		return err_set(e, ENAMETOOLONG, "glob pattern: too long");
	return r < 0 ? err_set(e, -r, "out of memory") : 0;
}

static int
add_components(struct buf *out, struct bytes text, struct err *e)
{
	size_t start = 0;

	for (size_t i = 0; i <= text.len; i++) {
		struct bytes part = {.data = text.data + start,
		    .len = i - start};
		int r;

		if (i < text.len && text.data[i] != '/')
			continue;
		r = add_component(out, part, e);
		if (r < 0)
			return r;
		start = i + 1;
	}
	return 0;
}

int
glob_resolve(struct bytes pattern, struct bytes cwd, struct buf *out,
    struct err *e)
{
	int r = 0;

	buf_clear(out);
	if (pattern.len == 0 || !is_good(pattern))
		return err_set(e, EINVAL, "glob pattern: malformed");
	if (pattern.data[0] != '/' && cwd.len == 0)
		return err_set(e, EINVAL,
		    "glob pattern: relative, but there "
		    "is no cwd");
	if (pattern.data[0] != '/') {
		/* Its characters are themselves, which a pattern cannot say. */
		if (glob_is_pattern(cwd))
			return err_set(e, EINVAL,
			    "glob pattern: relative to a cwd with wildcards");
		r = add_components(out, cwd, e);
	}
	if (r == 0)
		r = add_components(out, pattern, e);
	if (r == 0 && out->len == 0)
		r = buf_put_u8(out, '/');
	return r;
}
