/* What requests get under ceilings, and what is refused. */
#include "policy/decide.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/decide_words.h"

static const struct bytes two_roots[] = {
    {(const uint8_t *)"/ws", 3},
    {(const uint8_t *)"/data/u/proj", 12},
};

/* --- access --------------------------------------------------------------- */

/* Each PATH=ACCESS of want is a row of its own. */
static const struct {
	enum decide_preset preset;
	const char *entries; /* NULL: no sandbox object */
	const char *want;
} rows[] = {
    {WORKSPACE, NULL,
	"/=r /etc/passwd=r /ws=w /ws/a=w /ws/.git=w /ws/server=r "
	"/ws/server/x=r /wsx=r /data/u=r /data/u/proj=w /tmp=w /tmp/home=w "
	"/dev/shm=w"},
    {STRICT, NULL,
	"/=n /etc=n /etc/passwd=r /etc/shadow=n /usr/bin/sh=r /bin=r /lib=r "
	"/lib64=r /data=n /ws=w /ws/.git=w /ws/server=r /tmp/x=w /dev/shm=w "
	"/opt=n"},
    {OPEN, NULL, "/=w /etc/shadow=w /ws=w /data=w /tmp=w"},
    {WORKSPACE, READ_ONLY,
	"/=r /etc/passwd=r /ws=r /ws/a=r /ws/.git=r /ws/server=r /tmp=r "
	"/tmp/home=r /dev/shm=r /data/u/proj/x=r"},
    {STRICT, READ_ONLY,
	"/=n /usr=r /etc/ssl/certs=r /etc/shadow=n /ws=r /ws/a=r /tmp=r "
	"/dev/shm=r /data=n"},
    {OPEN, READ_ONLY, "/=r /etc/shadow=r /ws=r /tmp=r /dev/shm=r"},
    {WORKSPACE, WORKSPACE_WRITE,
	"/=r /etc=r /ws=w /ws/a/b=w /ws/.git=r /ws/.git/hooks=r /ws/.gitx=w "
	"/ws/.agents=r /ws/.codex/x=r /ws/.aws=r /ws/sub/.git=w /ws/server=r "
	"/tmp=w /tmp/a=w /dev/shm=w /data/u/proj=r /data/u/proj/.git=r "
	"/var/tmp=r"},
    {STRICT, WORKSPACE_WRITE,
	"/=n /usr=r /opt=n /ws=w /ws/.git=r /ws/server=r /tmp=w /data/u/proj=r "
	"/dev/shm=w"},
    {OPEN, WORKSPACE_WRITE,
	"/=r /etc=r /ws=w /ws/.git/x=r /ws/server=r /tmp=w /var=r"},
    {WORKSPACE, NO_SLASH_TMP,
	"/ws=w /ws/.git=r /tmp=r /tmp/home=r /dev/shm=r /etc=r"},
    {WORKSPACE, PROXY, "/=r /ws=w /ws/.git=w /ws/server=r /tmp=r"},
    /* unlisted is not there */
    {WORKSPACE, "", "/=n /ws=n /usr=n /tmp=n"},
    {WORKSPACE, "/ws/a=r", "/=n /ws=n /ws/a=r /ws/a/b=r /ws/ab=n /tmp=n"},
    {WORKSPACE, "/ws/a=w", "/ws=n /ws/a=w /ws/a/b=w /ws/b=n"},
    {STRICT, "/etc=r", "/etc=n /etc/passwd=r /etc/shadow=n /etc/ssl/x=r"},
    {STRICT, "/etc/shadow=r", "/etc/shadow=n /etc/passwd=n"},
    {STRICT, "/data=w", "/data=n /data/u=n /data/u/proj=w"},
    /* no more than the ceiling */
    {WORKSPACE, "root=w", "/=r /etc=r /ws=w /tmp=w /ws/server=r /dev/shm=w"},
    {WORKSPACE, "/etc=w", "/etc=r /etc/passwd=r /ws=n"},
    {WORKSPACE, "/ws/server=w", "/ws/server=r /ws/server/x=r"},
    {WORKSPACE, "/data=w", "/data=r /data/u=r /data/u/proj=w /data/v=r"},
    {OPEN, "/srv=w", "/srv=w /srv/x=w /=n"},
    {OPEN, "root=w /etc=r", "/=w /etc=r /etc/x=r /srv=w"},
    /* the most specific decides */
    {WORKSPACE, "root=r /ws=w /ws/a=r /ws/a/b=w /ws/a/b/c=d",
	"/ws=w /ws/x=w /ws/a=r /ws/a/x=r /ws/a/b=w /ws/a/b/x=w /ws/a/b/c=d "
	"/ws/a/b/c/d=d"},
    {WORKSPACE, "/ws/a/b=w root=d /ws=r", "/=d /etc=d /ws=r /ws/a/b=w"},
    {WORKSPACE, "/ws=d /ws/pub=r root=r", "/ws=d /ws/x=d /ws/pub/x=r /etc=r"},
    /* among equals the stronger */
    {WORKSPACE, "/ws=r /ws=w", "/ws=w /ws/a=w"},
    {WORKSPACE, "/ws=w /ws=r", "/ws=w"},
    {WORKSPACE, "/ws=w /ws=d", "/ws=d /ws/a=d"},
    {WORKSPACE, "/ws=d /ws=w", "/ws=d"},
    {WORKSPACE, "/ws=d /ws=r", "/ws=d"},
    {WORKSPACE, "root=d root=r", "/=d /usr=d /ws=d"},
    {WORKSPACE, "root=r roots=w cwd=d", "/ws=d /etc=r"},
    /* special names */
    {WORKSPACE, "min=r", "/=n /usr=r /usr/lib=r /etc=n /etc/passwd=r /ws=n"},
    {WORKSPACE, "min=r cwd=w", "/usr=r /ws=w /ws/a=w /data=n"},
    {WORKSPACE, "min=w", "/usr=r /etc/ssl=r"},
    {STRICT, "min=r roots=w", "/usr=r /ws=w /ws/server=r /opt=n"},
    {WORKSPACE, "cwd=w", "/ws=w /=n"},
    {WORKSPACE, "roots/a/b=w", "/ws/a/b/c=w /ws/a=n"},
    {WORKSPACE, "slash=w", "/tmp=w /tmp/home=w /dev/shm/x=w /=n"},
    {WORKSPACE, "slash=r", "/tmp=r /dev/shm=r"},
    {WORKSPACE, "tmpdir=w", "/tmp=w /dev/shm=w"},
    {WORKSPACE, "root=r slash=d", "/tmp=d /tmp/home=d /dev/shm=d /etc=r"},
    {WORKSPACE, "unknown=w", "/=n /ws=n"},
    {WORKSPACE, "root=r unknown=r", "/=r /ws=r"},
    /* globs */
    {WORKSPACE, "root=r roots=w g:**/*.env=d",
	"/ws/.env=d /ws/a/b.env=d /ws/a/b.env/c=d /ws/env=w /etc/x.env=r "
	"/data/u/proj/.env=r"},
    {WORKSPACE, "root=r roots=w g:/**/*.env=d",
	"/etc/x.env=d /ws/.env=w /ws/a/.env=w"},
    {WORKSPACE, "root=r roots=w g:*.key=d", "/ws/a.key=d /ws/b/a.key=w"},
    {WORKSPACE, "root=r roots=w g:?x=d", "/ws/ax=d /ws/abx=w /ws/b/ax=w"},
    {WORKSPACE, "root=r roots=w g:[!a-c]=d", "/ws/a=w /ws/d=d /ws/dd=w"},
    {WORKSPACE, "root=r roots=w g:**/secret=d /ws/a/secret=w",
	"/ws/secret=d /ws/b/secret=d /ws/a/secret=w"},
    {WORKSPACE, "root=r roots=w g:**/*.d=d /ws/x.d/pub=r",
	"/ws/x.d=d /ws/x.d/y=d /ws/x.d/pub=r /ws/x.d/pub/z=r"},
    {WORKSPACE, "root=r roots=w g:a/*.env=d /ws/a=r",
	"/ws/a/x.env=d /ws/a/x=r /ws/b=w"},
    {WORKSPACE, "root=r roots=w g:sub/**=d", "/ws/sub=d /ws/sub/x=d /ws/s=w"},
    {WORKSPACE, "root=r roots=w g:sub/*=d", "/ws/sub=d /ws/sub/x=d"},
    {WORKSPACE, "root=r g:src/**=w", "/ws/src=w /ws/src/a/b=w /ws=r"},
    {WORKSPACE, "g:src/**/*=r", "/ws/src/a/b=r /ws=n"},
    {WORKSPACE, "g:/ws/plain=w", "/ws/plain=w /ws=n"},
    {WORKSPACE, "g:**=w", "/ws=w /ws/server=r /etc=n"},
    {WORKSPACE, "root=r roots=w g:../*.env=d", "/x.env=d /ws/.env=w"},
    {WORKSPACE, "root=r roots=w g:server/*.c=d",
	"/ws/server/a.c=d /ws/server/a.h=r"},
    {STRICT, "root=r roots=w g:**/*.env=d",
	"/ws/.env=d /usr/x.env=r /opt/.env=n"},
    {WORKSPACE, "g:**/*.env=d", "/ws/.env=n /ws=n"},
};

static size_t
check_row(size_t i)
{
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;
	struct plan plan;
	struct words w;
	struct decide_request q = {.sandbox = DECIDE_SANDBOX_NULL};
	struct err e = {0};
	char want[1024], *save = NULL;
	size_t n = 0;

	if (rows[i].entries != NULL) {
		words_parse(&w, rows[i].entries);
		q = words_request(&w);
	}
	words_ceiling(rows[i].preset, false, paths, &ceiling);
	if (decide(&q, &ceiling, &plan, &e) < 0)
		fail_msg("%s: %s", rows[i].entries, e.text);
	(void)strcpy(want, rows[i].want);
	for (char *path = strtok_r(want, " ", &save); path != NULL;
	     path = strtok_r(NULL, " ", &save), n++) {
		char *equals = strrchr(path, '=');

		*equals = '\0';
		if (plan_access(&plan, bytes_of(path)).access !=
		    words_access(equals[1]))
			fail_msg("preset %d, %s: %s is not %c",
			    (int)rows[i].preset,
			    rows[i].entries == NULL ? "(null)"
						    : rows[i].entries,
			    path, equals[1]);
	}
	plan_done(&plan);
	return n;
}

static void
access_follows_the_table(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		n += check_row(i);
	assert_true(n >= 150);
}

static void
project_roots_are_all_roots_or_the_cwd(void **state)
{
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;
	struct decide_request q;
	struct plan plan;
	struct words w;
	struct err e;

	(void)state;
	words_parse(&w, WORKSPACE_WRITE);
	q = words_request(&w);
	words_ceiling(WORKSPACE, false, paths, &ceiling);
	q.names.roots = two_roots;
	q.names.root_count = 2;
	assert_int_equal(decide(&q, &ceiling, &plan, &e), 0);
	assert_int_equal(plan_access(&plan, bytes_of("/data/u/proj/a")).access,
	    PLAN_WRITE);
	assert_int_equal(
	    plan_access(&plan, bytes_of("/data/u/proj/.git")).access,
	    PLAN_READ);
	assert_int_equal(plan_access(&plan, bytes_of("/ws")).access,
	    PLAN_WRITE);
	plan_done(&plan);
	q.names.roots = NULL;
	q.names.root_count = 0;
	q.names.cwd = bytes_of("/data/u/proj");
	assert_int_equal(decide(&q, &ceiling, &plan, &e), 0);
	assert_int_equal(plan_access(&plan, bytes_of("/data/u/proj/a")).access,
	    PLAN_WRITE);
	assert_int_equal(plan_access(&plan, bytes_of("/ws")).access, PLAN_READ);
	plan_done(&plan);
	q.names.roots = two_roots;
	assert_int_equal(decide(&q, &ceiling, &plan, &e), 0);
	assert_int_equal(plan_access(&plan, bytes_of("/ws")).access, PLAN_READ);
	plan_done(&plan);
}

/* --- refusals ------------------------------------------------------------- */

static const struct {
	const char *entries;
	int error;
	const char *part;
} refused[] = {
    {"root=r unknown=d", ENOTSUP, "unknown special path"},
    {"g:*.c=r", ENOTSUP, "can only deny"},
    {"g:**/*.c=w", ENOTSUP, "can only deny"},
    {"g:*=r", ENOTSUP, "can only deny"},
    {"/ws/../etc=w", EINVAL, "not canonical"},
    {"/ws/=w", EINVAL, "not canonical"},
    {"roots/../etc=w", EINVAL, "not canonical"},
    {"g:[=d", EINVAL, "malformed"},
    {"g:[z-a]=d", EINVAL, "malformed"},
    {"g:*/../x=d", EINVAL, ".. after a wildcard"},
};

static void
what_cannot_be_enforced_is_refused(void **state)
{
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;
	struct plan plan = {.path_count = 77};

	(void)state;
	words_ceiling(WORKSPACE, false, paths, &ceiling);
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct decide_request q;
		struct words w;
		struct err e = {0};

		words_parse(&w, refused[i].entries);
		q = words_request(&w);
		if (decide(&q, &ceiling, &plan, &e) != -refused[i].error ||
		    strstr(e.text, refused[i].part) == NULL)
			fail_msg("%s: %s", refused[i].entries, e.text);
		assert_int_equal(plan.path_count, 77);
	}
}

static void
names_that_need_a_cwd_are_refused_without(void **state)
{
	static const char *const entries[] = {"cwd=w", "roots=w", "roots/a=r",
	    "g:*.env=d"};
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;

	(void)state;
	words_ceiling(WORKSPACE, false, paths, &ceiling);
	for (size_t i = 0; i < COUNT(entries); i++) {
		struct decide_request q;
		struct plan plan;
		struct words w;
		struct err e = {0};

		words_parse(&w, entries[i]);
		q = words_request(&w);
		q.names.cwd = (struct bytes){0};
		q.names.roots = NULL;
		if (decide(&q, &ceiling, &plan, &e) != -EINVAL ||
		    strstr(e.text, "cwd") == NULL)
			fail_msg("%s: %s", entries[i], e.text);
	}
}

static void
managed_networks_are_refused_whatever_the_sandbox(void **state)
{
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;
	struct plan plan;

	(void)state;
	words_ceiling(WORKSPACE, true, paths, &ceiling);
	for (unsigned int kind = DECIDE_SANDBOX_NULL;
	     kind <= DECIDE_SANDBOX_RESTRICTED; kind++) {
		struct decide_request q = {.sandbox = (enum decide_sandbox)kind,
		    .managed_network = true};
		struct err e = {0};

		assert_int_equal(decide(&q, &ceiling, &plan, &e), -ENOTSUP);
		assert_string_equal(e.text,
		    "Codex managed network restrictions cannot be enforced by "
		    "the sandbox backend.");
		q.network_proxy = true;
		assert_int_equal(decide(&q, &ceiling, &plan, &e), -ENOTSUP);
		assert_string_equal(e.text,
		    "Codex sandbox exec-server network proxy launch is not "
		    "supported.");
	}
}

static void
the_number_of_rules_is_bounded(void **state)
{
	static struct profile_entry entries[SANDBOX_ENTRIES_MAX];
	static struct bytes roots[SANDBOX_ROOTS_MAX];
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;
	struct decide_request q = {.sandbox = DECIDE_SANDBOX_RESTRICTED,
	    .entries = entries,
	    .names = {.roots = roots,
		.root_count = SANDBOX_ROOTS_MAX,
		.tmpdir = bytes_of("/tmp")}};
	struct plan plan;
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < SANDBOX_ENTRIES_MAX; i++)
		entries[i] =
		    (struct profile_entry){.path = PROFILE_PROJECT_ROOTS};
	for (size_t i = 0; i < SANDBOX_ROOTS_MAX; i++)
		roots[i] = bytes_of("/ws");
	words_ceiling(WORKSPACE, false, paths, &ceiling);
	q.entry_count = SANDBOX_RULES_MAX / SANDBOX_ROOTS_MAX;
	assert_int_equal(decide(&q, &ceiling, &plan, &e), 0);
	plan_done(&plan);
	q.entry_count++;
	assert_int_equal(decide(&q, &ceiling, &plan, &e), -E2BIG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(access_follows_the_table),
	    cmocka_unit_test(project_roots_are_all_roots_or_the_cwd),
	    cmocka_unit_test(what_cannot_be_enforced_is_refused),
	    cmocka_unit_test(names_that_need_a_cwd_are_refused_without),
	    cmocka_unit_test(managed_networks_are_refused_whatever_the_sandbox),
	    cmocka_unit_test(the_number_of_rules_is_bounded),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
