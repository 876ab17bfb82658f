#include "exec/cgroup_place.h"

#include <errno.h>

#include <string.h>

#include "tests/unit/unit.h"

struct row {
	const char *groups, *mounts;
	const char *path[CGROUP_HIERARCHIES];
};

static FILE *
open_text(const char *text)
{
	/* An empty one cannot be opened. */
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(f);
	return f;
}

static int
parse(struct cgroup_places *p, const struct row *row)
{
	FILE *groups = open_text(row->groups), *mounts = open_text(row->mounts);
	int r = cgroup_places_parse(p, groups, mounts);

	(void)fclose(groups);
	(void)fclose(mounts);
	return r;
}

#define HYBRID                                                                 \
	"40 30 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"        \
	"41 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"    \
	"42 30 0:28 / /sys/fs/cgroup/pids rw shared:9 - cgroup c rw,pids\n"    \
	"43 30 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"

static const struct row rows[] = {
    /* Version 2 alone */
    {"0::/system.slice/x.service\n",
	"35 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsd\n",
	{[CGROUP_V2] = "/sys/fs/cgroup/system.slice/x.service"}},
    {"0::/\n", "35 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
	{[CGROUP_V2] = "/sys/fs/cgroup"}},
    /* Both, with the controllers in version 1 */
    {"9:name=systemd:/s\n8:pids:/p\n4:memory:/m/n\n1:cpu,cpuacct:/c\n0::/u\n",
	HYBRID,
	{[CGROUP_V1_MEMORY] = "/sys/fs/cgroup/memory/m/n",
	    [CGROUP_V1_PIDS] = "/sys/fs/cgroup/pids/p",
	    [CGROUP_V1_CPU] = "/sys/fs/cgroup/cpu/c",
	    [CGROUP_V2] = "/sys/fs/cgroup/unified/u"}},
    /* A controller in version 2, of which nothing is said in version 1 */
    {"4:memory:/m\n0::/u\n", HYBRID,
	{[CGROUP_V1_MEMORY] = "/sys/fs/cgroup/memory/m",
	    [CGROUP_V2] = "/sys/fs/cgroup/unified/u"}},
    /* Two controllers in one */
    {"4:memory,pids:/m\n", "41 30 0:27 / /g rw - cgroup g rw,pids,memory\n",
	{[CGROUP_V1_MEMORY] = "/g/m", [CGROUP_V1_PIDS] = "/g/m"}},
    /* A container: its own group is the root of what is mounted. */
    {"4:memory:/docker/1\n",
	"41 30 0:27 /docker/1 /sys/fs/cgroup/memory ro - cgroup c rw,memory\n",
	{[CGROUP_V1_MEMORY] = "/sys/fs/cgroup/memory"}},
    {"4:memory:/docker/1/x\n",
	"41 30 0:27 /docker/1 /sys/fs/cgroup/memory ro - cgroup c rw,memory\n",
	{[CGROUP_V1_MEMORY] = "/sys/fs/cgroup/memory/x"}},
    /* Another's group is mounted first, one that begins alike and a whole. */
    {"4:memory:/docker/12\n",
	"41 30 0:27 /docker/1 /a rw - cgroup c rw,memory\n"
	"42 30 0:27 / /b rw - cgroup c rw,memory\n",
	{[CGROUP_V1_MEMORY] = "/b/docker/12"}},
    /* Out of reach: above the root of a namespace */
    {"0::/../other\n", "35 24 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n", {0}},
    /* A controller's name is matched as a whole. */
    {"4:memory2:/m\n5:xpids:/p\n", HYBRID, {0}},
    /* What is no line of these tables */
    {"memory\n4:memory\n::\n", "1 2 3\n- cgroup2\na b c d e - cgroup2\n", {0}},
    {"0::/u\n", "40 30 0:26 / /m rw - tmpfs cgroup2 rw\n", {0}},
    {"0::/u", "40 30 0:26 / /m rw - cgroup2 c rw", {[CGROUP_V2] = "/m/u"}},
};

static void
our_groups_are_found_in_every_mixture(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct cgroup_places p;

		assert_int_equal(parse(&p, &rows[i]), 0);
		for (size_t h = 0; h < CGROUP_HIERARCHIES; h++) {
			const char *want = rows[i].path[h], *got = p.path[h];

			if (want == NULL
				? got != NULL
				: got == NULL || strcmp(want, got) != 0)
				fail_msg("row %zu, hierarchy %zu: %s", i, h,
				    got == NULL ? "none" : got);
		}
		cgroup_places_done(&p);
	}
}

static void
want_of_memory_is_told(void **state)
{
	int failures = 0;

	(void)state;
	for (unsigned int n = 1;; n++) {
		struct cgroup_places p;
		int r;

		alloc_fail_at(n);
		r = parse(&p, &rows[2]);
		cgroup_places_done(&p);
		if (!alloc_failed())
			break;
		failures += r == -ENOMEM;
	}
	alloc_fail_at(0);
	assert_true(failures >= CGROUP_HIERARCHIES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(our_groups_are_found_in_every_mixture),
	    cmocka_unit_test(want_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
