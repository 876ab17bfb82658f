/* What a plan says besides access. */
#include "policy/decide.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/decide_words.h"

/* --- the rest of a plan --------------------------------------------------- */

static const struct {
	enum decide_preset preset;
	bool ceiling_network;
	enum decide_sandbox sandbox;
	bool network;
	const char *entries;
	enum plan_view view;
	enum plan_unix_sockets sockets;
	const char *facts; /* n enabled, N narrowed, t told, o own view, r never
			      root */
} plans[] = {
    {WORKSPACE, false, DECIDE_SANDBOX_NULL, false, NULL, PLAN_VIEW_HOST,
	PLAN_UNIX_PRIVATE, ""},
    {WORKSPACE, true, DECIDE_SANDBOX_NULL, false, NULL, PLAN_VIEW_HOST,
	PLAN_UNIX_PRIVATE, "n"},
    {STRICT, false, DECIDE_SANDBOX_NULL, false, NULL, PLAN_VIEW_MINIMAL,
	PLAN_UNIX_DENY, ""},
    {OPEN, true, DECIDE_SANDBOX_NULL, false, NULL, PLAN_VIEW_OPEN,
	PLAN_UNIX_HOST, "n"},
    {WORKSPACE, false, DECIDE_SANDBOX_DISABLED, true, NULL, PLAN_VIEW_HOST,
	PLAN_UNIX_PRIVATE, "Nt"},
    {WORKSPACE, true, DECIDE_SANDBOX_DISABLED, true, NULL, PLAN_VIEW_HOST,
	PLAN_UNIX_PRIVATE, "n"},
    {WORKSPACE, false, DECIDE_SANDBOX_EXTERNAL, true, NULL, PLAN_VIEW_HOST,
	PLAN_UNIX_PRIVATE, "Nt"},
    {WORKSPACE, false, DECIDE_SANDBOX_EXTERNAL, false, NULL, PLAN_VIEW_HOST,
	PLAN_UNIX_PRIVATE, "tr"},
    {WORKSPACE, true, DECIDE_SANDBOX_EXTERNAL, false, NULL, PLAN_VIEW_HOST,
	PLAN_UNIX_PRIVATE, "tr"},
    {OPEN, true, DECIDE_SANDBOX_EXTERNAL, true, NULL, PLAN_VIEW_OPEN,
	PLAN_UNIX_HOST, "n"},
    {OPEN, true, DECIDE_SANDBOX_UNRESTRICTED, false, NULL, PLAN_VIEW_OPEN,
	PLAN_UNIX_HOST, "tr"},
    {WORKSPACE, true, DECIDE_SANDBOX_UNRESTRICTED, true, NULL, PLAN_VIEW_HOST,
	PLAN_UNIX_PRIVATE, "n"},
    {WORKSPACE, false, DECIDE_SANDBOX_RESTRICTED, false, READ_ONLY,
	PLAN_VIEW_HOST, PLAN_UNIX_DENY, "tor"},
    {WORKSPACE, false, DECIDE_SANDBOX_RESTRICTED, false, WORKSPACE_WRITE,
	PLAN_VIEW_HOST, PLAN_UNIX_PRIVATE, "tor"},
    {WORKSPACE, true, DECIDE_SANDBOX_RESTRICTED, true, WORKSPACE_WRITE,
	PLAN_VIEW_HOST, PLAN_UNIX_PRIVATE, "nor"},
    {WORKSPACE, false, DECIDE_SANDBOX_RESTRICTED, true, WORKSPACE_WRITE,
	PLAN_VIEW_HOST, PLAN_UNIX_PRIVATE, "Ntor"},
    {WORKSPACE, true, DECIDE_SANDBOX_RESTRICTED, false, WORKSPACE_WRITE,
	PLAN_VIEW_HOST, PLAN_UNIX_PRIVATE, "tor"},
    {STRICT, false, DECIDE_SANDBOX_RESTRICTED, false, WORKSPACE_WRITE,
	PLAN_VIEW_MINIMAL, PLAN_UNIX_DENY, "tor"},
    {STRICT, false, DECIDE_SANDBOX_RESTRICTED, false, READ_ONLY,
	PLAN_VIEW_MINIMAL, PLAN_UNIX_DENY, "tor"},
    {OPEN, true, DECIDE_SANDBOX_RESTRICTED, false, READ_ONLY, PLAN_VIEW_HOST,
	PLAN_UNIX_DENY, "tor"},
    {OPEN, true, DECIDE_SANDBOX_RESTRICTED, true, WORKSPACE_WRITE,
	PLAN_VIEW_HOST, PLAN_UNIX_PRIVATE, "nor"},
    {WORKSPACE, false, DECIDE_SANDBOX_RESTRICTED, false, "min=r cwd=w",
	PLAN_VIEW_MINIMAL, PLAN_UNIX_PRIVATE, "tor"},
    {WORKSPACE, false, DECIDE_SANDBOX_RESTRICTED, false, "min=r /etc/ssl=d",
	PLAN_VIEW_MINIMAL, PLAN_UNIX_DENY, "tor"},
    {WORKSPACE, false, DECIDE_SANDBOX_RESTRICTED, false, "cwd=w",
	PLAN_VIEW_EMPTY, PLAN_UNIX_PRIVATE, "tor"},
    {STRICT, false, DECIDE_SANDBOX_RESTRICTED, false, "/usr=r", PLAN_VIEW_EMPTY,
	PLAN_UNIX_DENY, "tor"},
    {WORKSPACE, false, DECIDE_SANDBOX_RESTRICTED, false, "root=d root=r",
	PLAN_VIEW_EMPTY, PLAN_UNIX_DENY, "tor"},
    {WORKSPACE, false, DECIDE_SANDBOX_RESTRICTED, false, "root=r root=d",
	PLAN_VIEW_EMPTY, PLAN_UNIX_DENY, "tor"},
    {STRICT, false, DECIDE_SANDBOX_RESTRICTED, false, "root=d /ws=r",
	PLAN_VIEW_MINIMAL, PLAN_UNIX_DENY, "tor"},
};

static void
facts_of(const struct plan *plan, char *out)
{
	if (plan->network_enabled)
		*out++ = 'n';
	if (plan->network_narrowed)
		*out++ = 'N';
	if (plan->tell_network_disabled)
		*out++ = 't';
	if (plan->own_view)
		*out++ = 'o';
	if (plan->never_root)
		*out++ = 'r';
	*out = '\0';
}

static void
the_rest_of_a_plan_follows_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(plans); i++) {
		struct plan_path paths[PLAN_PATHS_MAX];
		struct decide_ceiling ceiling;
		struct decide_request q;
		struct plan plan;
		struct words w;
		struct err e = {0};
		char facts[8];

		words_parse(&w,
		    plans[i].entries == NULL ? "" : plans[i].entries);
		q = words_request(&w);
		q.sandbox = plans[i].sandbox;
		q.network_enabled = plans[i].network;
		words_ceiling(plans[i].preset, plans[i].ceiling_network, paths,
		    &ceiling);
		if (decide(&q, &ceiling, &plan, &e) < 0)
			fail_msg("row %zu: %s", i, e.text);
		facts_of(&plan, facts);
		if (plan.view != plans[i].view ||
		    plan.unix_sockets != plans[i].sockets ||
		    strcmp(facts, plans[i].facts) != 0)
			fail_msg("row %zu: view %d sockets %d %s", i,
			    (int)plan.view, (int)plan.unix_sockets, facts);
		plan_done(&plan);
	}
}

/* The letters of a path: s its mask is searched, v it is in the view, p a
 * placeholder is made; and around. */
static const struct {
	enum decide_preset preset;
	const char *entries, *path, *marks;
	enum plan_access around;
} marked[] = {
    {WORKSPACE, WORKSPACE_WRITE, "/ws/.git", "p", PLAN_WRITE},
    {WORKSPACE, WORKSPACE_WRITE, "/ws/.agents", "p", PLAN_WRITE},
    {WORKSPACE, WORKSPACE_WRITE, "/ws/.codex", "p", PLAN_WRITE},
    {WORKSPACE, WORKSPACE_WRITE, "/ws/.aws", "", PLAN_WRITE},
    {WORKSPACE, WORKSPACE_WRITE, "/ws/server", "", PLAN_WRITE},
    {WORKSPACE, WORKSPACE_WRITE, "/ws", "", PLAN_READ},
    {WORKSPACE, "root=w /ws/.git=r?", "/ws/.git", "p", PLAN_WRITE},
    {WORKSPACE, "root=r roots=w roots/a/.git=r?", "/ws/a/.git", "", PLAN_WRITE},
    {WORKSPACE, "root=r roots=w /ws/a=w /ws/a/.git=d?", "/ws/a/.git", "p",
	PLAN_WRITE},
    {WORKSPACE, "root=r roots=w /ws/secret=d", "/ws/secret", "p", PLAN_WRITE},
    {WORKSPACE, "root=r roots=w /ws/secret=d?", "/ws/secret", "", PLAN_WRITE},
    {WORKSPACE, "root=r roots=w /etc/secret=d", "/etc/secret", "", PLAN_READ},
    {WORKSPACE, "root=r roots=r /ws/.git=r?", "/ws/.git", "", PLAN_READ},
    {WORKSPACE, "root=r roots=w /ws/.git=w?", "/ws/.git", "", PLAN_WRITE},
    {WORKSPACE, "root=r /ws=d /ws/pub=r", "/ws", "s", PLAN_READ},
    {WORKSPACE, "root=r /ws=d /ws/a=d /ws/a/pub=r", "/ws", "s", PLAN_READ},
    {WORKSPACE, "root=r /ws=d /ws/a=d /ws/b=r", "/ws/a", "", PLAN_DENY},
    {WORKSPACE, "root=r /ws=d", "/ws/server", "", PLAN_DENY},
    {STRICT, READ_ONLY, "/usr", "v", PLAN_NONE},
    {STRICT, WORKSPACE_WRITE, "/ws", "", PLAN_NONE},
    {WORKSPACE, "min=r", "/usr", "v", PLAN_NONE},
    {WORKSPACE, "min=r /usr=d", "/usr", "", PLAN_NONE},
    {WORKSPACE, "/usr=r", "/usr", "", PLAN_NONE},
    {OPEN, "min=w", "/usr", "", PLAN_NONE},
    {WORKSPACE, "root=r /proc=d", "/proc", "", PLAN_READ},
    {WORKSPACE, "min=r /proc=d", "/proc", "", PLAN_READ},
    {WORKSPACE, "/usr=r /proc/version=d", "/proc/version", "", PLAN_READ},
    {STRICT, "min=r /proc=d", "/proc", "", PLAN_READ},
    {STRICT, "min=r /dev=d /dev/zero=d", "/dev/zero", "", PLAN_DENY},
    {WORKSPACE, "min=r /dev=d /dev/null=r", "/dev", "s", PLAN_READ},
    {WORKSPACE, "min=r /opt=d", "/opt", "", PLAN_NONE},
};

static void
what_is_to_be_done_about_a_path_follows_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(marked); i++) {
		struct plan_path paths[PLAN_PATHS_MAX];
		struct decide_ceiling ceiling;
		const struct plan_path *p;
		struct decide_request q;
		struct plan plan;
		struct words w;
		struct err e = {0};
		char marks[4] = "";

		words_parse(&w, marked[i].entries);
		q = words_request(&w);
		words_ceiling(marked[i].preset, false, paths, &ceiling);
		if (decide(&q, &ceiling, &plan, &e) < 0)
			fail_msg("row %zu: %s", i, e.text);
		p = words_find(&plan, marked[i].path);
		if (p == NULL)
			fail_msg("row %zu: %s is not there", i, marked[i].path);
		(void)snprintf(marks, sizeof marks, "%s%s%s",
		    p->searched ? "s" : "", p->in_view ? "v" : "",
		    p->missing == PLAN_MISSING_PLACEHOLDER ? "p" : "");
		if (strcmp(marks, marked[i].marks) != 0 ||
		    p->around != marked[i].around)
			fail_msg("row %zu: %s has %s, around %d", i,
			    marked[i].path, marks, (int)p->around);
		plan_done(&plan);
	}
}

static void
globs_become_orders(void **state)
{
	struct plan_path paths[PLAN_PATHS_MAX];
	struct plan_answer answer;
	struct decide_ceiling ceiling;
	struct decide_request q;
	struct plan plan;
	struct words w;
	struct err e;

	(void)state;
	words_parse(&w, "root=r roots=w g:a/**/*.env=d");
	q = words_request(&w);
	q.glob_scan_max_depth = 3;
	words_ceiling(WORKSPACE, false, paths, &ceiling);
	assert_int_equal(decide(&q, &ceiling, &plan, &e), 0);
	assert_int_equal(plan.glob_count, 1);
	assert_true(bytes_is(plan.globs[0].pattern, "/ws/a/**/*.env"));
	assert_int_equal(plan.globs[0].base_len, 5);
	assert_int_equal(plan.globs[0].scan_depth, 3);
	answer = plan_access(&plan, bytes_of("/ws/a/b/x.env"));
	assert_ptr_equal(answer.glob, &plan.globs[0]);
	assert_string_equal(answer.path->path, "/ws");
	answer = plan_access(&plan, bytes_of("/ws/x.env"));
	assert_null(answer.glob);
	plan_done(&plan);
}

/* A request that denies count paths, or patterns if the name of each begins
 * with a star, that are size bytes each. */
static int
decide_many(size_t count, const char *name, int size, struct err *e)
{
	static struct profile_entry entries[PLAN_PLACEHOLDERS_MAX + 2];
	static char texts[PLAN_PLACEHOLDERS_MAX + 2][512];
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;
	struct plan plan = {.path_count = 77};
	struct decide_request q = {.sandbox = DECIDE_SANDBOX_RESTRICTED,
	    .entries = entries,
	    .entry_count = count + 1};
	int r;

	entries[0] = (struct profile_entry){.path = PROFILE_PATH,
	    .access = PROFILE_WRITE,
	    .text = bytes_of("/ws")};
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(texts[i], sizeof texts[i], "/ws/%s%0*zu", name,
		    size - 4 - (int)strlen(name), i);
		entries[i + 1] =
		    (struct profile_entry){.path = name[0] == '*'
						       ? PROFILE_GLOB
						       : PROFILE_PATH,
			.access = PROFILE_DENY,
			.text = bytes_of(texts[i])};
	}
	words_ceiling(WORKSPACE, false, paths, &ceiling);
	r = decide(&q, &ceiling, &plan, e);
	if (r == 0)
		plan_done(&plan);
	else
		assert_int_equal(plan.path_count, 77);
	return r;
}

static void
placeholders_are_bounded(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(decide_many(PLAN_PLACEHOLDERS_MAX, "p", 9, &e), 0);
	assert_int_equal(decide_many(PLAN_PLACEHOLDERS_MAX + 1, "p", 9, &e),
	    -E2BIG);
	assert_non_null(strstr(e.text, "257 protected paths"));
	assert_non_null(strstr(e.text, "at most 256"));
}

static void
patterns_are_bounded(void **state)
{
	const int most = SANDBOX_GLOB_BYTES_MAX / SANDBOX_GLOBS_MAX;
	struct err e = {0};

	(void)state;
	assert_int_equal(decide_many(SANDBOX_GLOBS_MAX, "*", 9, &e), 0);
	assert_int_equal(decide_many(SANDBOX_GLOBS_MAX + 1, "*", 9, &e),
	    -E2BIG);
	assert_non_null(strstr(e.text, "65 denied patterns, at most 64"));
	assert_int_equal(decide_many(SANDBOX_GLOBS_MAX, "*", most, &e), 0);
	assert_int_equal(decide_many(SANDBOX_GLOBS_MAX - 1, "*", most + 5, &e),
	    -E2BIG);
	assert_non_null(strstr(e.text, "16443 bytes in all, at most 16384"));
}

static void
nothing_leaks_when_memory_runs_out(void **state)
{
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;
	struct decide_request q;
	struct words w;
	unsigned int n = 0;
	int r = -ENOMEM;

	(void)state;
	words_parse(&w, WORKSPACE_WRITE " g:**/*.env=d min=r");
	q = words_request(&w);
	words_ceiling(STRICT, false, paths, &ceiling);
	while (r != 0) {
		struct plan plan = {.path_count = 77};
		struct err e = {0};

		alloc_fail_at(++n);
		r = decide(&q, &ceiling, &plan, &e);
		if (r == 0) {
			plan_done(&plan);
			continue;
		}
		assert_true(r == -ENOMEM && plan.path_count == 77);
	}
	alloc_fail_at(0);
	assert_true(n > 10);
}

static void
what_is_moved_is_shown_under_its_other_name(void **state)
{
	static const struct {
		const char *path, *shown;
	} rows[] = {{"/w", "/guest/at"}, {"/w/a/b", "/guest/at/a/b"},
	    {"/work", "/work"}, {"/", "/"}, {"/guest/at", "/guest/at"}};
	const struct plan still = {0};
	const struct plan plan = {.moved = "/w", .moved_as = "/guest/at"};
	/* What it is longer by there. */
	const size_t more = strlen("/guest/at") - strlen("/w");
	char out[PATH_LEN_MAX], longest[PATH_LEN_MAX] = "/w/";

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_string_equal(plan_shown(&plan, rows[i].path, out),
		    rows[i].shown);
		assert_ptr_equal(plan_shown(&still, rows[i].path, out),
		    rows[i].path);
	}
	memset(longest + 3, 'x', PATH_LEN_MAX - 1 - more - 3);
	assert_int_equal(strlen(plan_shown(&plan, longest, out)),
	    PATH_LEN_MAX - 1);
	longest[strlen(longest)] = 'x';
	assert_null(plan_shown(&plan, longest, out));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_rest_of_a_plan_follows_the_table),
	    cmocka_unit_test(what_is_to_be_done_about_a_path_follows_the_table),
	    cmocka_unit_test(globs_become_orders),
	    cmocka_unit_test(placeholders_are_bounded),
	    cmocka_unit_test(patterns_are_bounded),
	    cmocka_unit_test(what_is_moved_is_shown_under_its_other_name),
	    cmocka_unit_test(nothing_leaks_when_memory_runs_out),
	};

	return cmocka_run_group_tests_name("decide_plan", tests, NULL, NULL);
}
