/* Random requests and ceilings against another evaluation. */
#include "policy/decide.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/decide_words.h"

/* --- against another evaluation ------------------------------------------- */

#define UNIVERSE_MAX 800
#define RULES_MAX    8

/* A rule as the reference below sees it. */
struct rule {
	char text[64];
	enum plan_access access;
	bool glob;
	regex_t regex;
	unsigned int depth;
};

struct layer {
	struct rule rules[RULES_MAX];
	size_t count;
};

static const char *const parts[] = {"a", "b", ".git", "a-"};

static size_t
make_universe(char universe[UNIVERSE_MAX][32])
{
	size_t n = 0, from = 0;

	(void)strcpy(universe[n++], "");
	for (unsigned int depth = 0; depth < 4; depth++) {
		size_t to = n;

		for (; from < to; from++)
			for (size_t i = 0; i < COUNT(parts); i++)
				(void)snprintf(universe[n++], 32, "%s/%s",
				    universe[from], parts[i]);
	}
	(void)strcpy(universe[0], "/");
	return n;
}

static unsigned int
slashes(const char *path, size_t len)
{
	unsigned int n = 0;

	for (size_t i = 0; i < len; i++)
		n += path[i] == '/';
	return n;
}

/* Some path of the universe, some pattern over it. */
static void
random_rule(struct rule *rule, bool globs, unsigned int *seed)
{
	static const char *const tails[] = {"/**/a", "/*b", "/?", "/**/.g*",
	    "/*/a", "/a*/**/b", "/[!a]", "/**/a/*b"};
	unsigned int depth = (unsigned int)rand_r(seed) % 4;

	*rule = (struct rule){0};
	rule->access = (enum plan_access)(1 + rand_r(seed) % 3);
	for (unsigned int i = 0; i < depth; i++) {
		(void)strcat(rule->text, "/");
		(void)strcat(rule->text,
		    parts[(size_t)rand_r(seed) % COUNT(parts)]);
	}
	rule->depth = depth;
	rule->glob = globs && rand_r(seed) % 3 == 0;
	if (rule->glob) {
		rule->access = PLAN_DENY;
		(void)strcat(rule->text,
		    tails[(size_t)rand_r(seed) % COUNT(tails)]);
		rule->depth = depth;
	} else if (depth == 0) {
		(void)strcpy(rule->text, "/");
	}
}

static void
compile_rule(struct rule *rule)
{
	char regex[256] = "^", *out = regex + 1;

	for (const char *at = rule->text; *at != '\0'; at++) {
		if (strncmp(at, "**/", 3) == 0) {
			out = stpcpy(out, "(.*/)?");
			at += 2;
		} else if (*at == '*') {
			out = stpcpy(out, "[^/]*");
		} else if (*at == '?') {
			out = stpcpy(out, "[^/]");
		} else if (strncmp(at, "[!a]", 4) == 0) {
			out = stpcpy(out, "[^a/]");
			at += 3;
		} else if (*at == '.') {
			out = stpcpy(out, "[.]");
		} else {
			*out++ = *at;
		}
	}
	(void)strcpy(out, strcmp(rule->text, "/") == 0 ? "" : "(/.*)?$");
	/* The directory of a/b*c ends before the wildcard's component. */
	if (rule->glob) {
		size_t len = strcspn(rule->text, "*?[");

		while (rule->text[len] != '/')
			len--;
		rule->depth = slashes(rule->text, len);
	}
	assert_int_equal(regcomp(&rule->regex, regex, REG_EXTENDED | REG_NOSUB),
	    0);
}

static enum plan_access
evaluate(const struct layer *layer, const char *path)
{
	enum plan_access best = PLAN_NONE;
	bool given = false;
	int depth = -1;

	for (size_t i = 0; i < layer->count; i++) {
		const struct rule *rule = &layer->rules[i];

		if (regexec(&rule->regex, path, 0, NULL, 0) != 0)
			continue;
		given |= !rule->glob;
		if ((int)rule->depth > depth ||
		    ((int)rule->depth == depth && rule->access > best))
			best = rule->access;
		if ((int)rule->depth > depth)
			depth = (int)rule->depth;
	}
	return given ? best : PLAN_NONE;
}

static enum plan_access
lesser(enum plan_access a, enum plan_access b)
{
	static const enum plan_access order[] = {PLAN_NONE, PLAN_DENY,
	    PLAN_READ, PLAN_WRITE};

	for (size_t i = 0; i < COUNT(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return PLAN_NONE;
}

static void
random_layer(struct layer *layer, bool globs, unsigned int *seed)
{
	layer->count = (size_t)rand_r(seed) % (RULES_MAX + 1);
	for (size_t i = 0; i < layer->count; i++) {
		random_rule(&layer->rules[i], globs, seed);
		compile_rule(&layer->rules[i]);
	}
}

static void
layer_done(struct layer *layer)
{
	for (size_t i = 0; i < layer->count; i++)
		regfree(&layer->rules[i].regex);
}

static void
plan_layers(const struct layer *client, const struct layer *top,
    struct plan *plan)
{
	struct plan_path paths[RULES_MAX] = {0};
	struct profile_entry entries[RULES_MAX] = {0};
	struct decide_ceiling ceiling = {.view = PLAN_VIEW_HOST,
	    .paths = paths,
	    .path_count = top->count};
	struct decide_request q = {.sandbox = DECIDE_SANDBOX_RESTRICTED,
	    .entries = entries,
	    .entry_count = client->count,
	    .names = {.tmpdir = bytes_of("/tmp")}};
	struct err e = {0};

	for (size_t i = 0; i < top->count; i++)
		paths[i] = (struct plan_path){.path = top->rules[i].text,
		    .access = top->rules[i].access};
	for (size_t i = 0; i < client->count; i++)
		entries[i] =
		    (struct profile_entry){.path = client->rules[i].glob
						       ? PROFILE_GLOB
						       : PROFILE_PATH,
			.access = (enum profile_access)(
			    client->rules[i].access - PLAN_READ),
			.text = bytes_of(client->rules[i].text)};
	if (decide(&q, &ceiling, plan, &e) < 0)
		fail_msg("%s", e.text);
}

/* What mounts give, made as the plan says: its paths in order, and of each glob
 * those of the universe that it denies. */
static enum plan_access
mounted(const struct plan *plan, const char *path)
{
	char above[32];
	enum plan_access access = plan_access(plan, bytes_of(path)).access;

	/* Nothing below what a glob masks is reached, unless it is a mount of
	 * the plan's own or lies in one. */
	(void)strcpy(above, path);
	for (char *slash = strrchr(above, '/'); slash != NULL && slash > above;
	     slash = strrchr(above, '/')) {
		struct plan_answer a;

		if (words_find(plan, above) != NULL)
			break;
		*slash = '\0';
		a = plan_access(plan, bytes_of(above));
		if (a.glob != NULL && access != PLAN_NONE)
			return PLAN_DENY;
	}
	return access;
}

static void
check_random(unsigned int round, char universe[UNIVERSE_MAX][32], size_t count,
    unsigned int *seed, size_t tally[4])
{
	struct layer client, top;
	struct plan plan;

	random_layer(&client, true, seed);
	random_layer(&top, false, seed);
	plan_layers(&client, &top, &plan);
	for (size_t i = 0; i < count; i++) {
		const char *path = universe[i];
		enum plan_access c = evaluate(&client, path);
		enum plan_access t = evaluate(&top, path);
		enum plan_access got =
		    plan_access(&plan, bytes_of(path)).access;

		tally[got]++;
		if (got != lesser(c, t) || mounted(&plan, path) != got)
			fail_msg("round %u: %s is %d, client %d, ceiling %d, "
				 "mounted %d",
			    round, path, (int)got, (int)c, (int)t,
			    (int)mounted(&plan, path));
		if (lesser(got, t) != got || lesser(got, c) != got)
			fail_msg("round %u: %s passes its ceiling", round,
			    path);
		if ((c == PLAN_DENY || t == PLAN_DENY) &&
		    (got == PLAN_READ || got == PLAN_WRITE))
			fail_msg("round %u: %s is not denied", round, path);
	}
	plan_done(&plan);
	layer_done(&client);
	layer_done(&top);
}

static void
access_is_the_lesser_of_request_and_ceiling(void **state)
{
	static char universe[UNIVERSE_MAX][32];
	size_t count = make_universe(universe), tally[4] = {0};
	unsigned int seed = 1;

	(void)state;
	for (unsigned int round = 0; round < 600; round++)
		check_random(round, universe, count, &seed, tally);
	for (size_t i = 0; i < COUNT(tally); i++)
		assert_true(tally[i] > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(access_is_the_lesser_of_request_and_ceiling),
	};

	return cmocka_run_group_tests_name("decide_random", tests, NULL, NULL);
}
