#include "supervisor/config_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/num.h"

struct suffix {
	const char *text;
	uint64_t factor;
};

struct unit {
	const char *wanted, *bare; /* bare: what a number alone counts */
	struct suffix suffixes[6]; /* ascending, ends with a NULL text */
};

static const struct unit units[] = {
    [LIMIT_MS] = {"a duration (such as 200ms, 30s, 5m, 1h)", "ms",
	{{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}}},
    [LIMIT_BYTES] = {"a size (bytes, or with K, M, G, T)", "bytes",
	{{"", 1}, {"K", UINT64_C(1) << 10}, {"M", UINT64_C(1) << 20},
	    {"G", UINT64_C(1) << 30}, {"T", UINT64_C(1) << 40}}},
    [LIMIT_COUNT] = {"a number", "", {{"", 1}}},
};

static const struct suffix *
find_suffix(const struct unit *u, const char *text)
{
	for (const struct suffix *s = u->suffixes; s->text != NULL; s++)
		if (strcmp(s->text, text) == 0)
			return s;
	return NULL;
}

/* Hexadecimal digits after 0x; at most 16, so that they cannot overflow. */
static bool
parse_hex(const char *text, uint64_t *out)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = strlen(text);
	uint64_t v = 0;

	if (len < 3 || len > 18 || text[0] != '0' || text[1] != 'x')
		return false;
	for (text += 2; *text != '\0'; text++) {
		const char *at = strchr(digits, tolower((unsigned char)*text));

		if (at == NULL)
			return false;
		v = v << 4 | (uint64_t)(at - digits);
	}
	*out = v;
	return true;
}

static bool
parse_scaled(const char *text, const struct unit *u, uint64_t *out)
{
	char digits[24];
	size_t len = strspn(text, "0123456789");
	const struct suffix *s = find_suffix(u, text + len);

	if (s == NULL || len == 0 || len >= sizeof digits)
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	return num_parse_u64(digits, 0, UINT64_MAX, out) == 0 &&
	       !ckd_mul(out, *out, s->factor);
}

int
value_parse(const char *text, enum limit_unit unit, uint64_t min, uint64_t max,
    uint64_t *out, struct err *e)
{
	const struct unit *u = &units[unit];
	uint64_t v;
	bool ok = unit == LIMIT_COUNT && parse_hex(text, &v);

	if (!ok && !parse_scaled(text, u, &v))
		return err_set(e, EINVAL, "\"%.40s\" is not %s", text,
		    u->wanted);
	if (v < min || v > max)
		return err_set(e, ERANGE, "%.40s is outside %llu..%llu%s%s",
		    text, (unsigned long long)min, (unsigned long long)max,
		    u->bare[0] != '\0' ? " " : "", u->bare);
	*out = v;
	return 0;
}

int
value_put(uint64_t value, enum limit_unit unit, struct buf *out)
{
	const struct suffix *best = &units[unit].suffixes[0];

	for (const struct suffix *s = best; s->text != NULL; s++)
		if (value != 0 && value % s->factor == 0)
			best = s;
	return buf_printf(out, "%llu%s",
	    (unsigned long long)(value / best->factor), best->text);
}

int
value_word(const char *text, const char *const *words, uint32_t *out,
    struct err *e)
{
	char all[96] = "";

	for (uint32_t i = 0; words[i] != NULL; i++) {
		size_t used = strlen(all);

		if (strcmp(words[i], text) == 0) {
			*out = i;
			return 0;
		}
		(void)snprintf(all + used, sizeof all - used, "%s%s",
		    i > 0 ? ", " : "", words[i]);
	}
	return err_set(e, EINVAL, "\"%.40s\" is none of %s", text, all);
}

int
value_check_assignment(const char *text, struct err *e)
{
	const char *end = strchr(text, '=');
	size_t len = end == NULL ? 0 : (size_t)(end - text);

	if (len == 0 || isdigit((unsigned char)text[0]))
		return err_set(e, EINVAL, "want NAME=VALUE");
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return err_set(e, EINVAL,
			    "the name \"%.*s\" holds more than letters, "
			    "digits and _",
			    len > 64 ? 64 : (int)len, text);
	return 0;
}

int
value_check_pattern(const char *text, struct err *e)
{
	if (text[0] == '\0')
		return err_set(e, EINVAL, "the pattern is empty");
	for (const char *s = text; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("_*?", *s) == NULL)
			return err_set(e, EINVAL,
			    "the pattern \"%.64s\" holds more than letters, "
			    "digits, _, * and ?",
			    text);
	return 0;
}
