/* Totals and their files, in directories that stand for groups. */
#include "exec/cgroup_totals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "exec/cgroup.h"
#include "exec/cgroup_file.h"
#include "tests/unit/unit.h"

struct place {
	char path[32];
	int dir;
};

static void
place_make(struct place *p)
{
	(void)snprintf(p->path, sizeof p->path, "/tmp/cgroup-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->dir = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->dir >= 0);
}

static void
put(const struct place *p, const char *name, const char *text)
{
	scoped_fd fd = openat(p->dir, name,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
check(const struct place *p, const char *name, const char *want)
{
	char text[CGROUP_FILE_MAX];

	assert_int_equal(cgroup_file_read(p->dir, name, text), 0);
	assert_string_equal(text, want);
}

static const char *const names[] = {"memory.max", "memory.swap.max",
    "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "pids.max",
    "cpu.max", "cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.stat", "file"};

static void
place_remove(struct place *p)
{
	for (size_t i = 0; i < COUNT(names); i++)
		(void)unlinkat(p->dir, names[i], 0);
	(void)close(p->dir);
	assert_int_equal(rmdir(p->path), 0);
}

/* --- files -----------------------------------------------------------------
 */

static void
numbers_are_found_by_their_key(void **state)
{
	static const char text[] = "oom 1\noom_kill 23\nlast 7";
	uint64_t value = 0;

	(void)state;
	assert_true(cgroup_file_find(text, "oom_kill", &value));
	assert_int_equal(value, 23);
	assert_true(cgroup_file_find(text, "oom", &value));
	assert_int_equal(value, 1);
	assert_true(cgroup_file_find(text, "last", &value));
	assert_int_equal(value, 7);
	assert_false(cgroup_file_find(text, "oom_", &value));
	assert_false(cgroup_file_find(text, "kill", &value));
	assert_false(cgroup_file_find("", "oom", &value));
	assert_false(cgroup_file_find("max max\n", "max", &value));
	assert_false(
	    cgroup_file_find("max 99999999999999999999\n", "max", &value));
	assert_false(
	    cgroup_file_find("max 0000000000000000000000001\n", "max", &value));
}

static void
words_are_matched_as_a_whole(void **state)
{
	static const char text[] = "cpuset cpu io\nmemory pids\n";

	(void)state;
	assert_true(cgroup_file_has(text, "cpu"));
	assert_true(cgroup_file_has(text, "cpuset"));
	assert_true(cgroup_file_has(text, "pids"));
	assert_true(cgroup_file_has(text, "memory"));
	assert_false(cgroup_file_has(text, "mem"));
	assert_false(cgroup_file_has(text, "set"));
	assert_false(cgroup_file_has("", "cpu"));
}

static void
a_file_has_a_bound(void **state)
{
	char text[CGROUP_FILE_MAX + 1], out[CGROUP_FILE_MAX];
	struct place p;

	(void)state;
	place_make(&p);
	memset(text, 'x', sizeof text);
	text[CGROUP_FILE_MAX - 1] = '\0';
	put(&p, "file", text);
	assert_int_equal(cgroup_file_read(p.dir, "file", out), 0);
	assert_int_equal(strlen(out), CGROUP_FILE_MAX - 1);
	text[CGROUP_FILE_MAX - 1] = 'x';
	text[CGROUP_FILE_MAX] = '\0';
	put(&p, "file", text);
	assert_int_equal(cgroup_file_read(p.dir, "file", out), -EMSGSIZE);
	assert_int_equal(cgroup_file_read(p.dir, "none", out), -ENOENT);
	place_remove(&p);
}

/* What is behind the number that is written is as if the kernel had taken
 * another one. */
static void
a_limit_is_read_back(void **state)
{
	struct place p;

	(void)state;
	place_make(&p);
	put(&p, "pids.max", "");
	assert_int_equal(cgroup_file_limit(p.dir, "pids.max", 12), 0);
	check(&p, "pids.max", "12");
	put(&p, "pids.max", "max\n");
	assert_int_equal(cgroup_file_limit(p.dir, "pids.max", 12), -ERANGE);
	put(&p, "pids.max", "120");
	assert_int_equal(cgroup_file_limit(p.dir, "pids.max", 12), -ERANGE);
	assert_int_equal(cgroup_file_limit(p.dir, "none", 12), -ENOENT);
	assert_int_equal(cgroup_file_limit_if(p.dir, "none", 12), 0);
	assert_int_equal(cgroup_file_limit_if(p.dir, "pids.max", 12), -ERANGE);
	place_remove(&p);
}

/* --- totals ----------------------------------------------------------------
 */

static const struct cgroup_totals all = {.memory = 65536,
    .processes = 20,
    .cpu_percent = 150};

static void
totals_are_set_in_version_2(void **state)
{
	const struct cgroup_carriers c = {CGROUP_V2, CGROUP_V2, CGROUP_V2};
	int dir[CGROUP_HIERARCHIES] = {-1, -1, -1, -1};
	struct place p;

	(void)state;
	place_make(&p);
	dir[CGROUP_V2] = p.dir;
	assert_int_equal(cgroup_totals_set(&all, &c, dir), -ENOENT);
	put(&p, "memory.max", "");
	put(&p, "pids.max", "");
	put(&p, "cpu.max", "");
	/* Not every kernel counts swap. */
	assert_int_equal(cgroup_totals_set(&all, &c, dir), 0);
	put(&p, "memory.swap.max", "");
	assert_int_equal(cgroup_totals_set(&all, &c, dir), 0);
	check(&p, "memory.max", "65536");
	check(&p, "memory.swap.max", "0");
	check(&p, "pids.max", "20");
	check(&p, "cpu.max", "150000 100000");
	place_remove(&p);
}

static void
totals_are_set_in_version_1(void **state)
{
	const struct cgroup_carriers c = {CGROUP_V1_MEMORY, CGROUP_V1_PIDS,
	    CGROUP_V1_CPU};
	int dir[CGROUP_HIERARCHIES];
	struct place p[CGROUP_V2];

	(void)state;
	for (size_t h = 0; h < CGROUP_V2; h++) {
		place_make(&p[h]);
		dir[h] = p[h].dir;
	}
	dir[CGROUP_V2] = -1;
	put(&p[CGROUP_V1_MEMORY], "memory.limit_in_bytes", "");
	put(&p[CGROUP_V1_MEMORY], "memory.memsw.limit_in_bytes", "");
	put(&p[CGROUP_V1_PIDS], "pids.max", "");
	put(&p[CGROUP_V1_CPU], "cpu.cfs_period_us", "");
	put(&p[CGROUP_V1_CPU], "cpu.cfs_quota_us", "");
	assert_int_equal(cgroup_totals_set(&all, &c, dir), 0);
	check(&p[CGROUP_V1_MEMORY], "memory.limit_in_bytes", "65536");
	check(&p[CGROUP_V1_MEMORY], "memory.memsw.limit_in_bytes", "65536");
	check(&p[CGROUP_V1_PIDS], "pids.max", "20");
	check(&p[CGROUP_V1_CPU], "cpu.cfs_period_us", "100000");
	check(&p[CGROUP_V1_CPU], "cpu.cfs_quota_us", "150000");
	for (size_t h = 0; h < CGROUP_V2; h++)
		place_remove(&p[h]);
}

static void
carriers_are_where_the_controllers_are(void **state)
{
	static char v1[] = "/memory", v2[] = "/unified";
	const struct cgroup_totals memory = {.memory = 1}, none = {0};
	struct cgroup_places p = {.path = {[CGROUP_V2] = v2}};
	struct cgroup_carriers c;
	bool use[CGROUP_HIERARCHIES] = {false};
	char words[CGROUP_WORDS_MAX];

	(void)state;
	assert_int_equal(cgroup_carriers_choose(&c, &p, &all, &none, use), 0);
	assert_true(use[CGROUP_V2] && !use[CGROUP_V1_MEMORY]);
	cgroup_totals_words(&all, &none, &c, words);
	assert_string_equal(words, "+memory +pids +cpu");
	cgroup_totals_words(&none, &memory, &c, words);
	assert_string_equal(words, "+memory");
	p.path[CGROUP_V1_MEMORY] = v1;
	assert_int_equal(cgroup_carriers_choose(&c, &p, &all, &none, use), 0);
	assert_true(use[CGROUP_V1_MEMORY]);
	cgroup_totals_words(&all, &none, &c, words);
	assert_string_equal(words, "+pids +cpu");
	/* Two that are mounted as one. */
	p.path[CGROUP_V1_PIDS] = v1;
	assert_int_equal(cgroup_carriers_choose(&c, &p, &all, &none, use), 0);
	assert_int_equal(c.processes, CGROUP_V1_MEMORY);
	p.path[CGROUP_V2] = NULL;
	assert_int_equal(cgroup_carriers_choose(&c, &p, &all, &none, use),
	    -EOPNOTSUPP);
	assert_int_equal(cgroup_carriers_choose(&c, &p, &memory, &none, use),
	    0);
}

static void
groups_are_wanted_for_totals_alone(void **state)
{
	struct limits l;

	(void)state;
	limits_init(&l);
	assert_false(cgroup_wanted(&l));
	l.child_memory = 1;
	l.child_wall_time = 1;
	assert_false(cgroup_wanted(&l));
	l.child_processes_total = 1;
	assert_true(cgroup_wanted(&l));
	l.child_processes_total = 0;
	l.session_cpu_percent = 1;
	assert_true(cgroup_wanted(&l));
}

static void
cpu_time_that_cannot_be_read_is_not_zero(void **state)
{
	struct place p;
	struct cgroup g;
	uint64_t ms = 7;

	(void)state;
	place_make(&p);
	cgroup_init(&g);
	assert_int_equal(cgroup_cpu_time_ms(&g, &ms), -EBADF);
	g.dir[CGROUP_V2] = p.dir;
	assert_int_equal(cgroup_cpu_time_ms(&g, &ms), -ENOENT);
	put(&p, "cpu.stat", "user_usec 1000\n");
	assert_int_equal(cgroup_cpu_time_ms(&g, &ms), -ENODATA);
	assert_int_equal(ms, 7);
	put(&p, "cpu.stat", "usage_usec 5999\nuser_usec 1000\n");
	assert_int_equal(cgroup_cpu_time_ms(&g, &ms), 0);
	assert_int_equal(ms, 5);
	place_remove(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_found_by_their_key),
	    cmocka_unit_test(words_are_matched_as_a_whole),
	    cmocka_unit_test(a_file_has_a_bound),
	    cmocka_unit_test(a_limit_is_read_back),
	    cmocka_unit_test(totals_are_set_in_version_2),
	    cmocka_unit_test(totals_are_set_in_version_1),
	    cmocka_unit_test(carriers_are_where_the_controllers_are),
	    cmocka_unit_test(groups_are_wanted_for_totals_alone),
	    cmocka_unit_test(cpu_time_that_cannot_be_read_is_not_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
