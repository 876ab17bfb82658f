#include "policy/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/*
 * Steps of comparing that one request may cost, a fraction of a second. A
 * client may send tens of thousands of names and as many patterns, and their
 * product would stop every other session.
 */
#define ENV_WORK_MAX (UINT64_C(1) << 26)

const char *const env_base_default[] = {
    "PATH",
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME",
    "/tmp/home",
    "LANG",
    "C.UTF-8",
    "SHELL",
    "/bin/bash",
    "TMPDIR",
    "/tmp",
    NULL,
};

const char *const env_scrub_default[] = {
    "KEY",
    "KEYS",
    "APIKEY",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "PRIVATE",
    "AWS_*",
    "OPENAI_*",
    "CODEX_API*",
    "CODEX_ACCESS*",
    "GITHUB_*",
    "SSH_AUTH_SOCK",
    "*_DSN",
    "DATABASE_URL",
    "*APIKEY*",
    "*PASSWORD*",
    NULL,
};

/* What the server's own clients authenticate with. */
const char *const env_never[] = {
    "CODEX_API_KEY",
    "OPENAI_API_KEY",
    "CODEX_ACCESS_TOKEN",
    NULL,
};

static const char *const core[] = {
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USER",
    NULL,
};

/* ignoreDefaultExcludes, when false. */
static const char *const default_excludes[] = {
    "*KEY*",
    "*SECRET*",
    "*TOKEN*",
    NULL,
};

struct entry {
	struct bytes name; /* up to a '=' in it */
	struct bytes rest; /* of the name: from its '=' on, else empty */
	struct bytes value;
	size_t order; /* a higher one wins */
};

/* The work in progress. */
struct draft {
	const struct env_config *config;
	const struct env_request *request;
	struct entry *entries; /* heap, owned */
	size_t count;
	struct entry *losers; /* heap, owned: what the scrub list took */
	size_t loser_count;
	uint64_t work; /* steps of comparing so far */
};

/* Of ASCII alone: the locale has no say in what a name is. */
static uint8_t
fold(uint8_t c)
{
	return c >= 'a' && c <= 'z' ? (uint8_t)(c - 'a' + 'A') : c;
}

/*
 * After a mismatch only the last '*' is tried one character further: an
 * earlier one taking more could not help. So the steps are at most the product
 * of both lengths, and nothing recurses.
 */
static bool
match(struct bytes pattern, struct bytes name, uint64_t *work)
{
	size_t p = 0, n = 0, star = SIZE_MAX, resume = 0;

	*work += 1;
	while (n < name.len && *work <= ENV_WORK_MAX) {
		*work += 1;
		if (p < pattern.len && pattern.data[p] == '*') {
			star = p++;
			resume = n;
		} else if (p < pattern.len &&
			   (pattern.data[p] == '?' ||
			       fold(pattern.data[p]) == fold(name.data[n]))) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++resume;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.data[p] == '*')
		p++;
	return n == name.len && p == pattern.len;
}

bool
env_match(struct bytes pattern, struct bytes name)
{
	uint64_t work = 0;

	return match(pattern, name, &work);
}

/* The next string of a checked list. */
static bool
next(struct reader *r, struct bytes *out)
{
	return r->left > 0 && buf_get_string(r, out, SIZE_MAX);
}

static bool
match_list(struct draft *d, struct bytes list, struct bytes name)
{
	struct reader r;
	struct bytes pattern;

	reader_init(&r, list.data, list.len);
	while (d->work <= ENV_WORK_MAX && next(&r, &pattern))
		if (match(pattern, name, &d->work))
			return true;
	return false;
}

static bool
match_table(struct draft *d, const char *const *table, struct bytes name)
{
	for (; *table != NULL; table++)
		if (match(bytes_of(*table), name, &d->work))
			return true;
	return false;
}

static bool
has_any(struct bytes b, const char *chars)
{
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] != '\0' && strchr(chars, b.data[i]) != NULL)
			return true;
	return false;
}

/* Whether word is one of the parts of name split at '_'. */
static bool
match_word(struct draft *d, struct bytes word, struct bytes name)
{
	size_t start = 0;

	for (size_t i = 0; i <= name.len; i++) {
		struct bytes part;

		if (i < name.len && name.data[i] != '_')
			continue;
		part.data = name.data + start;
		part.len = i - start;
		start = i + 1;
		if (part.len == word.len && match(word, part, &d->work))
			return true;
	}
	d->work += name.len;
	return false;
}

static bool
is_scrubbed(struct draft *d, struct bytes name)
{
	struct reader r;
	struct bytes entry;

	if (match_table(d, env_never, name))
		return true;
	if (match_list(d, d->config->allow, name))
		return false;
	reader_init(&r, d->config->scrub.data, d->config->scrub.len);
	while (next(&r, &entry))
		if (has_any(entry, "*?_") ? match(entry, name, &d->work)
					  : match_word(d, entry, name))
			return true;
	return false;
}

/* Steps 1 to 3 and 5 of the protocol's algorithm, for a name of the base. */
static bool
is_inherited(struct draft *d, struct bytes name)
{
	const struct env_request *r = d->request;

	if (r->inherit == ENV_REQUEST_INHERIT_NONE)
		return false;
	if (r->inherit == ENV_REQUEST_INHERIT_CORE &&
	    !match_table(d, core, name))
		return false;
	if (!r->ignore_default_excludes &&
	    match_table(d, default_excludes, name))
		return false;
	return !match_list(d, r->exclude, name);
}

/* Step 5. */
static bool
is_included(struct draft *d, struct bytes name)
{
	return d->request->include_only.len == 0 ||
	       match_list(d, d->request->include_only, name);
}

/* Where a pair comes from decides what it has to pass. */
enum source { SOURCE_BASE, SOURCE_SET, SOURCE_ENV, SOURCE_ADDED };

static bool
is_wanted(struct draft *d, enum source source, struct bytes name)
{
	switch (source) {
	case SOURCE_BASE:
		return is_inherited(d, name) && is_included(d, name);
	case SOURCE_SET:
		return is_included(d, name);
	case SOURCE_ENV:
	case SOURCE_ADDED:
		return true;
	}
	return false;
}

/* Patterns of the client see the name as it was sent; the scrub list sees the
 * name that the child would. */
static void
draft_add(struct draft *d, enum source source, struct bytes pairs)
{
	struct reader r;
	struct bytes name, value;

	reader_init(&r, pairs.data, pairs.len);
	while (d->work <= ENV_WORK_MAX && next(&r, &name) && next(&r, &value)) {
		struct entry entry = {.name = name,
		    .value = value,
		    .order = d->count + d->loser_count};
		const uint8_t *eq;

		if (!is_wanted(d, source, name))
			continue;
		eq = name.len > 0 ? memchr(name.data, '=', name.len) : NULL;
		if (eq != NULL) {
			entry.name.len = (size_t)(eq - name.data);
			entry.rest.data = eq;
			entry.rest.len = name.len - entry.name.len;
		}
		if (source != SOURCE_ADDED && is_scrubbed(d, entry.name))
			d->losers[d->loser_count++] = entry;
		else
			d->entries[d->count++] = entry;
	}
}

static int
compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
	int r = len > 0 ? memcmp(a->name.data, b->name.data, len) : 0;

	if (r != 0)
		return r;
	if (a->name.len != b->name.len)
		return a->name.len < b->name.len ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static bool
is_last(const struct entry *all, size_t count, size_t i)
{
	return i + 1 == count || !bytes_equal(all[i].name, all[i + 1].name);
}

static int
put_entry(const struct entry *entry, struct buf *out)
{
	/* A '=' in the name is already one. */
	const struct bytes parts[] = {entry->name, entry->rest,
	    {.data = (const uint8_t *)"=", .len = 1}, entry->value};
	size_t len = 0;
	int r;

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		len += parts[i].len;
	r = len > UINT32_MAX ? -EMSGSIZE : buf_put_u32(out, (uint32_t)len);
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (r == 0)
			r = buf_put(out, parts[i].data, parts[i].len);
	return r;
}

static int
draft_put(struct draft *d, struct buf *out, struct buf *dropped)
{
	int r = 0;

	if (d->count > 0)
		qsort(d->entries, d->count, sizeof d->entries[0], compare);
	if (d->loser_count > 0)
		qsort(d->losers, d->loser_count, sizeof d->losers[0], compare);
	for (size_t i = 0; i < d->count && r == 0; i++)
		if (is_last(d->entries, d->count, i))
			r = put_entry(&d->entries[i], out);
	for (size_t i = 0; i < d->loser_count && r == 0; i++)
		if (is_last(d->losers, d->loser_count, i))
			r = buf_put_string(dropped, d->losers[i].name.data,
			    d->losers[i].name.len);
	return r;
}

/* Adds the number of strings to *count. */
static bool
check_list(struct bytes list, size_t max, bool pairs, size_t *count)
{
	struct reader r;
	struct bytes s;
	size_t n = 0;

	reader_init(&r, list.data, list.len);
	while (next(&r, &s)) {
		if (bytes_has_nul(s))
			return false;
		n++;
	}
	if (!buf_get_end(&r) || n > max || (pairs && n % 2 != 0))
		return false;
	*count += n;
	return true;
}

static int
check_all(const struct env_config *c, const struct env_request *r,
    size_t *pairs, struct err *e)
{
	const struct {
		struct bytes list;
		const char *name;
		bool pairs;
	} all[] = {
	    {c->base, "base", true},
	    {c->scrub, "scrub", false},
	    {c->allow, "allow", false},
	    {r->set, "set", true},
	    {r->env, "env", true},
	    {r->added, "added", true},
	    {r->exclude, "exclude", false},
	    {r->include_only, "includeOnly", false},
	};
	size_t patterns = 0;

	*pairs = 0;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (!check_list(all[i].list, 2 * PROCESS_ITEMS_MAX,
			all[i].pairs, all[i].pairs ? pairs : &patterns))
			return err_set(e, EINVAL,
			    "environment: %s is malformed", all[i].name);
	*pairs /= 2;
	return 0;
}

static int
draft_fill(struct draft *d, struct err *e)
{
	const struct env_request *r = d->request;

	if (r->has_policy) {
		draft_add(d, SOURCE_BASE, d->config->base);
		draft_add(d, SOURCE_SET, r->set);
	}
	draft_add(d, SOURCE_ENV, r->env);
	draft_add(d, SOURCE_ADDED, r->added);
	/* Comparing stopped at the limit: what it said does not count. */
	if (d->work > ENV_WORK_MAX)
		return err_set(e, E2BIG,
		    "environment: too many names and patterns");
	return 0;
}

int
env_decide(const struct env_config *c, const struct env_request *request,
    struct buf *out, struct buf *dropped, struct err *e)
{
	scoped_free struct entry *entries = NULL;
	scoped_free struct entry *losers = NULL;
	struct draft d = {.config = c, .request = request};
	size_t pairs, out_len = out->len, dropped_len = dropped->len;
	int r;

	r = check_all(c, request, &pairs, e);
	if (r < 0)
		return r;
	entries = calloc(pairs + 1, sizeof *entries);
	losers = calloc(pairs + 1, sizeof *losers);
	if (entries == NULL || losers == NULL)
		return err_set(e, ENOMEM, "environment: out of memory");
	d.entries = entries;
	d.losers = losers;
	r = draft_fill(&d, e);
	if (r < 0)
		return r;
	r = draft_put(&d, out, dropped);
	if (r < 0) {
		out->len = out_len;
		dropped->len = dropped_len;
		return err_set(e, -r, "environment: too large");
	}
	return 0;
}

int
env_list_put(const char *const *strings, struct buf *out)
{
	size_t start = out->len;
	int r = 0;

	for (; *strings != NULL && r == 0; strings++)
		r = buf_put_cstring(out, *strings);
	if (r < 0)
		out->len = start;
	return r;
}

int
env_config_pack(const struct env_config *c, struct buf *out)
{
	const struct bytes lists[] = {c->base, c->scrub, c->allow};
	size_t start = out->len;
	int r = 0;

	for (size_t i = 0; i < sizeof lists / sizeof lists[0] && r == 0; i++)
		r = buf_put_string(out, lists[i].data, lists[i].len);
	if (r < 0)
		out->len = start;
	return r;
}

static bool
check_base_names(struct bytes base)
{
	struct reader r;
	struct bytes name, value;

	reader_init(&r, base.data, base.len);
	while (next(&r, &name) && next(&r, &value))
		if (name.len == 0 || has_any(name, "="))
			return false;
	return true;
}

int
env_config_unpack(struct bytes packed, struct env_config *out, struct err *e)
{
	struct env_config c = {0};
	struct reader r;
	size_t count = 0;

	reader_init(&r, packed.data, packed.len);
	if (!buf_get_string(&r, &c.base, ENV_CONFIG_MAX) ||
	    !buf_get_string(&r, &c.scrub, ENV_CONFIG_MAX) ||
	    !buf_get_string(&r, &c.allow, ENV_CONFIG_MAX) || !buf_get_end(&r))
		return err_set(e, EPROTO, "env configuration: malformed");
	if (!check_list(c.base, 2 * ENV_PATTERNS_MAX, true, &count) ||
	    !check_list(c.scrub, ENV_PATTERNS_MAX, false, &count) ||
	    !check_list(c.allow, ENV_PATTERNS_MAX, false, &count) ||
	    !check_base_names(c.base))
		return err_set(e, EPROTO, "env configuration: a bad list");
	*out = c;
	return 0;
}
