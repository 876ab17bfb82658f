#include "exec/placeholder.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* A plan of one path that gets a placeholder. */
static void
hold_one(struct placeholders *all, const char *path,
    struct placeholder_hold *hold)
{
	struct plan_path p = {.path = path,
	    .missing = PLAN_MISSING_PLACEHOLDER};
	const struct plan plan = {.paths = &p, .path_count = 1};

	assert_int_equal(placeholder_hold(all, &plan, hold), 0);
}

static bool
is_leaving(const struct placeholders *all, const char *path)
{
	struct plan_path p = {.path = path,
	    .missing = PLAN_MISSING_PLACEHOLDER};
	const struct plan plan = {.paths = &p, .path_count = 1};

	return placeholder_is_leaving(all, &plan);
}

static void
remove_and_wait(struct placeholders *all, const struct exec_config *c)
{
	int pidfd;

	assert_int_equal(placeholder_remove(all, c, &pidfd), 0);
	assert_int_equal(waitid(P_PIDFD, (id_t)pidfd, &(siginfo_t){0}, WEXITED),
	    0);
	(void)close(pidfd);
}

/* None of these exists, which is as good as removed. */
static void
one_file_system_is_cleared_at_a_time(void **state)
{
	static const char *const paths[] = {"/nowhere/a", "/nowhere/b",
	    "/nowhere/c"};
	struct placeholders all = LIST_HEAD_INITIALIZER(all);
	const struct exec_config c = {0};
	struct placeholder_hold holds[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct control made = {.type = CONTROL_MADE,
		    .b = (uint32_t)strlen(paths[i]),
		    .dev = i == 2 ? 2 : 1,
		    .ino = 3};

		hold_one(&all, paths[i], &holds[i]);
		placeholder_note(&holds[i], &made);
	}
	for (size_t i = 0; i < 3; i++)
		assert_true(placeholder_release(&holds[i]));
	remove_and_wait(&all, &c);
	assert_true(is_leaving(&all, paths[0]) == is_leaving(&all, paths[1]));
	assert_true(is_leaving(&all, paths[0]) != is_leaving(&all, paths[2]));
	assert_true(placeholder_removed(&all));
	remove_and_wait(&all, &c);
	assert_false(placeholder_removed(&all));
	assert_true(LIST_EMPTY(&all));
}

/* The list is gone through for each: no more than that are in one plan. */
static void
a_plan_of_the_most_is_held_and_let_go(void **state)
{
	static char paths[PLAN_PLACEHOLDERS_MAX][32];
	static struct plan_path rows[PLAN_PLACEHOLDERS_MAX];
	const struct plan plan = {.paths = rows,
	    .path_count = PLAN_PLACEHOLDERS_MAX};
	struct placeholders all = LIST_HEAD_INITIALIZER(all);
	struct placeholder_hold first, second;
	size_t n = 0;
	struct placeholder *p;

	(void)state;
	for (size_t i = 0; i < PLAN_PLACEHOLDERS_MAX; i++) {
		(void)snprintf(paths[i], sizeof paths[i], "/w/%zu", i);
		rows[i] = (struct plan_path){.path = paths[i],
		    .missing = PLAN_MISSING_PLACEHOLDER};
	}
	assert_int_equal(placeholder_hold(&all, &plan, &first), 0);
	assert_int_equal(placeholder_hold(&all, &plan, &second), 0);
	assert_int_equal(first.count, PLAN_PLACEHOLDERS_MAX);
	LIST_FOREACH (p, &all, link) {
		n++;
		assert_int_equal(p->users, 2);
	}
	assert_int_equal(n, PLAN_PLACEHOLDERS_MAX);
	assert_false(placeholder_release(&first));
	assert_false(placeholder_release(&second));
	assert_true(LIST_EMPTY(&all));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_file_system_is_cleared_at_a_time),
	    cmocka_unit_test(a_plan_of_the_most_is_held_and_let_go),
	};

	return cmocka_run_group_tests_name("placeholder", tests, NULL, NULL);
}
