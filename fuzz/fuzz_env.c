/*
 * Reaches env_decide, env_match, env_config_pack and env_config_unpack. The
 * input is a line of three bytes, inherit and two flags, and then lines that
 * begin with a letter of `lists` below, the rest being an item of that list;
 * in lists of pairs a name and a value with a tab between.
 *
 * Asserts that the environment is what a plain evaluation of protocol and
 * scrub list says, sorted and each name once; that a name is not both given
 * and dropped last; that a client's credentials are never in it; and that a
 * configuration that travels decides alike.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "policy/env.h"
#include "privsep/pack.h"

enum { BASE, SCRUB, ALLOW, EXCLUDE, SET, INCLUDE, ENV, ADDED, LISTS };
static const char lists[LISTS + 1] = "bsaxSie+";
static const bool is_pairs[LISTS] =
    {[BASE] = true, [SET] = true, [ENV] = true, [ADDED] = true};

#define ITEMS_MAX 256

struct scene {
	struct buf packed[LISTS];
	struct env_config config;
	struct env_request request;
};

static void
read_line(struct scene *s, struct bytes line)
{
	const char *at =
	    line.len > 0 ? memchr(lists, line.data[0], LISTS) : NULL;
	struct reader r;
	struct bytes name;
	size_t i;

	if (at == NULL)
		return;
	i = (size_t)(at - lists);
	reader_init(&r, line.data + 1, line.len - 1);
	name = is_pairs[i] ? fuzz_until(&r, '\t') : fuzz_rest(&r);
	assert(buf_put_string(&s->packed[i], name.data, name.len) == 0);
	name = fuzz_rest(&r);
	if (is_pairs[i])
		assert(buf_put_string(&s->packed[i], name.data, name.len) == 0);
}

static void
read_scene(struct scene *s, struct reader *r)
{
	struct bytes head = fuzz_until(r, '\n');

	for (size_t i = 0; i < LISTS; i++)
		buf_init(&s->packed[i], MIB);
	for (int i = 0; r->left > 0 && i < ITEMS_MAX; i++)
		read_line(s, fuzz_until(r, '\n'));
	s->config = (struct env_config){.base = fuzz_view(&s->packed[BASE]),
	    .scrub = fuzz_view(&s->packed[SCRUB]),
	    .allow = fuzz_view(&s->packed[ALLOW])};
	s->request =
	    (struct env_request){.inherit = head.len > 0 ? head.data[0] % 3 : 0,
		.has_policy = head.len > 1 && (head.data[1] & 1),
		.ignore_default_excludes = head.len > 2 && (head.data[2] & 1),
		.exclude = fuzz_view(&s->packed[EXCLUDE]),
		.set = fuzz_view(&s->packed[SET]),
		.include_only = fuzz_view(&s->packed[INCLUDE]),
		.env = fuzz_view(&s->packed[ENV]),
		.added = fuzz_view(&s->packed[ADDED])};
}

/* --- a plain evaluation ------------------------------------------------------
 */

static uint8_t
upper(uint8_t c)
{
	return c >= 'a' && c <= 'z' ? c & 0xdf : c;
}

/* By a row of which beginnings of name the pattern matches so far. */
static bool
model_match(struct bytes pattern, struct bytes name)
{
	bool row[4200] = {true};

	assert(name.len < sizeof row);
	for (size_t p = 0; p < pattern.len; p++) {
		uint8_t c = pattern.data[p];
		bool above = row[0];

		row[0] = row[0] && c == '*';
		for (size_t n = 1; n <= name.len; n++) {
			bool diagonal = above;

			above = row[n];
			if (c == '*')
				row[n] = row[n] || row[n - 1];
			else
				row[n] =
				    diagonal &&
				    (c == '?' ||
					upper(c) == upper(name.data[n - 1]));
		}
	}
	return row[name.len];
}

static bool
in_list(struct bytes list, struct bytes name)
{
	struct bytes pattern;
	struct reader r;

	reader_init(&r, list.data, list.len);
	while (strings_next(&r, &pattern))
		if (model_match(pattern, name))
			return true;
	return false;
}

static bool
in_words(const char *words, struct bytes name)
{
	struct reader r;

	reader_init(&r, words, strlen(words));
	while (r.left > 0)
		if (model_match(fuzz_until(&r, ' '), name))
			return true;
	return false;
}

static bool
model_scrubbed(const struct env_config *c, struct bytes name)
{
	struct bytes entry;
	struct reader r;

	if (in_words("CODEX_API_KEY OPENAI_API_KEY CODEX_ACCESS_TOKEN", name))
		return true;
	if (in_list(c->allow, name))
		return false;
	reader_init(&r, c->scrub.data, c->scrub.len);
	while (strings_next(&r, &entry)) {
		bool word = memchr(entry.data, '*', entry.len) == NULL &&
			    memchr(entry.data, '?', entry.len) == NULL &&
			    memchr(entry.data, '_', entry.len) == NULL;
		struct reader parts;

		if (!word && model_match(entry, name))
			return true;
		reader_init(&parts, name.data, name.len);
		while (word && parts.left > 0)
			if (model_match(entry, fuzz_until(&parts, '_')))
				return true;
		/* What is empty, or ends in '_', has an empty part as well. */
		if (word && entry.len == 0 &&
		    (name.len == 0 || name.data[name.len - 1] == '_'))
			return true;
	}
	return false;
}

static bool
model_wanted(const struct scene *s, size_t list, struct bytes name)
{
	const struct env_request *q = &s->request;
	bool included =
	    q->include_only.len == 0 || in_list(q->include_only, name);

	if (list == ENV || list == ADDED)
		return true;
	if (!q->has_policy || !included)
		return false;
	if (list == SET)
		return true;
	if (q->inherit == ENV_REQUEST_INHERIT_NONE)
		return false;
	if (q->inherit == ENV_REQUEST_INHERIT_CORE &&
	    !in_words("HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TEMP TMP "
		      "TMPDIR USER",
		name))
		return false;
	if (!q->ignore_default_excludes &&
	    in_words("*KEY* *SECRET* *TOKEN*", name))
		return false;
	return !in_list(q->exclude, name);
}

struct pair {
	struct bytes name, text; /* text: "NAME=VALUE", owned */
};

/* The last pair that a list gives a name, or that a later list does. */
static size_t
model(const struct scene *s, struct pair pairs[ITEMS_MAX])
{
	static const size_t order[] = {BASE, SET, ENV, ADDED};
	size_t n = 0;

	for (size_t i = 0; i < 4; i++) {
		const struct buf *list = &s->packed[order[i]];
		struct bytes name, value, key;
		struct reader r, k;
		struct buf text;
		size_t at = 0;

		reader_init(&r, list->data, list->len);
		while (strings_next(&r, &name) && strings_next(&r, &value)) {
			reader_init(&k, name.data, name.len);
			key = fuzz_until(&k, '=');
			if (!model_wanted(s, order[i], name) ||
			    (order[i] != ADDED &&
				model_scrubbed(&s->config, key)))
				continue;
			buf_init(&text, MIB);
			assert(buf_put(&text, name.data, name.len) == 0);
			assert(buf_put(&text, "=", 1) == 0);
			assert(buf_put(&text, value.data, value.len) == 0);
			for (at = 0; at < n; at++)
				if (bytes_equal(pairs[at].name, key))
					break;
			if (at < n)
				free((void *)(uintptr_t)pairs[at].text.data);
			else
				n++;
			pairs[at] = (struct pair){key, fuzz_view(&text)};
		}
	}
	return n;
}

static void
check_given(const struct scene *s, struct bytes out)
{
	struct pair pairs[ITEMS_MAX];
	size_t n = model(s, pairs), count = 0;
	struct bytes text, last = {0};
	struct reader r;

	reader_init(&r, out.data, out.len);
	while (strings_next(&r, &text)) {
		struct reader k;
		struct bytes key;
		size_t at = 0;

		reader_init(&k, text.data, text.len);
		key = fuzz_until(&k, '=');
		while (at < n && !bytes_equal(pairs[at].name, key))
			at++;
		assert(at < n && bytes_equal(pairs[at].text, text));
		if (count++ > 0) {
			size_t len = last.len < key.len ? last.len : key.len;
			int c = memcmp(last.data, key.data, len);

			assert(c < 0 || (c == 0 && last.len < key.len));
		}
		last = key;
	}
	assert(count == n);
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)pairs[i].text.data);
}

static void
check_travelled(const struct scene *s, const struct buf *out)
{
	struct env_config got;
	struct err e = {0};
	scoped_buf packed, again, dropped;

	buf_init(&packed, MIB);
	buf_init(&again, MIB);
	buf_init(&dropped, MIB);
	assert(env_config_pack(&s->config, &packed) == 0);
	if (env_config_unpack(fuzz_view(&packed), &got, &e) < 0) {
		assert(e.code == EPROTO && e.text[0] != '\0');
		return;
	}
	assert(env_decide(&got, &s->request, &again, &dropped, &e) == 0);
	assert(bytes_equal(fuzz_view(out), fuzz_view(&again)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene *s = calloc(1, sizeof *s);
	scoped_buf out, dropped;
	struct err e = {0};
	struct reader r;
	int rc;

	assert(s != NULL);
	buf_init(&out, MIB);
	buf_init(&dropped, MIB);
	reader_init(&r, data, size > FUZZ_LEN_MAX ? 0 : size);
	read_scene(s, &r);
	rc = env_decide(&s->config, &s->request, &out, &dropped, &e);
	if (rc == 0) {
		check_given(s, fuzz_view(&out));
		check_travelled(s, &out);
	} else {
		assert(rc == -EINVAL && e.text[0] != '\0');
		assert(out.len == 0 && dropped.len == 0);
	}
	for (size_t i = 0; i < LISTS; i++)
		buf_done(&s->packed[i]);
	free(s);
	return 0;
}
