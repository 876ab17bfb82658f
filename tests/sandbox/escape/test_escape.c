/*
 * Every attempt of the program beside this one, inside a child that may read
 * and one that may write the workspace. With the argument "bare" the same
 * without a sandbox, to see which attempts would get out: to be run by hand.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"
#include "tests/sandbox/exec_fixture.h"

#define NAMES_MAX   200
#define HOST_NAME   "sallyport-test-escape"
#define HOST_SOCKET "/var/lib/sallyport-escape"

/* What the test offers on the host, and what attempts are told of it. */
struct host {
	int tcp, udp, abstract, path;
	char tcp_port[8], udp_port[8], pid[16], name[64];
};

struct names {
	char list[NAMES_MAX][48];
	size_t count;
};

/* --- the host ------------------------------------------------------------- */

static int
serve_inet(int type, char port[8])
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	(void)snprintf(port, 8, "%u", ntohs(at.sin_port));
	return fd;
}

static int
serve_unix(const char *name, bool abstract)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path + abstract, name, len);
	len += offsetof(struct sockaddr_un, sun_path) + 1;
	(void)unlink(abstract ? "" : name);
	if (bind(fd, (struct sockaddr *)&at, (socklen_t)len) < 0) {
		(void)close(fd);
		return -1;
	}
	assert_int_equal(listen(fd, 8), 0);
	if (!abstract)
		assert_int_equal(chmod(name, 0777), 0);
	return fd;
}

static void
host_open(struct host *h)
{
	h->tcp = serve_inet(SOCK_STREAM, h->tcp_port);
	h->udp = serve_inet(SOCK_DGRAM, h->udp_port);
	(void)snprintf(h->name, sizeof h->name, HOST_NAME "-%d", (int)getpid());
	(void)snprintf(h->pid, sizeof h->pid, "%d", (int)getpid());
	h->abstract = serve_unix(h->name, true);
	/* Only root has such a place that no view covers. */
	h->path = serve_unix(HOST_SOCKET, false);
}

static void
host_close(struct host *h)
{
	(void)close(h->tcp);
	(void)close(h->udp);
	(void)close(h->abstract);
	if (h->path >= 0) {
		(void)close(h->path);
		(void)unlink(HOST_SOCKET);
	}
}

static void
tell(const struct host *h, const char *env[16])
{
	const char *const all[] = {"HOST_TCP", h->tcp_port, "HOST_UDP",
	    h->udp_port, "HOST_PID", h->pid, "HOST_NAME", h->name,
	    "HOST_SOCKET", h->path >= 0 ? HOST_SOCKET : ""};

	memcpy(env, all, sizeof all);
}

/* --- attempts ------------------------------------------------------------- */

static void
list_attempts(struct names *n)
{
	FILE *f = popen("exec \"$ESCAPE_ATTEMPT\"", "re"); /* NOLINT: ours */

	assert_non_null(f);
	while (
	    n->count < NAMES_MAX && fgets(n->list[n->count], 48, f) != NULL) {
		n->list[n->count][strcspn(n->list[n->count], "\n")] = '\0';
		n->count++;
	}
	assert_int_equal(pclose(f), 0);
	assert_true(n->count >= 60 && n->count < NAMES_MAX);
}

static const char lay_out[] =
    "rm -rf * .git .codex .agents; mkdir .git secret; echo h > .git/HEAD; "
    "ln -s .git link; echo k > secret/key; echo e > x.env; echo m > mine; "
    "cp \"$ESCAPE_ATTEMPT\" attempt; chmod 755 attempt";

/* In the workspace, as its owner; the program is copied there because the
 * view may not show where it was built. */
static void
prepare(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (chdir(fixture_workspace) < 0)
			_exit(1);
		if (fixture_uid != geteuid() &&
		    (setgid(fixture_uid) < 0 || setuid(fixture_uid) < 0))
			_exit(1);
		(void)execl("/bin/sh", "sh", "-c", lay_out, NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static const struct driver_entry reads[] = {
    {.path = SANDBOX_ROOT, .access = SANDBOX_READ},
    {.path = SANDBOX_PROJECT_ROOTS, .access = SANDBOX_DENY, .text = "secret"},
    {.path = SANDBOX_GLOB, .access = SANDBOX_DENY, .text = "*.env"},
};

static const struct driver_entry writes[] = {
    {.path = SANDBOX_ROOT, .access = SANDBOX_READ},
    {.path = SANDBOX_PROJECT_ROOTS, .access = SANDBOX_WRITE},
    {.path = SANDBOX_SLASH_TMP, .access = SANDBOX_WRITE},
    {.path = SANDBOX_PROJECT_ROOTS,
	.access = SANDBOX_READ,
	.text = ".git",
	.skip_missing = true},
    {.path = SANDBOX_PROJECT_ROOTS,
	.access = SANDBOX_READ,
	.text = ".codex",
	.skip_missing = true},
    {.path = SANDBOX_PROJECT_ROOTS,
	.access = SANDBOX_READ,
	.text = ".agents",
	.skip_missing = true},
    {.path = SANDBOX_PROJECT_ROOTS, .access = SANDBOX_DENY, .text = "secret"},
    {.path = SANDBOX_GLOB, .access = SANDBOX_DENY, .text = "*.env"},
};

static int
attempt_in(struct fixture *f, const struct host *h, const char *name,
    const struct driver_entry *entries, size_t count)
{
	struct driver_start s = {.argv = {"./attempt", name},
	    .cwd = fixture_workspace,
	    .sandbox = SANDBOX_RESTRICTED,
	    .entries = entries,
	    .entry_count = count};

	tell(h, s.env);
	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	if (f->p.refused || f->p.failed)
		fail_msg("%s: not started: %s stage %u errno %u", name,
		    f->p.text, f->p.stage, f->p.errnum);
	return (int)f->p.status;
}

static int
attempt_bare(struct fixture *f, const struct host *h, const char *name,
    const struct driver_entry *entries, size_t count)
{
	const char *env[16] = {0};
	pid_t pid = fork();
	int status;

	(void)f;
	(void)entries;
	(void)count;
	if (pid == 0) {
		tell(h, env);
		for (size_t i = 0; env[i] != NULL; i += 2)
			(void)setenv(env[i], env[i + 1], 1);
		if (chdir(fixture_workspace) < 0)
			_exit(2);
		(void)execl("./attempt", "attempt", name, NULL);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

typedef int attempt_runner(struct fixture *f, const struct host *h,
    const char *name, const struct driver_entry *entries, size_t count);

/* How many got out; each is named. */
static size_t
run_all(struct fixture *f, attempt_runner *runner,
    const struct driver_entry *entries, size_t count, bool tell_contained)
{
	struct names names = {.count = 0};
	struct host h = {0};
	size_t escaped = 0;

	prepare();
	list_attempts(&names);
	host_open(&h);
	if (f != NULL) /* the host's sockets are covered when it opens */
		driver_session(&f->d, 1);
	for (size_t i = 0; i < names.count; i++) {
		int status = runner(f, &h, names.list[i], entries, count);
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : 2;

		if (code != CONTAINED && code != NOTHING_TO_TRY)
			escaped++;
		if (tell_contained == (code == CONTAINED))
			print_message("# %s: %s (status %d)\n",
			    tell_contained ? "contained" : "not contained",
			    names.list[i], status);
	}
	host_close(&h);
	return escaped;
}

static int
begin(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct driver_opts o;

	fixture_options(&o);
	o.limits.child_processes = 128;
	o.limits.child_open_files = 1024;
	o.limits.child_memory = 1024u << 20;
	o.limits.child_file_size = 128u << 20;
	o.limits.tmp_size = 64u << 20;
	o.limits.tmp_inodes = 4096;
	o.limits.shm_size = 64u << 20;
	driver_process_init(&f->p);
	driver_open(&f->d, &o);
	*state = f;
	return 0;
}

static void
a_child_that_reads_is_contained(void **state)
{
	assert_int_equal(run_all(*state, attempt_in, reads, COUNT(reads),
			     false),
	    0);
}

static void
a_child_that_writes_is_contained(void **state)
{
	assert_int_equal(run_all(*state, attempt_in, writes, COUNT(writes),
			     false),
	    0);
}

static void
without_a_sandbox_they_get_out(void **state)
{
	(void)state;
	/* Some need rights that the user has not got. */
	assert_true(run_all(NULL, attempt_bare, NULL, 0, true) >= 60);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest contained[] = {
	    FIXTURE_WITH(a_child_that_reads_is_contained, begin),
	    FIXTURE_WITH(a_child_that_writes_is_contained, begin),
	};
	const struct CMUnitTest bare[] = {
	    cmocka_unit_test(without_a_sandbox_they_get_out),
	};

	if (argc > 1 && strcmp(argv[1], "bare") == 0)
		return fixture_main(argc, argv, bare);
	return fixture_main(argc, argv, contained);
}
