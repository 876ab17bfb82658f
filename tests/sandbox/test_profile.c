/* What a request that restricts files gets of them: each row is a profile, a
 * script that runs under it in the workspace, and what that prints. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sandbox/exec_fixture.h"

/* Shorter names for rows. */
#define ROOT(a)                                                                \
	{                                                                      \
		.path = SANDBOX_ROOT, .access = SANDBOX_##a                    \
	}
#define MINIMAL                                                                \
	{                                                                      \
		.path = SANDBOX_MINIMAL, .access = SANDBOX_READ                \
	}
#define SLASH_TMP(a)                                                           \
	{                                                                      \
		.path = SANDBOX_SLASH_TMP, .access = SANDBOX_##a               \
	}
#define WORK(a)                                                                \
	{                                                                      \
		.path = SANDBOX_PROJECT_ROOTS, .access = SANDBOX_##a           \
	}
/* Below the workspace; AT_SKIP: as clients name what may be missing. */
#define AT(a, t)                                                               \
	{                                                                      \
		.path = SANDBOX_PROJECT_ROOTS, .access = SANDBOX_##a,          \
		.text = (t)                                                    \
	}
#define AT_SKIP(a, t)                                                          \
	{                                                                      \
		.path = SANDBOX_PROJECT_ROOTS, .access = SANDBOX_##a,          \
		.text = (t), .skip_missing = true                              \
	}
#define PATH_AT(a, t)                                                          \
	{                                                                      \
		.path = SANDBOX_PATH, .access = SANDBOX_##a, .text = (t)       \
	}
#define GLOB(t)                                                                \
	{                                                                      \
		.path = SANDBOX_GLOB, .access = SANDBOX_DENY, .text = (t)      \
	}
/* What clients send for their mode workspace-write. */
#define WORKSPACE_WRITE                                                        \
	ROOT(READ), WORK(WRITE), SLASH_TMP(WRITE), AT_SKIP(READ, ".git"),      \
	    AT_SKIP(READ, ".agents"), AT_SKIP(READ, ".codex")

struct row {
	const char *name;
	const char *setup; /* run unrestricted before; may be NULL */
	struct driver_entry entries[10];
	const char *script;
	const char *out;
};

/* Whether a command that should fail does, as a word. */
#define TRY(command) "(" command ") 2>/dev/null && echo yes || echo no; "

static const struct row rows[] = {
    {"read-only", NULL, {ROOT(READ)},
	TRY("test -r /usr/bin/env") TRY("touch f") TRY("touch /tmp/f")
	    TRY("touch /dev/shm/f") TRY("echo x > /dev/null")
		TRY("echo 0 > /proc/self/oom_score_adj"),
	"yes\nno\nno\nno\nyes\nyes\n"},
    {"workspace-write", "mkdir -p d; touch d/old", {WORKSPACE_WRITE},
	TRY("touch d/new /tmp/f") TRY("rm d/old") TRY("touch /usr/f")
	    TRY("touch /dev/shm/f"),
	"yes\nyes\nno\nyes\n"},
    {"missing .git", NULL, {WORKSPACE_WRITE},
	TRY("mkdir -p .git/hooks") TRY("rmdir .git") TRY("mv .git x")
	    TRY("ln -s /tmp .codex") TRY("touch .agents"),
	"no\nno\nno\nno\nno\n"},
    {"present .git", "mkdir -p .git; echo h > .git/HEAD", {WORKSPACE_WRITE},
	TRY("cat .git/HEAD") TRY("echo x > .git/HEAD") TRY("mv .git y")
	    TRY("rm -r .git"),
	"h\nyes\nno\nno\nno\n"},
    {"a .git that is a file", "echo gitdir > .git", {WORKSPACE_WRITE},
	TRY("cat .git") TRY("echo x > .git") TRY("rm -f .git"),
	"gitdir\nyes\nno\nno\n"},
    {"a .git that is a link", "mkdir -p real; ln -s real .git",
	{WORKSPACE_WRITE},
	TRY("touch .git/x") TRY("ls .git/") TRY("rm .git") TRY("mv .git z")
	    TRY("touch real/x"),
	"no\nno\nno\nno\nyes\n"},
    {"a denied directory", "mkdir -p s/t; echo k > s/t/k",
	{ROOT(READ), WORK(WRITE), AT(DENY, "s")},
	TRY("ls s") TRY("cat s/t/k") TRY("mv s q") TRY("rm -r s")
	    TRY("chmod 755 s"),
	"no\nno\nno\nno\nno\n"},
    {"a denied file", "echo k > key",
	{ROOT(READ), WORK(WRITE), AT(DENY, "key")},
	TRY("cat key") TRY("rm -f key") TRY("ln key hard") TRY("chmod 644 key")
	    TRY("echo > key"),
	"no\nno\nno\nno\nno\n"},
    {"a denied path in directories that could be renamed",
	"mkdir -p a/b; echo k > a/b/k",
	{ROOT(READ), WORK(WRITE), AT(DENY, "a/b/k")},
	TRY("mv a c") TRY("mv a/b a/c") TRY("cat a/b/k") TRY("touch a/b/l a/m"),
	"no\nno\nno\nyes\n"},
    {"something allowed in what is denied",
	"mkdir -p s/t/u; echo k > s/k; echo u > s/t/u/u",
	{ROOT(READ), WORK(WRITE), AT(DENY, "s"), AT(READ, "s/t/u")},
	TRY("cat s/k") TRY("ls s") TRY("ls s/t") TRY("cat s/t/u/u")
	    TRY("touch s/t/u/v"),
	"no\nno\nno\nu\nyes\nno\n"},
    {"a denied directory that is a link", "mkdir -p r; ln -s r l; echo k > r/k",
	{ROOT(READ), WORK(WRITE), AT(DENY, "l")},
	TRY("cat l/k") TRY("rm l") TRY("cat r/k"), "no\nno\nk\nyes\n"},
    {"a denied path behind a link", "mkdir -p r; ln -s r l; echo k > r/k",
	{ROOT(READ), WORK(WRITE), AT(DENY, "l/k")},
	TRY("cat l/k") TRY("rm l") TRY("cat r/k"), "no\nno\nk\nyes\n"},
    {"a denied path in a directory that is closed for now",
	"mkdir -p c/d; echo k > c/d/k; chmod 0 c",
	{ROOT(READ), WORK(WRITE), AT(DENY, "c/d/k")},
	TRY("chmod 755 c; cat c/d/k"), "no\n"},
    {"a writable directory in what is read-only", "mkdir -p o; touch f",
	{ROOT(READ), AT(WRITE, "o")}, TRY("touch o/x") TRY("touch f"),
	"yes\nno\n"},
    {"a writable path that is a link", "mkdir -p t; touch t/f; ln -s t l",
	{ROOT(READ), AT(WRITE, "l")},
	TRY("touch l/f") TRY("touch t/f") TRY("ls l/f"), "no\nno\nl/f\nyes\n"},
    {"more than the ceiling", NULL,
	{ROOT(WRITE), PATH_AT(WRITE, "/usr"), PATH_AT(WRITE, "/etc")},
	TRY("touch /f") TRY("touch /usr/f") TRY("touch /etc/f") TRY("touch ok"),
	"no\nno\nno\nyes\n"},
    {"a pattern",
	"mkdir -p p/q.env; echo k > p/q.env/k; echo k > p/.env; echo k > p/a",
	{ROOT(READ), WORK(WRITE), GLOB("**/*.env")},
	TRY("cat p/.env") TRY("cat p/q.env/k") TRY("cat p/a")
	    TRY("mv p/.env p/b"),
	"no\nno\nk\nyes\nno\n"},
    {"a pattern and a link", "mkdir -p p; echo k > p/k; ln -s p/k x.env",
	{ROOT(READ), WORK(WRITE), GLOB("*.env")},
	TRY("cat x.env") TRY("cat p/k"), "no\nk\nyes\n"},
    {"a pattern and a directory that is closed for now",
	"mkdir -p c; echo k > c/k.env; chmod 0 c",
	{ROOT(READ), WORK(WRITE), GLOB("**/*.env")},
	TRY("chmod 755 c; cat c/k.env"), "no\n"},
    {"a denied path below two writable ones", "mkdir -p a/b; echo k > a/b/k",
	{ROOT(READ), WORK(WRITE), AT(WRITE, "a"), AT(DENY, "a/b")},
	TRY("cat a/b/k") TRY("mv a c") TRY("touch a/f"), "no\nno\nyes\n"},
    {"a pattern's directory that could be renamed",
	"mkdir -p p/q; echo k > p/q/x.env",
	{ROOT(READ), WORK(WRITE), GLOB("p/q/*.env")},
	TRY("mv p r") TRY("mv p/q p/r") TRY("cat p/q/x.env")
	    TRY("touch p/q/f p/g"),
	"no\nno\nno\nyes\n"},
    {"directories on the way to a match",
	"mkdir -p p/q/r p/s/t; echo k > p/q/r/key; echo k > p/key",
	{ROOT(READ), WORK(WRITE), GLOB("p/*/*/key"), GLOB("*/key")},
	TRY("mv p/q/r p/q/z") TRY("mv p/q p/z") TRY("mv p z")
	    TRY("mv p/s/t p/s/u && mv p/s p/v") TRY("cat p/key p/q/r/key"),
	"no\nno\nno\nyes\nno\n"},
    {"a match in a directory that is closed to others",
	"mkdir -p c/d; echo k > c/d/k.env; chmod 700 c c/d",
	{ROOT(READ), WORK(WRITE), GLOB("**/*.env")},
	TRY("cat c/d/k.env") TRY("mv c e") TRY("touch c/d/l"), "no\nno\nyes\n"},
    {"the minimal root", "echo k > k", {MINIMAL, WORK(READ)},
	TRY("cat k") TRY("touch f") TRY("test -e /tmp/home")
	    TRY("test -e /var -o -e /root -o -e /etc/shadow") TRY("ls /dev/shm")
		TRY("touch /f") TRY("echo x > /dev/null"),
	"k\nyes\nno\nno\nno\nno\nno\nyes\n"},
    {"nothing but what is listed", NULL,
	{MINIMAL, PATH_AT(DENY, "/usr/share"), PATH_AT(READ, "/proc"),
	    WORK(WRITE)},
	TRY("ls /usr/share") TRY("test -d /usr/bin") TRY("touch f")
	    TRY("test $(ls -d /proc/[0-9]* | wc -l) -lt 12"),
	"no\nyes\nyes\nyes\n"},
    {"a path in a directory that is closed to the child", NULL,
	{MINIMAL, PATH_AT(READ, "/root/.bashrc"), WORK(READ)},
	TRY("cat /root/.bashrc") TRY("ls /root/.bashrc"), "no\nno\n"},
    {"no /proc", NULL, {ROOT(READ), PATH_AT(DENY, "/proc"), WORK(WRITE)},
	TRY("ls /proc") TRY("cat /proc/self/maps") TRY("touch f"),
	"no\nno\nyes\n"},
    {"no /proc in the minimal root", NULL,
	{MINIMAL, PATH_AT(DENY, "/proc"), WORK(READ)},
	TRY("ls /proc") TRY("echo x > /dev/null"), "no\nyes\n"},
    {"one device of a denied /dev", NULL,
	{MINIMAL, PATH_AT(DENY, "/dev"), PATH_AT(READ, "/dev/null"),
	    WORK(WRITE)},
	TRY("echo x > /dev/null") "ls /dev/zero || echo no", "yes\nno\n"},
    {"a pattern in /dev of the minimal root", NULL,
	{MINIMAL, GLOB("/dev/z*"), WORK(WRITE)},
	TRY("head -c1 /dev/zero") TRY("echo x > /dev/null"), "no\nyes\n"},
    {"the scratch space of the session", "echo k > /tmp/k",
	{MINIMAL, SLASH_TMP(WRITE), WORK(READ)},
	TRY("cat /tmp/k") TRY("touch /tmp/f /dev/shm/f") TRY("touch f"),
	"k\nyes\nyes\nno\n"},
    {"switches of the host", NULL, {ROOT(READ), WORK(WRITE)},
	TRY("echo x > /proc/sys/kernel/core_pattern")
	    TRY("cat /proc/1/environ"),
	"no\nno\n"},
};

static size_t
count_entries(const struct row *row)
{
	size_t n = 0;

	while (n < COUNT(row->entries) &&
	       (row->entries[n].path != 0 || row->entries[n].text != NULL))
		n++;
	return n;
}

static void
start_row(struct fixture *f, const struct row *row)
{
	const struct driver_start s = {.argv = SH(row->script),
	    .cwd = fixture_workspace,
	    .sandbox = SANDBOX_RESTRICTED,
	    .entries = row->entries,
	    .entry_count = count_entries(row)};

	fixture_start(f, &s);
}

/* In the workspace, without restrictions. */
static void
run_free(struct fixture *f, const char *script)
{
	const struct driver_start s = {.argv = SH(script),
	    .cwd = fixture_workspace};

	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_int_equal(f->p.status, 0);
}

#define CLEAN                                                                  \
	"chmod -R u+rwx . 2>/dev/null; "                                       \
	"rm -rf ..?* .[!.]* * /tmp/k /tmp/f /dev/shm/*"

static void
every_row_prints_what_it_should(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		run_free(f, CLEAN);
		if (rows[i].setup != NULL)
			run_free(f, rows[i].setup);
		start_row(f, &rows[i]);
		driver_wait_gone(&f->d, &f->p);
		if (f->p.refused || f->p.failed ||
		    strcmp(f->p.out, rows[i].out) != 0)
			fail_msg("%s: want\n%sgot\n%s%s(stage %u errno %u)",
			    rows[i].name, rows[i].out, f->p.out, f->p.text,
			    f->p.stage, f->p.errnum);
	}
	run_free(f, CLEAN);
}

/* --- placeholders --------------------------------------------------------- */

static bool
exists(const char *name, struct stat *st)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", fixture_workspace, name);
	return lstat(path, st) == 0;
}

/* What is moved away in one start would be in the open in the next. */
static void
what_leads_to_a_match_stays_for_the_next_start(void **state)
{
	static const struct driver_entry entries[] = {ROOT(READ), WORK(WRITE),
	    GLOB("dir/*.env")};
	const struct row moves = {"", NULL,
	    {entries[0], entries[1], entries[2]}, "mv dir dir2; echo ok", ""};
	const struct row reads = {"", NULL,
	    {entries[0], entries[1], entries[2]},
	    "cat dir/k.env dir2/k.env; echo ok", ""};
	struct fixture *f = *state;

	run_free(f, CLEAN "; mkdir dir; echo k > dir/k.env");
	start_row(f, &moves);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "ok\n");
	start_row(f, &reads);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "ok\n");
	run_free(f, CLEAN);
}

/* Each pin that copied the mounts below it would double their number. */
static void
many_denied_files_of_one_directory_are_few_mounts(void **state)
{
	static const char *const names[] = {"a/b/1", "a/b/2", "a/b/3", "a/b/4",
	    "a/b/5", "a/b/6", "a/b/7"};
	struct row row = {"", NULL, {ROOT(READ), WORK(WRITE)},
	    "grep -c a/b /proc/self/mountinfo", ""};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(names); i++)
		row.entries[i + 2] = (struct driver_entry)AT(DENY, names[i]);
	run_free(f, CLEAN "; mkdir -p a/b; touch a/b/1 a/b/2 a/b/3 a/b/4 "
			  "a/b/5 a/b/6 a/b/7");
	start_row(f, &row);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "8\n");
	run_free(f, CLEAN);
}

/* Under rows of patterns, count times the same. */
static void
start_patterns(struct fixture *f, const char *pattern, size_t count)
{
	struct driver_entry entries[2 + SANDBOX_GLOBS_MAX] = {ROOT(READ),
	    WORK(WRITE)};
	const struct driver_start s = {.argv = SH("echo ok"),
	    .cwd = fixture_workspace,
	    .sandbox = SANDBOX_RESTRICTED,
	    .entries = entries,
	    .entry_count = count + 2};

	for (size_t i = 0; i < count; i++)
		entries[i + 2] = (struct driver_entry)GLOB(pattern);
	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
}

#define TO_64                                                                  \
	"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 "      \
	"25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 "      \
	"46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63"

/* Files are dear to make, other names of one are not. */
#define LINKS(count) "perl -e 'link \"a\", \"$_.env\" for 1.." #count "'"

static void
the_work_for_patterns_is_bounded(void **state)
{
	/* What makes as much as goes, and one more. */
	static const struct {
		const char *most, *more, *pattern;
		size_t count;
	} bounds[] = {
	    /* Levels, the workspace being the first. */
	    {"p=.; for i in " TO_64 "; do p=$p/d; done; mkdir -p $p",
		"mkdir $(find -name d | tail -1)/d", "**/*.env", 1},
	    /* Mounts. */
	    {"touch a; " LINKS(2048), "touch x.env", "*.env", 1},
	    /* Files. */
	    {"mkdir m; cd m; touch a; " LINKS(3124), "touch m/x", "m/*.txt",
		SANDBOX_GLOBS_MAX},
	};
	struct fixture *f = *state;

	assert_int_equal(3125 * SANDBOX_GLOBS_MAX, GLOB_ENTRIES_MAX);
	for (size_t i = 0; i < COUNT(bounds); i++) {
		run_free(f, CLEAN);
		run_free(f, bounds[i].most);
		start_patterns(f, bounds[i].pattern, bounds[i].count);
		assert_string_equal(f->p.out, "ok\n");
		run_free(f, bounds[i].more);
		start_patterns(f, bounds[i].pattern, bounds[i].count);
		assert_true(f->p.failed);
		assert_int_equal(f->p.stage, STAGE_GLOBS);
		assert_int_equal(f->p.errnum, E2BIG);
	}
	run_free(f, CLEAN);
}

static const struct row waiting = {"waiting", NULL, {WORKSPACE_WRITE},
    "echo go; sleep 1000", NULL};

static void
wait_without(const char *name)
{
	struct stat st;

	for (int i = 0; i < 6000 && exists(name, &st); i++)
		(void)usleep(10000);
	assert_false(exists(name, &st));
}

static void
a_placeholder_lasts_as_long_as_its_children(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	start_row(f, &waiting);
	driver_wait_output(&f->d, &f->p, "go");
	assert_true(exists(".git", &st) && S_ISDIR(st.st_mode));
	assert_int_equal(st.st_uid, fixture_uid);
	assert_true(exists(".codex", &st) && exists(".agents", &st));
	driver_session_close(&f->d, 1);
	wait_without(".git");
	wait_without(".codex");
	wait_without(".agents");
}

static void
a_placeholder_serves_all_sessions(void **state)
{
	struct fixture *f = *state;
	struct driver_process other;
	const struct driver_start s = {.argv = SH("echo go; sleep 1000"),
	    .cwd = fixture_workspace,
	    .sandbox = SANDBOX_RESTRICTED,
	    .entries = waiting.entries,
	    .entry_count = count_entries(&waiting)};
	struct stat st;

	start_row(f, &waiting);
	driver_wait_output(&f->d, &f->p, "go");
	driver_session(&f->d, 2);
	driver_send_start(&f->d, 2, &s, &other);
	driver_wait_output(&f->d, &other, "go");
	driver_session_close(&f->d, 1);
	fixture_wait_dead(f);
	(void)usleep(50000);
	assert_true(exists(".git", &st));
	driver_session_close(&f->d, 2);
	wait_without(".git");
	driver_process_done(&other);
}

static void
a_placeholder_that_was_filled_stays(void **state)
{
	struct fixture *f = *state;
	struct driver_process filler;
	const struct driver_start s = {
	    .argv = SH("test -d .git && mkdir .git/objects && echo ok"),
	    .cwd = fixture_workspace};
	struct stat st;

	start_row(f, &waiting);
	driver_wait_output(&f->d, &f->p, "go");
	driver_send_start(&f->d, 1, &s, &filler);
	driver_wait_gone(&f->d, &filler);
	assert_string_equal(filler.out, "ok\n");
	driver_process_done(&filler);
	driver_session_close(&f->d, 1);
	wait_without(".codex");
	assert_true(exists(".git/objects", &st));
	driver_session(&f->d, 2);
	driver_expect(&f->d, 2, "true", "");
}

static void
nothing_is_made_for_one_that_restricts_nothing(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	run_free(f, "rm -rf .git");
	run_free(f, "test ! -e .git && git init >/dev/null 2>&1");
	assert_true(exists(".git/HEAD", &st));
	run_free(f, "rm -rf .git");
}

/* --- words and ways ------------------------------------------------------- */

static void
refusals_have_their_reasons(void **state)
{
	static const struct row invalid = {"", NULL, {GLOB("[")}, "true", ""};
	static const struct row unknown = {"", NULL,
	    {{.path = SANDBOX_UNKNOWN, .access = SANDBOX_DENY}}, "true", ""};
	struct fixture *f = *state;

	start_row(f, &invalid);
	assert_true(f->p.refused);
	assert_int_equal(f->p.reason, REFUSE_INVALID);
	start_row(f, &unknown);
	assert_true(f->p.refused);
	assert_int_equal(f->p.reason, REFUSE_UNENFORCEABLE);
}

#define SOCKETS                                                                \
	"perl -MSocket -e 'print socket($s, AF_UNIX, SOCK_STREAM, 0) ? 1 : "   \
	"0, socketpair($a, $b, AF_UNIX, SOCK_STREAM, 0) ? 1 : 0, "             \
	"socket($s, AF_INET, SOCK_STREAM, 0) ? 1 : 0, "                        \
	"socketpair($a, $b, AF_UNIX, SOCK_DGRAM, 0) ? 1 : 0'"

static void
read_only_profiles_have_no_unix_sockets(void **state)
{
	static const struct row reads = {"", NULL, {ROOT(READ)}, SOCKETS, ""};
	static const struct row writes = {"", NULL, {ROOT(READ), WORK(WRITE)},
	    SOCKETS, ""};
	struct fixture *f = *state;

	start_row(f, &reads);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "0110");
	start_row(f, &writes);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "1111");
}

static void
a_network_that_is_asked_for_is_narrowed(void **state)
{
	static const struct driver_entry entries[] = {ROOT(READ)};
	const struct driver_start s = {
	    .argv = SH("echo $CODEX_SANDBOX_NETWORK_DISABLED; "
		       "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"),
	    .sandbox = SANDBOX_RESTRICTED,
	    .sandbox_network_enabled = true,
	    .entries = entries,
	    .entry_count = 1};
	struct fixture *f = *state;

	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "1\nlo\n");
	assert_non_null(strstr(f->d.audit, "network_narrowed"));
}

/* --- the preset open ------------------------------------------------------ */

static int
begin_open(void **state)
{
	struct driver_opts o;

	fixture_options(&o);
	o.preset = PRESET_OPEN;
	o.network = NETWORK_ENABLED;
	o.flags = EXEC_FLAG_ALLOW_ROOT;
	return fixture_begin_with(state, &o);
}

static void
under_open_nobody_who_is_restricted_is_root(void **state)
{
	static const struct row row = {"", NULL, {WORKSPACE_WRITE},
	    "grep -q '^ *0 *0 ' /proc/self/uid_map && echo root; "
	    "touch made; " TRY("touch /usr/x") TRY("echo > /dev/shm/t-$$ && "
						   "rm /dev/shm/t-$$")
		TRY("echo x > /proc/sys/kernel/core_pattern") "ls /run | wc -l",
	    ""};
	static const struct row reads = {"", NULL, {ROOT(READ)},
	    "test $(id -u) != 0; echo $?; " TRY("touch made"), ""};
	struct fixture *f = *state;
	struct stat st;

	start_row(f, &row);
	driver_wait_gone(&f->d, &f->p);
	assert_true(exists("made", &st));
	assert_int_equal(st.st_uid, fixture_uid);
	assert_null(strstr(f->p.out, "root"));
	assert_non_null(strstr(f->p.out, "no\nyes\nno\n"));
	start_row(f, &reads);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "0\nno\n");
	run_free(f, "rm -f made");
}

static void
under_open_a_network_can_be_refused(void **state)
{
	const struct driver_start s = {
	    .argv =
		SH("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; id -u"),
	    .sandbox = SANDBOX_EXTERNAL};
	struct fixture *f = *state;

	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_int_equal(strncmp(f->p.out, "lo\n", 3), 0);
	assert_string_not_equal(f->p.out, "lo\n0\n");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    FIXTURE(every_row_prints_what_it_should),
	    FIXTURE(what_leads_to_a_match_stays_for_the_next_start),
	    FIXTURE(many_denied_files_of_one_directory_are_few_mounts),
	    FIXTURE(the_work_for_patterns_is_bounded),
	    FIXTURE(a_placeholder_lasts_as_long_as_its_children),
	    FIXTURE(a_placeholder_serves_all_sessions),
	    FIXTURE(a_placeholder_that_was_filled_stays),
	    FIXTURE(nothing_is_made_for_one_that_restricts_nothing),
	    FIXTURE(refusals_have_their_reasons),
	    FIXTURE(read_only_profiles_have_no_unix_sockets),
	    FIXTURE(a_network_that_is_asked_for_is_narrowed),
	    FIXTURE_WITH(under_open_nobody_who_is_restricted_is_root,
		begin_open),
	    FIXTURE_WITH(under_open_a_network_can_be_refused, begin_open),
	};

	return fixture_main(argc, argv, tests);
}
