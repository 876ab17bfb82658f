#include "exec/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* More than are looked at, and room for the rest. */
#define MANY  (SOCKETS_MAX + 1)
#define FILES (MANY + 256)

/* /var/tmp: of the host in every view. */
static char place[] = "/var/tmp/sallyport-sockets-XXXXXX";

static int
bind_at(const char *dir, int number)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)snprintf(a.sun_path, sizeof a.sun_path, "%s/%d", dir, number);
	(void)unlink(a.sun_path);
	assert_return_code(bind(fd, (const struct sockaddr *)&a, sizeof a),
	    errno);
	assert_return_code(unlink(a.sun_path), errno);
	return fd;
}

/* How many of the names lie in dir. */
static size_t
count_in(const struct sockets *s, const char *dir)
{
	const char **names = NULL;
	size_t n = 0, len = strlen(dir);

	assert_int_equal(sockets_after(s, 0, &names), 0);
	for (size_t i = 0; names != NULL && names[i] != NULL; i++)
		n += strncmp(names[i], dir, len) == 0 && names[i][len] == '/';
	free(names);
	return n;
}

/* A program with the host's network makes as many as it likes where it may
 * write: that must not keep others from starting. */
static void
sockets_in_a_workspace_count_for_nobody(void **state)
{
	struct rlimit files = {FILES, FILES};
	char workspace[sizeof place + 2], host[sizeof place + 2];
	static int fds[MANY];
	struct exec_config c = {.preset = PRESET_WORKSPACE,
	    .workspaces = {{.path = workspace}},
	    .workspace_count = 1};
	struct sockets s;
	int foreign;

	(void)state;
	/* Servers that start meanwhile would find far too many. */
	if (unshare(CLONE_NEWNET) < 0 &&
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		skip_because("no network can be had");
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		skip_because("the limit of open files is too low");
	assert_non_null(mkdtemp(place));
	(void)snprintf(workspace, sizeof workspace, "%s/w", place);
	(void)snprintf(host, sizeof host, "%s/h", place);
	assert_return_code(mkdir(workspace, 0700), errno);
	assert_return_code(mkdir(host, 0700), errno);
	for (int i = 0; i < MANY; i++)
		fds[i] = bind_at(workspace, i);
	foreign = bind_at(host, 0);
	sockets_init(&s);
	assert_int_equal(sockets_refresh(&s, &c, 1), 0);
	assert_int_equal(count_in(&s, host), 1);
	assert_int_equal(count_in(&s, workspace), 0);
	/* Without that workspace they are foreign, and far too many. */
	c.workspace_count = 0;
	assert_int_equal(sockets_refresh(&s, &c, 1 + SOCKETS_MAX_AGE_MS),
	    -E2BIG);
	assert_int_equal(count_in(&s, host), 1);
	sockets_done(&s);
	(void)close(foreign);
	for (int i = 0; i < MANY; i++)
		(void)close(fds[i]);
	(void)rmdir(workspace);
	(void)rmdir(host);
	(void)rmdir(place);
}

static void
sockets_are_own_where_a_session_has_its_own(void **state)
{
	struct exec_config c = {.preset = PRESET_WORKSPACE};

	(void)state;
	assert_true(sockets_are_own(&c, "/tmp/a"));
	assert_true(sockets_are_own(&c, "/run/a"));
	assert_false(sockets_are_own(&c, "/tmpfile"));
	assert_false(sockets_are_own(&c, "/var/run/a"));
	assert_false(sockets_are_own(&c, "/tmp/../var/a"));
	assert_false(sockets_are_own(&c, "/run/./..//srv/a"));
	assert_false(sockets_are_own(&c, "/../../srv/a"));
	assert_true(sockets_are_own(&c, "//tmp/./x/../a"));
	assert_true(sockets_are_own(&c, "/tmp/..a/.b"));
	c.preset = PRESET_OPEN;
	assert_false(sockets_are_own(&c, "/tmp/a"));
	assert_true(sockets_are_own(&c, "/run/a"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sockets_in_a_workspace_count_for_nobody),
	    cmocka_unit_test(sockets_are_own_where_a_session_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
