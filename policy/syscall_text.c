#include "policy/syscall_text.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"

struct parser {
	struct bytes text;
	size_t at;			  /* next byte */
	size_t line_start;		  /* where the present line begins */
	unsigned int line;		  /* its number, from 1 */
	size_t first_rule;		  /* of this text */
	bool said_fallback, said_unknown; /* by this text */
	struct syscall_policy *p;
	struct err *e;
};

/* Refuse, pointing at byte at and, unless it is empty, quoting word. */
static int
refuse_word(struct parser *s, int code, size_t at, const char *what,
    struct bytes word)
{
	int len = word.len > 40 ? 40 : (int)word.len;

	return err_set(s->e, code, "%u:%zu: %s%s%.*s%s", s->line,
	    at - s->line_start + 1, what, len > 0 ? " '" : "", len,
	    len > 0 ? (const char *)word.data : "", len > 0 ? "'" : "");
}

static int
refuse_at(struct parser *s, int code, size_t at, const char *what)
{
	return refuse_word(s, code, at, what, (struct bytes){0});
}

/* --- words ------------------------------------------------------------- */

/* The byte at, or '\n' at the end, so that nothing reads past it. */
static char
peek(const struct parser *s, size_t ahead)
{
	size_t at = s->at + ahead;

	return at < s->text.len ? (char)s->text.data[at] : '\n';
}

static void
skip_blanks(struct parser *s)
{
	while (peek(s, 0) == ' ' || peek(s, 0) == '\t')
		s->at++;
}

static bool
is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* The word here, empty if there is none; the cursor moves behind it. */
static struct bytes
take_word(struct parser *s)
{
	struct bytes word = {0};
	size_t start;

	skip_blanks(s);
	start = s->at;
	while (is_word_byte(peek(s, 0)))
		s->at++;
	if (s->at > start)
		word.data = s->text.data + start;
	word.len = s->at - start;
	return word;
}

/* Move behind symbol if it stands here. */
static bool
take(struct parser *s, const char *symbol)
{
	size_t len = strlen(symbol);

	skip_blanks(s);
	if (len > s->text.len - s->at ||
	    memcmp(s->text.data + s->at, symbol, len) != 0)
		return false;
	s->at += len;
	return true;
}

/* '&' and '|' alone, not the first half of '&&' and '||'. */
static bool
take_single(struct parser *s, char symbol)
{
	skip_blanks(s);
	if (peek(s, 0) != symbol || peek(s, 1) == symbol)
		return false;
	s->at++;
	return true;
}

static struct bytes
trim(const struct parser *s, size_t start, size_t end)
{
	const uint8_t *d = s->text.data;

	while (start < end && (d[start] == ' ' || d[start] == '\t'))
		start++;
	while (end > start && (d[end - 1] == ' ' || d[end - 1] == '\t'))
		end--;
	return (struct bytes){.data = d + start, .len = end - start};
}

/* --- values ------------------------------------------------------------ */

static int
digit_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Decimal, 0x hexadecimal or, as modes are written, octal with a leading 0. */
static bool
number_value(struct bytes word, uint64_t *out)
{
	unsigned int base = 10;
	uint64_t v = 0;
	size_t i = 0;

	if (word.len > 1 && word.data[0] == '0') {
		bool hex = word.data[1] == 'x';

		base = hex ? 16 : 8;
		i = hex ? 2 : 1;
	}
	if (i == word.len)
		return false;
	for (; i < word.len; i++) {
		int digit = digit_value(word.data[i]);

		if (digit < 0 || (unsigned int)digit >= base ||
		    ckd_mul(&v, v, base) || ckd_add(&v, v, (unsigned)digit))
			return false;
	}
	*out = v;
	return true;
}

static int
parse_item(struct parser *s, uint64_t *out)
{
	struct bytes word;
	size_t at;

	skip_blanks(s);
	at = s->at;
	word = take_word(s);
	if (word.len == 0)
		return refuse_at(s, EINVAL, at, "a value is missing");
	if (word.data[0] >= '0' && word.data[0] <= '9') {
		if (!number_value(word, out))
			return refuse_word(s, EINVAL, at, "bad number", word);
		return 0;
	}
	if (!syscall_constant(word, out))
		return refuse_word(s, EINVAL, at, "unknown constant", word);
	return 0;
}

static int
parse_sum(struct parser *s, uint64_t *out)
{
	uint64_t all, one;
	int r = parse_item(s, &all);

	while (r == 0 && take_single(s, '|')) {
		r = parse_item(s, &one);
		if (r == 0)
			all |= one;
	}
	if (r == 0)
		*out = all;
	return r;
}

/* Of an int the low half counts: ~O_NONBLOCK has 32 bits there. */
static int
parse_value(struct parser *s, bool wide, uint64_t *out)
{
	uint64_t v;
	size_t at;
	int r;

	skip_blanks(s);
	at = s->at;
	if (take(s, "~")) {
		bool many = take(s, "(");

		r = many ? parse_sum(s, &v) : parse_item(s, &v);
		if (r == 0 && many && !take(s, ")"))
			r = refuse_at(s, EINVAL, s->at, "')' is missing");
		if (r == 0)
			v = wide ? ~v : ~v & UINT32_MAX;
	} else {
		r = parse_sum(s, &v);
	}
	if (r == 0 && !wide && v > UINT32_MAX)
		r = refuse_at(s, EINVAL, at, "more than 32 bits");
	if (r == 0)
		*out = v;
	return r;
}

/* --- tests ------------------------------------------------------------- */

static int
add_value(struct parser *s, struct syscall_compare *c, uint64_t v)
{
	if (s->p->value_count == SYSCALL_VALUES_MAX)
		return refuse_at(s, EFBIG, s->at, "too many values");
	if (v & ~c->mask)
		return refuse_at(s, EINVAL, s->at,
		    "the value has bits outside the mask");
	s->p->values[s->p->value_count++] = v;
	c->count++;
	return 0;
}

static int
parse_set(struct parser *s, struct syscall_compare *c)
{
	uint64_t v;
	int r;

	if (take(s, "$channel")) {
		r = add_value(s, c, 3);
		return r < 0 ? r : add_value(s, c, 4);
	}
	if (!take(s, "{"))
		return refuse_at(s, EINVAL, s->at, "'{' is missing");
	do {
		r = parse_value(s, c->wide, &v);
		if (r == 0)
			r = add_value(s, c, v);
	} while (r == 0 && take(s, ","));
	if (r == 0 && !take(s, "}"))
		r = refuse_at(s, EINVAL, s->at, "'}' is missing");
	return r;
}

static int
parse_argument(struct parser *s, struct syscall_compare *c)
{
	struct bytes word;
	size_t at;

	skip_blanks(s);
	at = s->at;
	word = take_word(s);
	if (word.len != 4 || word.data[3] < '0' ||
	    word.data[3] >= '0' + SYSCALL_ARGS ||
	    (memcmp(word.data, "arg", 3) != 0 &&
		memcmp(word.data, "ptr", 3) != 0))
		return refuse_at(s, EINVAL, at,
		    "arg0..arg5 or ptr0..ptr5 is wanted");
	c->arg = (unsigned int)(word.data[3] - '0');
	c->wide = word.data[0] == 'p';
	c->mask = c->wide ? UINT64_MAX : UINT32_MAX;
	return 0;
}

static int
parse_relation(struct parser *s, struct syscall_compare *c)
{
	uint64_t v;
	int r;

	if (!c->wide && take(s, "in"))
		return parse_set(s, c);
	c->negated = take(s, "!=");
	if (!c->negated && !take(s, "=="))
		return refuse_at(s, EINVAL, s->at,
		    c->wide ? "'==' or '!=' is wanted"
			    : "'==', '!=' or 'in' is wanted");
	r = parse_value(s, c->wide, &v);
	return r < 0 ? r : add_value(s, c, v);
}

static int
parse_compare(struct parser *s, struct syscall_compare *c)
{
	int r = parse_argument(s, c);

	c->first = s->p->value_count;
	if (r == 0 && take_single(s, '&'))
		r = parse_value(s, c->wide, &c->mask);
	return r < 0 ? r : parse_relation(s, c);
}

static int
parse_test(struct parser *s, struct syscall_rule *rule)
{
	size_t start = s->at;
	bool more;

	do {
		struct syscall_compare c = {0};
		int r;

		if (s->p->compare_count == SYSCALL_COMPARES_MAX)
			return refuse_at(s, EFBIG, s->at, "too many tests");
		r = parse_compare(s, &c);
		if (r < 0)
			return r;
		more = take(s, "&&");
		if (!more) {
			c.ends_all = true;
			more = take(s, "||");
		}
		s->p->compares[s->p->compare_count++] = c;
		rule->count++;
	} while (more);
	rule->test = trim(s, start, s->at);
	return 0;
}

/* --- lines ------------------------------------------------------------- */

static int
parse_action(struct parser *s, struct syscall_action *out)
{
	struct syscall_action a = {.kind = SYSCALL_ERRNO};
	struct bytes word;
	size_t at;

	skip_blanks(s);
	at = s->at;
	word = take_word(s);
	if (bytes_is(word, "allow"))
		a.kind = SYSCALL_ALLOW;
	else if (bytes_is(word, "kill"))
		a.kind = SYSCALL_KILL;
	else if (!syscall_errno(word, &a.errnum))
		return refuse_word(s, EINVAL, at, "unknown action", word);
	*out = a;
	return 0;
}

static int
parse_arches(struct parser *s, unsigned int *arches)
{
	*arches = 0;
	do {
		size_t at = s->at;
		struct bytes word = take_word(s);

		if (bytes_is(word, "x86_64"))
			*arches |= SYSCALL_ARCH_X86_64;
		else if (bytes_is(word, "aarch64"))
			*arches |= SYSCALL_ARCH_AARCH64;
		else
			return refuse_word(s, EINVAL, at,
			    "unknown architecture", word);
	} while (take(s, ","));
	if (!take(s, "]"))
		return refuse_at(s, EINVAL, s->at, "']' is missing");
	return 0;
}

/* The rest of the line, "caller: reason", behind its '#'. */
static int
parse_reason(struct parser *s, struct syscall_rule *rule)
{
	size_t start = s->at, colon = SIZE_MAX;

	while (peek(s, 0) != '\n') {
		if (peek(s, 0) == ':' && colon == SIZE_MAX)
			colon = s->at;
		s->at++;
	}
	if (colon != SIZE_MAX) {
		rule->caller = trim(s, start, colon);
		rule->reason = trim(s, colon + 1, s->at);
	}
	if (rule->caller.len == 0 || rule->reason.len == 0)
		return refuse_at(s, EINVAL, start,
		    "'caller: reason' is missing");
	return 0;
}

static bool
same_compare(const struct syscall_policy *p, const struct syscall_compare *a,
    const struct syscall_compare *b)
{
	return a->arg == b->arg && a->wide == b->wide &&
	       a->negated == b->negated && a->ends_all == b->ends_all &&
	       a->mask == b->mask && a->count == b->count &&
	       memcmp(p->values + a->first, p->values + b->first,
		   a->count * sizeof p->values[0]) == 0;
}

static bool
same_test(const struct syscall_policy *p, const struct syscall_rule *a,
    const struct syscall_rule *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!same_compare(p, &p->compares[a->first + i],
			&p->compares[b->first + i]))
			return false;
	return true;
}

/* Whether an earlier rule of this text leaves nothing to this one. */
static int
check_reachable(struct parser *s, const struct syscall_rule *rule)
{
	for (size_t i = s->first_rule; i < s->p->rule_count; i++) {
		const struct syscall_rule *other = &s->p->rules[i];

		if (strcmp(other->name, rule->name) != 0 ||
		    (other->arches & rule->arches) == 0)
			continue;
		if (other->count == 0 || same_test(s->p, other, rule))
			return err_set(s->e, EINVAL,
			    "%u:1: %s is decided by line %u already", s->line,
			    rule->name, other->line);
	}
	return 0;
}

static int
parse_rule(struct parser *s, struct bytes name)
{
	struct syscall_rule rule = {.arches = SYSCALL_ARCH_ALL,
	    .first = s->p->compare_count,
	    .line = s->line};
	int r = 0;

	if (s->p->rule_count == SYSCALL_RULES_MAX)
		return refuse_at(s, EFBIG, s->at, "too many rules");
	if (name.len >= sizeof rule.name)
		return refuse_word(s, EINVAL, s->line_start, "no system call",
		    name);
	memcpy(rule.name, name.data, name.len);
	if (take(s, "["))
		r = parse_arches(s, &rule.arches);
	if (r == 0 && take(s, ":"))
		r = parse_test(s, &rule);
	if (r == 0 && take(s, "->"))
		r = parse_action(s, &rule.action);
	if (r == 0 && !take(s, "#"))
		r = refuse_at(s, EINVAL, s->at, "'# caller: reason' is wanted");
	if (r == 0)
		r = parse_reason(s, &rule);
	if (r == 0)
		r = check_reachable(s, &rule);
	if (r == 0)
		s->p->rules[s->p->rule_count++] = rule;
	return r;
}

static int
parse_directive(struct parser *s, bool *said, bool *has,
    struct syscall_action *to)
{
	struct syscall_action a;
	int r = parse_action(s, &a);

	if (r < 0)
		return r;
	if (*said)
		return refuse_at(s, EINVAL, s->line_start, "said before");
	*said = true;
	if (!*has)
		*to = a;
	*has = true;
	return 0;
}

static int
parse_line(struct parser *s)
{
	struct syscall_policy *p = s->p;
	struct bytes word = take_word(s);
	int r = 0;

	if (bytes_is(word, "default"))
		r = parse_directive(s, &s->said_fallback, &p->has_fallback,
		    &p->fallback);
	else if (bytes_is(word, "unknown"))
		r = parse_directive(s, &s->said_unknown, &p->has_unknown,
		    &p->unknown);
	else if (word.len > 0)
		r = parse_rule(s, word);
	if (r < 0)
		return r;
	if (take(s, "#"))
		while (peek(s, 0) != '\n')
			s->at++;
	skip_blanks(s);
	if (peek(s, 0) != '\n')
		return refuse_at(s, EINVAL, s->at,
		    "a system call or '#' is wanted");
	return 0;
}

/* Only text: a control byte would end up in generated pages and messages. */
static int
check_bytes(struct parser *s)
{
	for (size_t i = s->at; i < s->text.len; i++) {
		uint8_t c = s->text.data[i];

		if (c == '\n')
			break;
		if ((c < ' ' && c != '\t') || c > '~')
			return refuse_at(s, EINVAL, i, "not printable ASCII");
	}
	return 0;
}

/* The next line, from its first byte to behind its end. */
static int
next_line(struct parser *s)
{
	int r;

	s->line++;
	s->line_start = s->at;
	r = check_bytes(s);
	if (r == 0)
		r = parse_line(s);
	if (r == 0)
		s->at++;
	return r;
}

int
syscall_text_parse(struct bytes text, struct syscall_policy *p, struct err *e)
{
	struct parser s = {.text = text,
	    .first_rule = p->rule_count,
	    .p = p,
	    .e = e};
	int r = 0;

	if (text.len > SYSCALL_TEXT_MAX)
		return err_set(e, EFBIG, "1:1: %zu bytes, at most %u", text.len,
		    SYSCALL_TEXT_MAX);
	while (s.at < text.len && r == 0)
		r = next_line(&s);
	return r;
}

int
syscall_text_parse_all(struct bytes text, const char *name,
    struct syscall_policy *p, struct buf *errors)
{
	struct err e = {0};
	struct parser s = {.text = text,
	    .first_rule = p->rule_count,
	    .p = p,
	    .e = &e};
	int result = 0;

	if (text.len > SYSCALL_TEXT_MAX) {
		(void)!buf_printf(errors, "%s:1:1: %zu bytes, at most %u\n",
		    name, text.len, SYSCALL_TEXT_MAX);
		return -EINVAL;
	}
	while (s.at < text.len) {
		if (next_line(&s) == 0)
			continue;
		result = -EINVAL;
		(void)!buf_printf(errors, "%s:%s\n", name, e.text);
		while (peek(&s, 0) != '\n')
			s.at++;
		s.at++;
	}
	return result;
}
