/*
 * Version 2 hands controllers down: in this kernel, with any controller that it
 * has. Skipped where no group can be made.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "exec/cgroup_file.h"
#include "exec/cgroup_place.h"
#include "exec/cgroup_unified.h"
#include "exec/raw.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

struct place {
	int top, dir;
	char name[48], words[CGROUP_WORDS_MAX];
	bool changed; /* top hands it down because of us */
};

/* A group of ours, and a controller that it could hand down. */
static bool
place_make(struct place *p)
{
	struct cgroup_places places;
	char text[CGROUP_FILE_MAX] = "";
	int r = cgroup_places_read(&places);

	*p = (struct place){.top = -1, .dir = -1};
	if (r == 0 && places.path[CGROUP_V2] != NULL)
		p->top = open(places.path[CGROUP_V2], DIRECTORY);
	cgroup_places_done(&places);
	(void)snprintf(p->name, sizeof p->name, "sallyport-test-%d",
	    (int)getpid());
	if (p->top < 0 || mkdirat(p->top, p->name, 0700) < 0)
		return false;
	p->dir = openat(p->top, p->name, DIRECTORY);
	r = cgroup_file_read(p->top, "cgroup.controllers", text);
	text[strcspn(text, " \n")] = '\0';
	(void)snprintf(p->words, sizeof p->words, "+%.40s", text);
	if (r < 0 || text[0] == '\0' ||
	    cgroup_file_read(p->top, "cgroup.subtree_control", text) < 0)
		return false;
	if (cgroup_file_has(text, p->words + 1))
		return true;
	r = raw_write_file_at(p->top, "cgroup.subtree_control", p->words);
	p->changed = r == 0;
	return p->changed;
}

static void
place_remove(struct place *p)
{
	if (p->changed) {
		p->words[0] = '-';
		(void)!raw_write_file_at(p->top, "cgroup.subtree_control",
		    p->words);
	}
	(void)unlinkat(p->top, p->name, AT_REMOVEDIR);
	fd_close(&p->dir);
	fd_close(&p->top);
}

/* In the group of that directory, as a supervisor of which we are the exec. */
static int
as_exec(const struct place *p, struct cgroup_unified *u)
{
	cgroup_unified_init(u);
	return -cgroup_unified_enable(u, p->dir, p->words);
}

static int
alone(const struct place *p)
{
	char text[CGROUP_FILE_MAX];
	struct cgroup_unified u;
	int r = as_exec(p, &u);

	if (r != 0)
		return r;
	if (cgroup_file_read(p->dir, "cgroup.subtree_control", text) < 0 ||
	    !cgroup_file_has(text, p->words + 1))
		return 101;
	if (cgroup_file_read(p->dir, "cgroup.procs", text) < 0 || text[0] != 0)
		return 102;
	/* The next exec of this server. */
	r = as_exec(p, &u);
	if (r != 0)
		return r;
	cgroup_unified_restore(&u);
	if (cgroup_file_read(p->dir, "cgroup.subtree_control", text) < 0 ||
	    cgroup_file_has(text, p->words + 1))
		return 103;
	if (faccessat(p->dir, CGROUP_ROLES, F_OK, 0) == 0)
		return 104;
	return cgroup_file_read(p->dir, "cgroup.procs", text) < 0 ||
		       text[0] == '\0'
		   ? 105
		   : 0;
}

/* A third process is in the group. */
static int
crowded(const struct place *p)
{
	struct cgroup_unified u;
	int r = as_exec(p, &u);

	if (faccessat(p->dir, CGROUP_ROLES, F_OK, 0) == 0)
		return 106;
	return r;
}

/* A supervisor in the group, with company or not, and its exec. */
static int
run(const struct place *p, bool company, int (*body)(const struct place *p))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		pid_t other = -1, exec;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (raw_write_file_at(p->dir, "cgroup.procs", "0") < 0)
			_exit(100);
		if (company)
			other = fork();
		if (other == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)pause();
		}
		exec = fork();
		if (exec == 0)
			_exit(body(p));
		(void)waitpid(exec, &status, 0);
		if (other > 0) {
			(void)kill(other, SIGKILL);
			(void)waitpid(other, NULL, 0);
		}
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 107);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 108;
}

static void
check(bool company, int (*body)(const struct place *p), int want)
{
	struct place p;
	bool made = place_make(&p);
	int got = made ? run(&p, company, body) : want;

	place_remove(&p);
	if (!made) {
		print_message("# skip: no control group of version 2 with a "
			      "controller can be made here\n");
		skip();
	}
	assert_int_equal(got, want);
}

static void
our_processes_make_way_and_return(void **state)
{
	(void)state;
	check(false, alone, 0);
}

static void
a_group_with_others_is_left_as_it_was(void **state)
{
	(void)state;
	check(true, crowded, EBUSY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(our_processes_make_way_and_return),
	    cmocka_unit_test(a_group_with_others_is_left_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
