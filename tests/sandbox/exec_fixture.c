#include "tests/sandbox/exec_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uid_t fixture_uid;
char fixture_workspace[64];
char fixture_place[64];

void
fixture_options(struct driver_opts *o)
{
	driver_opts_init(o, fixture_workspace);
	o->uid = fixture_uid;
}

int
fixture_begin_with(void **state, const struct driver_opts *o)
{
	struct fixture *f = calloc(1, sizeof *f);

	driver_process_init(&f->p);
	driver_open(&f->d, o);
	driver_session(&f->d, 1);
	*state = f;
	return 0;
}

int
fixture_begin(void **state)
{
	struct driver_opts o;

	fixture_options(&o);
	return fixture_begin_with(state, &o);
}

int
fixture_end(void **state)
{
	struct fixture *f = *state;

	driver_process_done(&f->p);
	driver_close(&f->d);
	free(f);
	return 0;
}

void
fixture_start(struct fixture *f, const struct driver_start *s)
{
	driver_process_done(&f->p);
	driver_send_start(&f->d, 1, s, &f->p);
	driver_wait_answer(&f->d, &f->p);
}

void
fixture_wait_dead(struct fixture *f)
{
	char data[256];
	int flags = fcntl(f->p.fds[1], F_GETFL);

	(void)fcntl(f->p.fds[1], F_SETFL, flags & ~O_NONBLOCK);
	(void)alarm(60);
	while (read(f->p.fds[1], data, sizeof data) > 0)
		;
	(void)alarm(0);
}

const char *
fixture_at(char path[FIXTURE_PATH_MAX], const char *name)
{
	(void)snprintf(path, FIXTURE_PATH_MAX, "%s%s", fixture_place, name);
	return path;
}

void
fixture_dir(const char *path, mode_t mode, uid_t owner)
{
	assert_true(mkdir(path, mode) == 0 || errno == EEXIST);
	assert_int_equal(chmod(path, mode), 0);
	assert_int_equal(chown(path, owner, owner), 0);
}

void
fixture_place_make(void)
{
	(void)snprintf(fixture_place, sizeof fixture_place,
	    "/var/lib/sallyport-test-XXXXXX");
	assert_non_null(mkdtemp(fixture_place));
	assert_int_equal(chmod(fixture_place, 0755), 0);
}

void
fixture_place_remove(void)
{
	char command[128];

	(void)snprintf(command, sizeof command, "rm -rf %s", fixture_place);
	(void)!system(command); /* NOLINT: a directory of our own */
}

static int
make_workspace(void)
{
	(void)snprintf(fixture_workspace, sizeof fixture_workspace,
	    "/tmp/sallyport-exec-XXXXXX");
	if (mkdtemp(fixture_workspace) == NULL ||
	    chmod(fixture_workspace, 0755) < 0)
		return -1;
	return fixture_uid == geteuid()
		   ? 0
		   : chown(fixture_workspace, fixture_uid, fixture_uid);
}

int
fixture_run(int argc, char **argv, const struct CMUnitTest *tests, size_t count)
{
	char command[128];
	int failed;

	fixture_uid = geteuid();
	if (argc > 1 && strcmp(argv[1], "user") == 0 && fixture_uid == 0)
		fixture_uid = DRIVER_USER;
	if (make_workspace() < 0)
		return 77;
	failed = _cmocka_run_group_tests("exec", tests, count, NULL, NULL);
	(void)snprintf(command, sizeof command, "rm -rf %s", fixture_workspace);
	(void)!system(command); /* NOLINT: a directory of our own */
	return failed;
}
