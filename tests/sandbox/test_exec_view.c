/* What a session of sallyport-exec sees of the host, by preset and by who owns
 * the workspace. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sandbox/exec_fixture.h"

static int
begin_place(void **state)
{
	char closed[FIXTURE_PATH_MAX], work[FIXTURE_PATH_MAX];
	struct driver_opts o;

	fixture_options(&o);
	if (geteuid() == 0) {
		fixture_place_make();
		fixture_dir(fixture_at(closed, "/closed"), 0700, fixture_uid);
		fixture_dir(fixture_at(work, "/closed/work"), 0755,
		    fixture_uid);
		o.workspaces[1] = work;
	}
	return fixture_begin_with(state, &o);
}

static int
end_place(void **state)
{
	int r = fixture_end(state);

	if (geteuid() == 0)
		fixture_place_remove();
	return r;
}

static void
a_workspace_in_a_closed_directory_is_reached(void **state)
{
	struct fixture *f = *state;
	char secret[FIXTURE_PATH_MAX], script[256];
	int fd;

	if (geteuid() != 0)
		skip_because("needs root");
	fd = open(fixture_at(secret, "/closed/secret"),
	    O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	(void)close(fd);
	(void)snprintf(script, sizeof script,
	    "cd %s/closed/work && echo x > f && cat f && ls ..", fixture_place);
	driver_expect(&f->d, 1, script,
	    fixture_uid == 0 ? "x\nwork\n" : "x\nsecret\nwork\n");
}

/* --- sockets of the host -------------------------------------------------- */

/* A socket of ours that everybody may connect to. */
static int
listen_at(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
	(void)unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(chmod(path, 0777), 0);
	return fd;
}

/* Whether a program of the session can connect to it. */
static bool
connects(struct fixture *f, uint32_t session, const char *path)
{
	struct driver_process p;
	char script[256];

	(void)snprintf(script, sizeof script,
	    "perl -MSocket -e 'socket($u, AF_UNIX, SOCK_STREAM, 0); print "
	    "connect($u, sockaddr_un(\"%s\")) ? 1 : 0'",
	    path);
	driver_sh(&f->d, session, script, &p);
	assert_true(p.out[0] == '0' || p.out[0] == '1');
	return p.out[0] == '1';
}

/* The host's list is not read at every start. */
static bool
connects_no_more(struct fixture *f, const char *path)
{
	struct timespec now, end;

	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += 5;
	while (connects(f, 1, path)) {
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > end.tv_sec)
			return false;
	}
	return true;
}

static void
a_socket_of_the_host_is_covered(void **state)
{
	struct fixture *f = *state;
	char path[FIXTURE_PATH_MAX];
	int fd;

	if (geteuid() != 0)
		skip_because("needs root");
	fd = listen_at(fixture_at(path, "/socket"));
	driver_session(&f->d, 2);
	assert_false(connects(f, 2, path));
	(void)close(fd);
}

/* As the control sockets of ssh are made. */
static void
a_socket_with_another_name_is_covered(void **state)
{
	struct fixture *f = *state;
	char bound[FIXTURE_PATH_MAX], path[FIXTURE_PATH_MAX];
	int fd;

	if (geteuid() != 0)
		skip_because("needs root");
	fd = listen_at(fixture_at(bound, "/control.x7Fh2"));
	assert_int_equal(link(bound, fixture_at(path, "/control")), 0);
	assert_int_equal(unlink(bound), 0);
	driver_session(&f->d, 2);
	assert_false(connects(f, 2, path));
	(void)close(fd);
}

static void
sockets_made_later_are_covered(void **state)
{
	struct fixture *f = *state;
	char path[FIXTURE_PATH_MAX], name[FIXTURE_PATH_MAX], script[256];
	int fd[3];

	if (geteuid() != 0)
		skip_because("needs root");
	driver_expect(&f->d, 1, "echo it stands", "it stands\n");
	fd[0] = listen_at(fixture_at(path, "/late"));
	assert_true(connects_no_more(f, path));
	/* Its daemon starts anew. */
	fd[1] = listen_at(path);
	assert_true(connects_no_more(f, path));
	fd[2] = listen_at(fixture_at(path, "/late.x7Fh2"));
	assert_int_equal(link(path, fixture_at(name, "/linked")), 0);
	assert_int_equal(unlink(path), 0);
	assert_true(connects_no_more(f, name));
	/* Once covered, it is so for all that follow. */
	(void)snprintf(script, sizeof script,
	    "grep -c %s/late /proc/self/mountinfo", fixture_place);
	driver_expect(&f->d, 1, script, "1\n");
	driver_expect(&f->d, 1, script, "1\n");
	for (int i = 0; i < 3; i++)
		(void)close(fd[i]);
}

static int
begin_protected(void **state)
{
	static char paths[4][FIXTURE_PATH_MAX];
	char dir[FIXTURE_PATH_MAX];
	struct driver_opts o;

	fixture_options(&o);
	for (size_t i = 0; i < 4; i++) {
		(void)snprintf(paths[i], sizeof paths[i], "%s/a/b/%zu",
		    fixture_workspace, i);
		o.protected_paths[i] = paths[i];
	}
	(void)snprintf(dir, sizeof dir, "%s/a", fixture_workspace);
	fixture_dir(dir, 0755, fixture_uid);
	(void)snprintf(dir, sizeof dir, "%s/a/b", fixture_workspace);
	fixture_dir(dir, 0755, fixture_uid);
	for (size_t i = 0; i < 4; i++)
		fixture_dir(paths[i], 0755, fixture_uid);
	return fixture_begin_with(state, &o);
}

static void
protected_paths_are_read_only_and_few_mounts(void **state)
{
	struct fixture *f = *state;
	char script[256];

	(void)snprintf(script, sizeof script,
	    "cd %s; (touch a/b/3/x || mv a z || mv a/b a/z) 2>/dev/null; "
	    "echo $?; touch a/b/x a/x; grep -c /a /proc/self/mountinfo",
	    fixture_workspace);
	driver_expect(&f->d, 1, script, "1\n6\n");
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

static const char *
mount_overlay(char dir[FIXTURE_PATH_MAX], uid_t owner)
{
	static const char *const parts[] = {"/lower", "/upper", "/index"};
	char options[256], path[FIXTURE_PATH_MAX];

	fixture_place_make();
	for (size_t i = 0; i < COUNT(parts); i++)
		fixture_dir(fixture_at(path, parts[i]), 0755, owner);
	fixture_dir(fixture_at(dir, "/overlay"), 0755, owner);
	(void)snprintf(options, sizeof options,
	    "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/index",
	    fixture_place, fixture_place, fixture_place);
	assert_int_equal(mount("overlay", dir, "overlay", 0, options), 0);
	return dir;
}

static bool
has_overlay(void)
{
	return geteuid() == 0 && fixture_uid == 0;
}

static int
begin_overlay(void **state)
{
	char dir[FIXTURE_PATH_MAX];
	struct driver_opts o;

	*state = NULL;
	if (!has_overlay())
		return 0;
	fixture_options(&o);
	o.workspaces[0] = mount_overlay(dir, DRIVER_USER);
	return fixture_begin_with(state, &o);
}

static void
clear_overlay(void)
{
	char dir[FIXTURE_PATH_MAX];

	(void)umount2(fixture_at(dir, "/overlay"), MNT_DETACH);
	fixture_place_remove();
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
	char path[FIXTURE_PATH_MAX], script[256];
	struct stat st;

	if (f == NULL)
		skip_because("exec has to be root");
	(void)snprintf(script, sizeof script,
	    "cd %s/overlay && id -u && echo x > f", fixture_place);
	driver_expect(&f->d, 1, script, "1234\n");
	assert_non_null(strstr(f->d.probe, "idmap=EINVAL:overlay"));
	assert_null(strstr(f->d.audit, "session_unmapped"));
	assert_int_equal(stat(fixture_at(path, "/overlay/f"), &st), 0);
	assert_int_equal(st.st_uid, DRIVER_USER);
}

static void
without_id_maps_a_workspace_of_root_is_refused(void **state)
{
	char dir[FIXTURE_PATH_MAX];
	struct driver *d;
	struct driver_opts o;
	int status;

	(void)state;
	if (!has_overlay())
		skip_because("exec has to be root");
	fixture_options(&o);
	o.workspaces[0] = mount_overlay(dir, 0);
	d = calloc(1, sizeof *d);
	assert_non_null(d);
	status = driver_refused(d, &o);
	free(d);
	clear_overlay();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* --- several owners ------------------------------------------------------- */

/* Two workspaces below dir of the place, of users next to each other. */
static int
begin_two(void **state, const char *dir)
{
	static char paths[2][FIXTURE_PATH_MAX];
	struct driver_opts o;

	fixture_options(&o);
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(paths[i], sizeof paths[i], "%s/%zu", dir, i);
		fixture_dir(paths[i], 0755, DRIVER_USER + (uid_t)i);
		o.workspaces[i] = paths[i];
	}
	return fixture_begin_with(state, &o);
}

static int
begin_two_mapped(void **state)
{
	*state = NULL;
	if (!has_overlay())
		return 0;
	fixture_place_make();
	return begin_two(state, fixture_place);
}

static int
begin_two_unmapped(void **state)
{
	char dir[FIXTURE_PATH_MAX];

	*state = NULL;
	if (!has_overlay())
		return 0;
	return begin_two(state, mount_overlay(dir, DRIVER_USER));
}

static void
each_workspace_keeps_its_owner(void **state)
{
	struct fixture *f = *state;
	char script[256], path[FIXTURE_PATH_MAX];
	struct stat st;

	if (f == NULL)
		skip_because("exec has to be root");
	(void)snprintf(script, sizeof script,
	    "cd %s && echo x > 0/f && echo y > 1/f && stat -c %%u 0/f 1/f",
	    fixture_place);
	driver_expect(&f->d, 1, script, "1234\n1234\n");
	for (unsigned int i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof path, "%s/%u/f", fixture_place, i);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_uid, DRIVER_USER + i);
	}
}

static void
without_id_maps_several_owners_are_refused(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = SH("true")};

	if (f == NULL)
		skip_because("exec has to be root");
	fixture_start(f, &s);
	assert_true(f->p.refused);
	assert_int_equal(f->p.reason, REFUSE_SESSION);
}

/* --- and one that has them at the start alone ----------------------------- */

static int
begin_refusing(void **state)
{
	static volatile int *refuse;
	struct driver_opts o;
	int r;

	*state = NULL;
	if (!has_overlay())
		return 0;
	refuse = mmap(NULL, sizeof *refuse, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(refuse != MAP_FAILED);
	fixture_options(&o);
	assert_int_equal(chown(fixture_workspace, DRIVER_USER, DRIVER_USER), 0);
	o.hang = &hang_userns;
	o.refuse = refuse;
	r = fixture_begin_with(state, &o);
	driver_expect(&((struct fixture *)*state)->d, 1, "id -u", "1234\n");
	*refuse = 1;
	return r;
}

static int
end_refusing(void **state)
{
	assert_int_equal(chown(fixture_workspace, fixture_uid, fixture_uid), 0);
	return *state == NULL ? 0 : fixture_end(state);
}

static void
a_session_that_lost_its_id_maps_is_told(void **state)
{
	struct fixture *f = *state;

	if (f == NULL)
		skip_because("exec has to be root");
	assert_non_null(strstr(f->d.probe, "idmap=yes"));
	assert_null(strstr(f->d.audit, "session_unmapped"));
	driver_session(&f->d, 2);
	driver_expect(&f->d, 2, "id -u", "1234\n");
	assert_non_null(
	    strstr(f->d.audit, "session_unmapped session=2 uid=1234\n"));
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
	    cmocka_unit_test_setup_teardown(
		a_socket_with_another_name_is_covered, begin_place, end_place),
	    cmocka_unit_test_setup_teardown(sockets_made_later_are_covered,
		begin_place, end_place),
	    FIXTURE_WITH(protected_paths_are_read_only_and_few_mounts,
		begin_protected),
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
	    cmocka_unit_test_setup_teardown(each_workspace_keeps_its_owner,
		begin_two_mapped, end_overlay),
	    cmocka_unit_test_setup_teardown(
		without_id_maps_several_owners_are_refused, begin_two_unmapped,
		end_overlay),
	    cmocka_unit_test_setup_teardown(
		a_session_that_lost_its_id_maps_is_told, begin_refusing,
		end_refusing),
	};

	return fixture_main(argc, argv, tests);
}
