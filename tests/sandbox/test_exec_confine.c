/* sallyport-exec as its two peers see it: programs are confined, and nets that
 * ask for what they may not get nothing. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/sandbox/exec_fixture.h"

/* --- confinement --------------------------------------------------------- */

static void
a_program_holds_no_rights(void **state)
{
	struct fixture *f = *state;

	driver_expect(&f->d, 1,
	    "grep -E '^(Cap|NoNewPrivs|Seccomp:|SigBlk|SigIgn)' "
	    "/proc/self/status | tr -d '\\t\\n'",
	    "SigBlk:0000000000000000SigIgn:0000000000000000"
	    "CapInh:0000000000000000CapPrm:0000000000000000"
	    "CapEff:0000000000000000CapBnd:0000000000000000"
	    "CapAmb:0000000000000000NoNewPrivs:1Seccomp:2");
	driver_expect(&f->d, 1, "umask; ulimit -c", "0022\n0\n");
}

static void
a_program_is_the_owner_of_the_workspace(void **state)
{
	struct fixture *f = *state;
	char script[512], out[128];
	struct stat st;

	(void)snprintf(out, sizeof out, "%u\n",
	    fixture_uid != 0 ? fixture_uid : 1000);
	driver_expect(&f->d, 1, "id -u", out);
	driver_expect(&f->d, 1, "getent passwd $(id -u) > /dev/null", "");
	(void)snprintf(script, sizeof script,
	    "cd %s && echo x > made && stat -c %%u made", fixture_workspace);
	driver_expect(&f->d, 1, script, out);
	(void)snprintf(script, sizeof script, "%s/made", fixture_workspace);
	assert_int_equal(stat(script, &st), 0);
	assert_int_equal(st.st_uid, fixture_uid);
	/* On the host it is nobody's. */
	driver_expect(&f->d, 1, "test -w /proc/1/oom_score_adj; echo $?",
	    "1\n");
}

static void
the_host_is_read_only(void **state)
{
	static const char *const paths[] = {"/x", "/etc/x", "/usr/x", "/run/x",
	    "/dev/x", "/sys/x", "/var/x"};
	struct fixture *f = *state;
	char script[256];

	for (size_t i = 0; i < COUNT(paths); i++) {
		(void)snprintf(script, sizeof script,
		    "echo x 2>/dev/null > %s; test -e %s; echo $?", paths[i],
		    paths[i]);
		driver_sh(&f->d, 1, script, &f->p);
		assert_string_equal(f->p.out, "1\n");
	}
	driver_sh(&f->d, 1,
	    "for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do "
	    "(echo x > $f) 2>/dev/null && echo wrote $f; done; "
	    "grep -c ' /proc/sys ro,' /proc/self/mounts",
	    &f->p);
	assert_null(strstr(f->p.out, "wrote"));
	driver_expect(&f->d, 1,
	    "for d in null zero full random urandom; do head -c 1 /dev/$d "
	    "> /dev/null || echo $d; done; echo x > /dev/null",
	    "");
}

static void
tmp_is_the_sessions_own(void **state)
{
	struct fixture *f = *state;
	int host = open("/tmp/sallyport-host-file", O_CREAT | O_RDWR, 0644);

	driver_session(&f->d, 2);
	driver_expect(&f->d, 1,
	    "echo a > /tmp/a; echo b > /dev/shm/b; touch /tmp/home/c; "
	    "test -e /tmp/sallyport-host-file; echo $?",
	    "1\n");
	driver_expect(&f->d, 1, "cat /tmp/a /dev/shm/b; ls /tmp/home",
	    "a\nb\nc\n");
	driver_expect(&f->d, 2, "ls /tmp/a /dev/shm/b 2>/dev/null; true", "");
	(void)close(host);
	(void)unlink("/tmp/sallyport-host-file");
}

#define PERL_LISTEN                                                            \
	"perl -MIO::Socket::INET -e '"                                         \
	"$s = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\", " \
	"LocalPort => 4711) or die; $| = 1; print \"ready\\n\"; "              \
	"$c = $s->accept; print $c \"hello\\n\"'"
#define PERL_CONNECT(port)                                                     \
	"perl -MIO::Socket::INET -e '"                                         \
	"$s = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", "               \
	"PeerPort => " port ") or exit 9; print <$s>'"

static void
loopback_is_the_sessions_own(void **state)
{
	struct fixture *f = *state;
	struct driver_process other;
	const struct driver_start s = {.argv = SH(PERL_LISTEN)};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "ready");
	driver_session(&f->d, 2);
	driver_sh(&f->d, 2, PERL_CONNECT("4711"), &other);
	assert_int_equal(other.status, 9 << 8);
	driver_expect(&f->d, 1, PERL_CONNECT("4711"), "hello\n");
}

static void
the_hosts_sockets_are_out_of_reach(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_in in = {.sin_family = AF_INET,
	    .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char name[32];
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof in;
	char script[512];

	assert_int_equal(bind(tcp, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(tcp, 1), 0);
	assert_int_equal(getsockname(tcp, (struct sockaddr *)&in, &len), 0);
	/* Several of us may run at once. */
	(void)snprintf(name, sizeof name, "sallyport-test-%d", (int)getpid());
	(void)memcpy(un.sun_path + 1, name, strlen(name));
	assert_int_equal(bind(abstract, (struct sockaddr *)&un,
			     (socklen_t)(2 + 1 + strlen(name))),
	    0);
	assert_int_equal(listen(abstract, 1), 0);
	(void)snprintf(script, sizeof script,
	    "perl -MSocket -e 'socket($s, AF_INET, SOCK_STREAM, 0); "
	    "print connect($s, sockaddr_in(%u, inet_aton(\"127.0.0.1\"))) "
	    "? \"in\" : \"out\"; socket($u, AF_UNIX, SOCK_STREAM, 0); "
	    "print connect($u, pack(\"Sa*\", AF_UNIX, "
	    "\"\\0%s\")) ? \"in\" : \"out\"'",
	    ntohs(in.sin_port), name);
	driver_expect(&f->d, 1, script, "outout");
	(void)close(tcp);
	(void)close(abstract);
}

/* --- protected files ----------------------------------------------------- */

static int
begin_protected(void **state)
{
	static char file[128], dir[128];
	struct driver_opts o;
	int fd;

	(void)snprintf(dir, sizeof dir, "%s/conf", fixture_workspace);
	(void)mkdir(dir, 0755);
	(void)snprintf(dir, sizeof dir, "%s/conf/inner", fixture_workspace);
	(void)mkdir(dir, 0755);
	(void)snprintf(file, sizeof file, "%s/conf/inner/policy",
	    fixture_workspace);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	(void)!write(fd, "kept\n", 5);
	(void)!fchown(fd, fixture_uid, fixture_uid);
	(void)close(fd);
	(void)snprintf(dir, sizeof dir, "%s/conf", fixture_workspace);
	(void)!chown(dir, fixture_uid, fixture_uid);
	(void)snprintf(dir, sizeof dir, "%s/conf/inner", fixture_workspace);
	(void)!chown(dir, fixture_uid, fixture_uid);
	fixture_options(&o);
	o.protected_paths[0] = file;
	return fixture_begin_with(state, &o);
}

static void
protected_files_cannot_be_replaced(void **state)
{
	struct fixture *f = *state;
	char script[512];

	(void)snprintf(script, sizeof script,
	    "cd %s; exec 2>/dev/null; echo x > conf/inner/policy; "
	    "rm -f conf/inner/policy; mv conf/inner conf/other; mv conf moved; "
	    "rm -rf conf; ln -f other conf/inner/policy; "
	    "cat conf/inner/policy; echo n > conf/inner/beside; "
	    "echo free > free; cat free conf/inner/beside",
	    fixture_workspace);
	driver_expect(&f->d, 1, script, "kept\nfree\nn\n");
}

/* --- refusals and contract ----------------------------------------------- */

static void
what_is_not_enforced_is_refused(void **state)
{
	static const struct {
		struct driver_start s;
		const char *text;
	} rows[] = {
	    {{.argv = {"true"}, .network_proxy = true, .managed_network = true},
		"Codex sandbox exec-server network proxy launch is not "
		"supported."},
	    {{.argv = {"true"}, .managed_network = true},
		"Codex managed network restrictions cannot be enforced by "
		"the sandbox backend."},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		fixture_start(f, &rows[i].s);
		assert_true(f->p.refused);
		assert_int_equal(f->p.reason, REFUSE_UNENFORCEABLE);
		assert_string_equal(f->p.text, rows[i].text);
	}
}

static void
a_request_with_a_sandbox_learns_that_there_is_no_network(void **state)
{
	struct fixture *f = *state;
	struct driver_start s = {.argv =
				     SH("echo $CODEX_SANDBOX_NETWORK_DISABLED"),
	    .sandbox = SANDBOX_EXTERNAL};

	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "1\n");
	s.sandbox = SANDBOX_NULL;
	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "\n");
}

static int
begin_small(void **state)
{
	struct driver_opts o;

	fixture_options(&o);
	o.limits.sessions_max = 1;
	o.limits.session_processes_max = 1;
	o.limits.child_processes = 20;
	o.limits.tmp_size = 1048576;
	return fixture_begin_with(state, &o);
}

static void
limits_hold(void **state)
{
	struct fixture *f = *state;
	struct driver_process p;
	const struct driver_start s = {.argv = SH("echo up; cat"),
	    .pipe_stdin = true};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "up");
	driver_sh(&f->d, 1, "true", &p);
	assert_true(p.refused);
	assert_int_equal(p.reason, REFUSE_BUSY);
	driver_session(&f->d, 2);
	driver_sh(&f->d, 2, "true", &p);
	assert_true(p.refused);
	assert_int_equal(p.reason, REFUSE_SESSION);
	(void)close(f->p.fds[0]);
	f->p.fds[0] = -1;
	driver_wait_gone(&f->d, &f->p);
	driver_sh(&f->d, 1,
	    "head -c 2000000 /dev/zero > /tmp/big 2>/dev/null || echo full; "
	    "trap 'kill $p' EXIT; for i in $(seq 40); do "
	    "sleep 1000 & p=\"$p $!\"; done 2>/dev/null; wait",
	    &p);
	assert_non_null(strstr(p.out, "full"));
	assert_int_not_equal(p.status, 0);
}

static void
a_broken_contract_ends_that_net_alone(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = SH(STUBBORN "sleep 1000")};
	const struct msg_process_terminate never = {.session = 1,
	    .lease = 4000};
	char byte;
	ssize_t n;

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "deep");
	assert_int_equal(channel_send_process_terminate(f->d.net, &never, NULL,
			     0),
	    0);
	fixture_wait_dead(f);
	do
		n = recv(channel_fd(f->d.net), &byte, 1, 0);
	while (n > 0 || (n < 0 && errno == EAGAIN));
	driver_attach(&f->d, 2);
	driver_session(&f->d, 1);
	driver_expect(&f->d, 1, "echo next", "next\n");
}

static void
exec_reports_what_it_reached(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(f->d.ready.uid, fixture_uid);
	assert_int_equal(f->d.ready.seccomp, 2);
	assert_int_equal(f->d.ready.no_new_privs, 1);
	assert_int_equal(f->d.ready.dumpable, 0);
	assert_true(f->d.ready.namespaces & ROLE_NS_MNT);
	/* CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH */
	assert_int_equal(f->d.ready.caps_permitted & 6, 0);
	assert_non_null(strstr(f->d.probe, "landlock="));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    FIXTURE(a_program_holds_no_rights),
	    FIXTURE(a_program_is_the_owner_of_the_workspace),
	    FIXTURE(the_host_is_read_only),
	    FIXTURE(tmp_is_the_sessions_own),
	    FIXTURE(loopback_is_the_sessions_own),
	    FIXTURE(the_hosts_sockets_are_out_of_reach),
	    FIXTURE_WITH(protected_files_cannot_be_replaced, begin_protected),
	    FIXTURE(what_is_not_enforced_is_refused),
	    FIXTURE(a_request_with_a_sandbox_learns_that_there_is_no_network),
	    FIXTURE_WITH(limits_hold, begin_small),
	    FIXTURE(a_broken_contract_ends_that_net_alone),
	    FIXTURE(exec_reports_what_it_reached),
	};

	return fixture_main(argc, argv, tests);
}
