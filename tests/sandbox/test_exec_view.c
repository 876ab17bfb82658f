/* What a session of sallyport-exec sees of the host, by preset and by who owns
 * the workspace. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox/exec_fixture.h"

/* A place that the view does not cover, unlike /tmp; root alone can make it. */
#define PLACE "/var/lib/sallyport-test"

static void
make_dir(const char *path, mode_t mode, uid_t owner)
{
	assert_true(mkdir(path, mode) == 0 || errno == EEXIST);
	assert_int_equal(chmod(path, mode), 0);
	assert_int_equal(chown(path, owner, owner), 0);
}

static int
begin_place(void **state)
{
	struct driver_opts o;

	if (geteuid() == 0) {
		make_dir(PLACE, 0755, 0);
		make_dir(PLACE "/closed", 0700, fixture_uid);
		make_dir(PLACE "/closed/work", 0755, fixture_uid);
	}
	fixture_options(&o);
	if (geteuid() == 0)
		o.workspaces[1] = PLACE "/closed/work";
	return fixture_begin_with(state, &o);
}

static int
end_place(void **state)
{
	int r = fixture_end(state);

	if (geteuid() == 0)
		(void)!system("rm -rf " PLACE); /* NOLINT: our own directory */
	return r;
}

static void
a_workspace_in_a_closed_directory_is_reached(void **state)
{
	struct fixture *f = *state;
	int fd;

	if (geteuid() != 0)
		skip();
	fd = open(PLACE "/closed/secret", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	(void)close(fd);
	driver_expect(&f->d, 1,
	    "cd " PLACE "/closed/work && echo x > f && cat f && ls ..",
	    fixture_uid == 0 ? "x\nwork\n" : "x\nsecret\nwork\n");
}

static void
a_socket_of_the_host_is_covered(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un un = {.sun_family = AF_UNIX,
	    .sun_path = PLACE "/socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (geteuid() != 0)
		skip();
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(chmod(un.sun_path, 0777), 0);
	driver_session(&f->d, 2);
	driver_expect(&f->d, 2,
	    "perl -MSocket -e 'socket($u, AF_UNIX, SOCK_STREAM, 0); print "
	    "connect($u, sockaddr_un(\"" PLACE "/socket\")) ? 1 : 0'",
	    "0");
	(void)close(fd);
}

static int
begin_preset(void **state, enum preset preset, enum network network)
{
	struct driver_opts o;

	fixture_options(&o);
	o.preset = preset;
	o.network = network;
	o.flags = EXEC_FLAG_ALLOW_ROOT;
	return fixture_begin_with(state, &o);
}

static int
begin_strict(void **state)
{
	return begin_preset(state, PRESET_STRICT, NETWORK_RESTRICTED);
}

static void
strict_shows_programs_and_workspaces_alone(void **state)
{
	struct fixture *f = *state;
	char script[256];

	driver_expect(&f->d, 1,
	    "ls -d /usr /bin /etc/passwd /tmp; test -e /etc/shadow || "
	    "test -e /root/.profile || test -e /var/lib/dpkg; echo $?",
	    "/bin\n/etc/passwd\n/tmp\n/usr\n1\n");
	(void)snprintf(script, sizeof script,
	    "cd %s && echo x > s && cat s; echo y 2>/dev/null > /x; "
	    "test -e /x; echo $?",
	    fixture_workspace);
	driver_expect(&f->d, 1, script, "x\n1\n");
}

static int
begin_open(void **state)
{
	return begin_preset(state, PRESET_OPEN, NETWORK_ENABLED);
}

static void
open_is_the_servers_own_user_and_files(void **state)
{
	struct fixture *f = *state;
	char out[32], script[128];

	(void)snprintf(out, sizeof out, "%u\n", fixture_uid);
	driver_expect(&f->d, 1, "id -u", out);
	(void)snprintf(script, sizeof script, "test -d %s && echo $$",
	    fixture_workspace);
	driver_expect(&f->d, 1, script, "2\n");
	driver_expect(&f->d, 1,
	    "(echo x > /proc/sys/kernel/core_pattern) 2>/dev/null; echo $?",
	    "2\n");
	driver_expect(&f->d, 1,
	    "grep -c CapEff:.0000000000000000 "
	    "/proc/self/status",
	    "1\n");
}

static void
open_has_terminals(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.tty = true,
	    .argv = SH("stty size; test -t 0 && echo tty")};

	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "24 80\r\ntty\r\n");
}

static int
begin_network(void **state)
{
	return begin_preset(state, PRESET_WORKSPACE, NETWORK_ENABLED);
}

static void
an_enabled_network_is_the_hosts(void **state)
{
	struct fixture *f = *state;
	struct driver_start s = {.argv = SH("true"),
	    .sandbox = SANDBOX_EXTERNAL};
	char ours[64] = "", script[128];

	assert_true(readlink("/proc/self/ns/net", ours, sizeof ours - 1) > 0);
	(void)snprintf(script, sizeof script,
	    "test $(readlink /proc/self/ns/net) = '%s'; echo $?", ours);
	driver_expect(&f->d, 1, script, "0\n");
	s.argv[2] = script;
	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "1\n");
	s.sandbox_network_enabled = true;
	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "0\n");
}

static int
begin_without_landlock(void **state)
{
	struct driver_opts o;

	fixture_options(&o);
	o.no_landlock = true;
	return fixture_begin_with(state, &o);
}

static void
without_landlock_the_mounts_hold(void **state)
{
	struct fixture *f = *state;
	char script[256];

	assert_non_null(strstr(f->d.probe, "landlock=0"));
	(void)snprintf(script, sizeof script,
	    "cd %s && echo x > l && cat l; echo y 2>/dev/null > /etc/l; "
	    "test -e /etc/l; echo $?; echo z > /tmp/l && cat /tmp/l",
	    fixture_workspace);
	driver_expect(&f->d, 1, script, "x\n1\nz\n");
}

/* --- a file system without id-mapped mounts ------------------------------ */

static void
mount_overlay(const char *dir, uid_t owner)
{
	char options[128];

	make_dir(PLACE, 0755, 0);
	make_dir(PLACE "/lower", 0755, owner);
	make_dir(PLACE "/upper", 0755, owner);
	make_dir(PLACE "/index", 0755, owner);
	make_dir(dir, 0755, owner);
	(void)snprintf(options, sizeof options,
	    "lowerdir=%s,upperdir=%s,workdir=%s", PLACE "/lower",
	    PLACE "/upper", PLACE "/index");
	assert_int_equal(mount("overlay", dir, "overlay", 0, options), 0);
}

static int
begin_overlay(void **state)
{
	struct driver_opts o;

	*state = NULL;
	if (geteuid() != 0 || fixture_uid != 0)
		return 0;
	mount_overlay(PLACE "/overlay", DRIVER_USER);
	fixture_options(&o);
	o.workspaces[0] = PLACE "/overlay";
	return fixture_begin_with(state, &o);
}

static void
clear_overlay(void)
{
	(void)umount2(PLACE "/overlay", MNT_DETACH);
	(void)!system("rm -rf " PLACE); /* NOLINT: our own directory */
}

static int
end_overlay(void **state)
{
	if (*state == NULL)
		return 0;
	(void)fixture_end(state);
	clear_overlay();
	return 0;
}

static void
without_id_maps_a_program_is_the_owner(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	if (f == NULL)
		skip();
	driver_expect(&f->d, 1, "cd " PLACE "/overlay && id -u && echo x > f",
	    "1234\n");
	assert_int_equal(stat(PLACE "/overlay/f", &st), 0);
	assert_int_equal(st.st_uid, DRIVER_USER);
}

static void
without_id_maps_a_workspace_of_root_is_refused(void **state)
{
	struct driver *d;
	struct driver_opts o;
	int status;

	(void)state;
	if (geteuid() != 0 || fixture_uid != 0)
		skip();
	mount_overlay(PLACE "/overlay", 0);
	fixture_options(&o);
	o.workspaces[0] = PLACE "/overlay";
	d = calloc(1, sizeof *d);
	assert_non_null(d);
	status = driver_refused(d, &o);
	free(d);
	clear_overlay();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		a_workspace_in_a_closed_directory_is_reached, begin_place,
		end_place),
	    cmocka_unit_test_setup_teardown(a_socket_of_the_host_is_covered,
		begin_place, end_place),
	    FIXTURE_WITH(strict_shows_programs_and_workspaces_alone,
		begin_strict),
	    FIXTURE_WITH(open_is_the_servers_own_user_and_files, begin_open),
	    FIXTURE_WITH(open_has_terminals, begin_open),
	    FIXTURE_WITH(an_enabled_network_is_the_hosts, begin_network),
	    FIXTURE_WITH(without_landlock_the_mounts_hold,
		begin_without_landlock),
	    cmocka_unit_test_setup_teardown(
		without_id_maps_a_program_is_the_owner, begin_overlay,
		end_overlay),
	    cmocka_unit_test(without_id_maps_a_workspace_of_root_is_refused),
	};

	return fixture_main(argc, argv, tests);
}
