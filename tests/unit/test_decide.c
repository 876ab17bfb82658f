/*
 * Requests under ceilings. A profile is written as words WHAT=ACCESS:
 *
 *   WHAT    an absolute path, g:PATTERN, root, min, cwd, tmpdir, slash,
 *           unknown, roots or roots/SUBPATH
 *   ACCESS  n none, r read, w write, d deny; with a '?' what is missing is
 *           skipped
 */
#include "policy/decide.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/unit.h"

#define WORDS_MAX 64

/* --- the language of the tables ------------------------------------------- */

struct words {
	struct profile_entry entries[WORDS_MAX];
	size_t count;
	char text[4096];
};

static enum plan_access
access_of(char c)
{
	static const char letters[] = "nrwd";
	const char *at = strchr(letters, c);

	if (at == NULL || c == '\0')
		fail_msg("access %c", c);
	return (enum plan_access)(at - letters);
}

static struct profile_entry
entry_of(char *word)
{
	static const struct {
		const char *name;
		enum profile_path path;
	} names[] = {
	    {"root", PROFILE_ROOT},
	    {"min", PROFILE_MINIMAL},
	    {"cwd", PROFILE_CWD},
	    {"tmpdir", PROFILE_TMPDIR},
	    {"slash", PROFILE_SLASH_TMP},
	    {"unknown", PROFILE_UNKNOWN},
	    {"roots", PROFILE_PROJECT_ROOTS},
	};
	char *equals = strrchr(word, '=');
	struct profile_entry entry = {0};

	assert_non_null(equals);
	entry.access = (enum profile_access)(access_of(equals[1]) - PLAN_READ);
	entry.skip_missing = equals[2] == '?';
	*equals = '\0';
	if (word[0] == '/') {
		entry.path = PROFILE_PATH;
		entry.text = bytes_of(word);
		return entry;
	}
	if (strncmp(word, "g:", 2) == 0) {
		entry.path = PROFILE_GLOB;
		entry.text = bytes_of(word + 2);
		return entry;
	}
	if (strncmp(word, "roots/", 6) == 0) {
		entry.path = PROFILE_PROJECT_ROOTS;
		entry.text = bytes_of(word + 6);
		return entry;
	}
	for (size_t i = 0; i < COUNT(names); i++) {
		if (strcmp(word, names[i].name) != 0)
			continue;
		entry.path = names[i].path;
		return entry;
	}
	fail_msg("word %s", word);
	return entry;
}

static void
parse(struct words *w, const char *text)
{
	char *save = NULL;

	*w = (struct words){0};
	assert_true(strlen(text) < sizeof w->text);
	(void)strcpy(w->text, text);
	for (char *word = strtok_r(w->text, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		assert_true(w->count < WORDS_MAX);
		w->entries[w->count++] = entry_of(word);
	}
}

/* Ceilings: two workspaces, one with a file of the server in it. */
static const struct decide_ceiling *
ceiling_of(enum decide_preset preset, bool network,
    struct decide_ceiling *ceiling, struct plan_path paths[PLAN_PATHS_MAX])
{
	static const char *const workspaces[] = {"/ws", "/home/u/proj"};
	static const char *const read_only[] = {"/ws/server"};

	decide_ceiling_of(preset, network,
	    &(struct decide_places){.workspaces = workspaces,
		.workspace_count = 2,
		.read_only = read_only,
		.read_only_count = 1},
	    paths, ceiling);
	return ceiling;
}

static const struct bytes one_root[] = {
    {(const uint8_t *)"/ws", 3},
};
static const struct bytes two_roots[] = {
    {(const uint8_t *)"/ws", 3},
    {(const uint8_t *)"/home/u/proj", 12},
};

static struct decide_request
request_of(const struct words *w)
{
	return (struct decide_request){.sandbox = DECIDE_SANDBOX_RESTRICTED,
	    .entries = w->entries,
	    .entry_count = w->count,
	    .names = {.cwd = bytes_of("/ws"),
		.roots = one_root,
		.root_count = 1,
		.tmpdir = bytes_of("/tmp")}};
}

/* --- what the real client sends ------------------------------------------- */

#define READ_ONLY	"root=r"
#define HOLES		" roots/.git=r? roots/.agents=r? roots/.codex=r? roots/.aws=r?"
#define WORKSPACE_WRITE "root=r roots=w slash=w tmpdir=w" HOLES
#define NO_SLASH_TMP	"root=r roots=w" HOLES
#define PROXY		"roots=w root=r"

#define WORKSPACE DECIDE_PRESET_WORKSPACE
#define STRICT	  DECIDE_PRESET_STRICT
#define OPEN	  DECIDE_PRESET_OPEN

/* --- access --------------------------------------------------------------- */

/* Each PATH=ACCESS of want is a row of its own. */
static const struct {
	enum decide_preset preset;
	const char *entries; /* NULL: no sandbox object */
	const char *want;
} rows[] = {
    {WORKSPACE, NULL,
	"/=r /etc/passwd=r /ws=w /ws/a=w /ws/.git=w /ws/server=r "
	"/ws/server/x=r /wsx=r /home/u=r /home/u/proj=w /tmp=w /tmp/home=w "
	"/dev/shm=w"},
    {STRICT, NULL,
	"/=n /etc=n /etc/passwd=r /etc/shadow=n /usr/bin/sh=r /bin=r /lib=r "
	"/lib64=r /home=n /ws=w /ws/.git=w /ws/server=r /tmp/x=w /dev/shm=w "
	"/opt=n"},
    {OPEN, NULL, "/=w /etc/shadow=w /ws=w /home=w /tmp=w"},
    {WORKSPACE, READ_ONLY,
	"/=r /etc/passwd=r /ws=r /ws/a=r /ws/.git=r /ws/server=r /tmp=r "
	"/tmp/home=r /dev/shm=r /home/u/proj/x=r"},
    {STRICT, READ_ONLY,
	"/=n /usr=r /etc/ssl/certs=r /etc/shadow=n /ws=r /ws/a=r /tmp=r "
	"/dev/shm=r /home=n"},
    {OPEN, READ_ONLY, "/=r /etc/shadow=r /ws=r /tmp=r /dev/shm=r"},
    {WORKSPACE, WORKSPACE_WRITE,
	"/=r /etc=r /ws=w /ws/a/b=w /ws/.git=r /ws/.git/hooks=r /ws/.gitx=w "
	"/ws/.agents=r /ws/.codex/x=r /ws/.aws=r /ws/sub/.git=w /ws/server=r "
	"/tmp=w /tmp/a=w /dev/shm=w /home/u/proj=r /home/u/proj/.git=r "
	"/var/tmp=r"},
    {STRICT, WORKSPACE_WRITE,
	"/=n /usr=r /opt=n /ws=w /ws/.git=r /ws/server=r /tmp=w /home/u/proj=r "
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
    {STRICT, "/home=w", "/home=n /home/u=n /home/u/proj=w"},
    /* no more than the ceiling */
    {WORKSPACE, "root=w", "/=r /etc=r /ws=w /tmp=w /ws/server=r /dev/shm=w"},
    {WORKSPACE, "/etc=w", "/etc=r /etc/passwd=r /ws=n"},
    {WORKSPACE, "/ws/server=w", "/ws/server=r /ws/server/x=r"},
    {WORKSPACE, "/home=w", "/home=r /home/u=r /home/u/proj=w /home/v=r"},
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
    {WORKSPACE, "min=r cwd=w", "/usr=r /ws=w /ws/a=w /home=n"},
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
	"/home/u/proj/.env=r"},
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
		parse(&w, rows[i].entries);
		q = request_of(&w);
	}
	if (decide(&q, ceiling_of(rows[i].preset, false, &ceiling, paths),
		&plan, &e) < 0)
		fail_msg("%s: %s", rows[i].entries, e.text);
	(void)strcpy(want, rows[i].want);
	for (char *path = strtok_r(want, " ", &save); path != NULL;
	     path = strtok_r(NULL, " ", &save), n++) {
		char *equals = strrchr(path, '=');

		*equals = '\0';
		if (plan_access(&plan, bytes_of(path)).access !=
		    access_of(equals[1]))
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
	parse(&w, WORKSPACE_WRITE);
	q = request_of(&w);
	(void)ceiling_of(WORKSPACE, false, &ceiling, paths);
	q.names.roots = two_roots;
	q.names.root_count = 2;
	assert_int_equal(decide(&q, &ceiling, &plan, &e), 0);
	assert_int_equal(plan_access(&plan, bytes_of("/home/u/proj/a")).access,
	    PLAN_WRITE);
	assert_int_equal(
	    plan_access(&plan, bytes_of("/home/u/proj/.git")).access,
	    PLAN_READ);
	assert_int_equal(plan_access(&plan, bytes_of("/ws")).access,
	    PLAN_WRITE);
	plan_done(&plan);
	q.names.roots = NULL;
	q.names.root_count = 0;
	q.names.cwd = bytes_of("/home/u/proj");
	assert_int_equal(decide(&q, &ceiling, &plan, &e), 0);
	assert_int_equal(plan_access(&plan, bytes_of("/home/u/proj/a")).access,
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
	(void)ceiling_of(WORKSPACE, false, &ceiling, paths);
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct decide_request q;
		struct words w;
		struct err e = {0};

		parse(&w, refused[i].entries);
		q = request_of(&w);
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
	(void)ceiling_of(WORKSPACE, false, &ceiling, paths);
	for (size_t i = 0; i < COUNT(entries); i++) {
		struct decide_request q;
		struct plan plan;
		struct words w;
		struct err e = {0};

		parse(&w, entries[i]);
		q = request_of(&w);
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
	(void)ceiling_of(WORKSPACE, true, &ceiling, paths);
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
	(void)ceiling_of(WORKSPACE, false, &ceiling, paths);
	q.entry_count = SANDBOX_RULES_MAX / SANDBOX_ROOTS_MAX;
	assert_int_equal(decide(&q, &ceiling, &plan, &e), 0);
	plan_done(&plan);
	q.entry_count++;
	assert_int_equal(decide(&q, &ceiling, &plan, &e), -E2BIG);
}

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

		parse(&w, plans[i].entries == NULL ? "" : plans[i].entries);
		q = request_of(&w);
		q.sandbox = plans[i].sandbox;
		q.network_enabled = plans[i].network;
		(void)ceiling_of(plans[i].preset, plans[i].ceiling_network,
		    &ceiling, paths);
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
};

static const struct plan_path *
find_path(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->path_count; i++)
		if (strcmp(plan->paths[i].path, path) == 0)
			return &plan->paths[i];
	return NULL;
}

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

		parse(&w, marked[i].entries);
		q = request_of(&w);
		(void)ceiling_of(marked[i].preset, false, &ceiling, paths);
		if (decide(&q, &ceiling, &plan, &e) < 0)
			fail_msg("row %zu: %s", i, e.text);
		p = find_path(&plan, marked[i].path);
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
	parse(&w, "root=r roots=w g:a/**/*.env=d");
	q = request_of(&w);
	q.glob_scan_max_depth = 3;
	(void)ceiling_of(WORKSPACE, false, &ceiling, paths);
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
	parse(&w, WORKSPACE_WRITE " g:**/*.env=d min=r");
	q = request_of(&w);
	(void)ceiling_of(STRICT, false, &ceiling, paths);
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

		if (find_path(plan, above) != NULL)
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
	for (unsigned int round = 0; round < 1500; round++)
		check_random(round, universe, count, &seed, tally);
	for (size_t i = 0; i < COUNT(tally); i++)
		assert_true(tally[i] > 1000);
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
	    cmocka_unit_test(the_rest_of_a_plan_follows_the_table),
	    cmocka_unit_test(what_is_to_be_done_about_a_path_follows_the_table),
	    cmocka_unit_test(globs_become_orders),
	    cmocka_unit_test(nothing_leaks_when_memory_runs_out),
	    cmocka_unit_test(access_is_the_lesser_of_request_and_ceiling),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
