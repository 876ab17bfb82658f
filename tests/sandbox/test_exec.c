/* sallyport-exec as its two peers see it: programs run and end. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/sandbox/exec_fixture.h"

/* --- programs ------------------------------------------------------------ */

static void
streams_and_exit_status_come_back(void **state)
{
	struct fixture *f = *state;

	driver_sh(&f->d, 1, "echo out; echo err >&2; exit 3", &f->p);
	assert_string_equal(f->p.out, "out\n");
	assert_string_equal(f->p.err, "err\n");
	assert_true(f->p.exited);
	assert_int_equal(f->p.status, 3 << 8);
	driver_sh(&f->d, 1, "kill -9 $$", &f->p);
	assert_int_equal(f->p.status, SIGKILL);
}

static void
stdin_is_null_or_a_pipe(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = {"cat"}, .pipe_stdin = true};

	driver_expect(&f->d, 1, "readlink /proc/self/fd/0", "/dev/null\n");
	fixture_start(f, &s);
	assert_true(f->p.fds[0] >= 0);
	assert_int_equal(write(f->p.fds[0], "through", 7), 7);
	(void)close(f->p.fds[0]);
	f->p.fds[0] = -1;
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "through");
}

static void
only_three_descriptors_are_open(void **state)
{
	struct fixture *f = *state;

	driver_expect(&f->d, 1,
	    "for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do "
	    "test -e /proc/$$/fd/$i && echo $i; done; true",
	    "0\n1\n2\n");
	driver_expect(&f->d, 1, "echo again > /dev/stdout", "again\n");
}

static void
a_terminal_has_size_and_job_control(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.tty = true,
	    .argv = SH("tty; stty size; ps -o sid=,tpgid= -p $$ | "
		       "awk '{print ($1==$2)}'; echo x > /dev/tty")};

	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "/dev/pts/0\r\n24 80\r\n1\r\nx\r\n");
	assert_int_equal(f->p.status, 0);
}

static void
a_terminal_follows_its_size(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.tty = true,
	    .argv = SH("trap 'stty size; exit 5' WINCH; echo ready; "
		       "while :; do sleep 0.01; done")};
	struct msg_process_resize m = {.session = 1, .rows = 50, .cols = 132};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "ready");
	m.lease = f->p.lease;
	assert_int_equal(channel_send_process_resize(f->d.net, &m, NULL, 0), 0);
	driver_wait_gone(&f->d, &f->p);
	assert_non_null(strstr(f->p.out, "50 132"));
	assert_int_equal(f->p.status, 5 << 8);
}

static void
an_interrupt_reaches_the_group(void **state)
{
	struct fixture *f = *state;
	/* The shell runs its trap only when the program in front is dead. */
	const struct driver_start s = {
	    .argv = SH(
		"trap 'echo outer; exit 7' "
		"INT; perl -e '$| = 1; print \"ready\\n\"; sleep 1000'; true")};
	struct msg_process_signal m = {.session = 1, .signum = SIGINT};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "ready");
	m.lease = f->p.lease;
	assert_int_equal(channel_send_process_signal(f->d.net, &m, NULL, 0), 0);
	driver_wait_gone(&f->d, &f->p);
	assert_non_null(strstr(f->p.out, "outer"));
	assert_int_equal(f->p.status, 7 << 8);
}

static void
a_start_that_cannot_be_says_why(void **state)
{
	static const struct {
		const char *argv0, *cwd;
		bool tty;
		enum stage stage;
		int errnum;
	} rows[] = {
	    {"no-such-program", "/", false, STAGE_EXEC, ENOENT},
	    {"/no/such", "/", false, STAGE_EXEC, ENOENT},
	    {"", "/", false, STAGE_EXEC, ENOENT},
	    {"/etc/passwd", "/", false, STAGE_EXEC, EACCES},
	    {"/etc", "/", false, STAGE_EXEC, EACCES},
	    {"true", "/no/such", false, STAGE_CWD, ENOENT},
	    {"true", "/etc/passwd", false, STAGE_CWD, ENOTDIR},
	    {"true", "/no/such", true, STAGE_CWD, ENOENT},
	    {"true", "/etc/passwd", true, STAGE_CWD, ENOTDIR},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct driver_start s = {.argv = {rows[i].argv0},
		    .cwd = rows[i].cwd,
		    .tty = rows[i].tty};

		fixture_start(f, &s);
		assert_true(f->p.failed);
		assert_int_equal(f->p.stage, rows[i].stage);
		assert_int_equal(f->p.errnum, rows[i].errnum);
	}
}

static void
a_program_is_found_as_execvp_does(void **state)
{
	struct fixture *f = *state;
	struct driver_start s = {.argv = {"sh", "-c", "echo $0 $PATH"},
	    .env = {"PATH", "/nowhere:/bin"},
	    .no_path = true};
	char script[256];

	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "sh /nowhere:/bin\n");
	s.env[1] = "/nowhere";
	fixture_start(f, &s);
	assert_int_equal(f->p.errnum, ENOENT);
	s.env[0] = NULL;
	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_int_equal(f->p.status, 0);
	(void)snprintf(script, sizeof script,
	    "printf '#!/bin/sh\\necho mine\\n' > %s/prog; chmod +x %s/prog",
	    fixture_workspace, fixture_workspace);
	driver_expect(&f->d, 1, script, "");
	s = (struct driver_start){.argv = {"./prog"}, .cwd = fixture_workspace};
	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_string_equal(f->p.out, "mine\n");
}

static void
arg0_is_what_the_program_sees(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = {"sh", "-c",
					   "tr '\\0' ' ' < /proc/$$/cmdline"},
	    .arg0 = "shown"};

	fixture_start(f, &s);
	driver_wait_gone(&f->d, &f->p);
	assert_int_equal(strncmp(f->p.out, "shown -c", 8), 0);
}

/* --- ends ---------------------------------------------------------------- */

static void
terminate(struct fixture *f)
{
	const struct msg_process_terminate m = {.session = 1,
	    .lease = f->p.lease};

	assert_int_equal(channel_send_process_terminate(f->d.net, &m, NULL, 0),
	    0);
}

static void
terminate_ends_the_whole_tree(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = SH(STUBBORN "sleep 1000")};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "deep");
	terminate(f);
	driver_wait_gone(&f->d, &f->p);
	assert_true(f->p.exited);
	assert_int_equal(f->p.status, SIGKILL);
	driver_wait_exit(&f->d, &f->p);
	terminate(f); /* crossed on the way: no error */
	driver_expect(&f->d, 1, "echo alive", "alive\n");
}

static void
descendants_outlive_the_program_until_terminated(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = SH(STUBBORN "exit 4")};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "deep");
	while (!f->p.exited)
		driver_round(&f->d, &f->p);
	assert_int_equal(f->p.status, 4 << 8);
	assert_false(f->p.gone);
	terminate(f);
	driver_wait_gone(&f->d, &f->p);
}

static void
everything_dies_with_exec(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = SH(STUBBORN "sleep 1000")};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "deep");
	(void)kill(f->d.pid, SIGKILL);
	fixture_wait_dead(f);
}

static void
everything_of_a_net_dies_with_it(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = SH(STUBBORN "sleep 1000")};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "deep");
	driver_attach(&f->d, 2);
	fixture_wait_dead(f);
	driver_session(&f->d, 1);
	driver_expect(&f->d, 1, "echo next", "next\n");
}

static void
everything_of_a_session_dies_with_it(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = SH(STUBBORN "sleep 1000")};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "deep");
	driver_session_close(&f->d, 1);
	driver_wait_gone(&f->d, &f->p);
	fixture_wait_dead(f);
}

static void
stop_is_orderly(void **state)
{
	struct fixture *f = *state;
	const struct driver_start s = {.argv = SH(STUBBORN "sleep 1000")};

	fixture_start(f, &s);
	driver_wait_output(&f->d, &f->p, "deep");
	assert_int_equal(driver_stop(&f->d), 0);
	fixture_wait_dead(f);
}

static unsigned int
fds_of(pid_t pid)
{
	char path[64];
	unsigned int count = 0;

	for (int fd = 0; fd < 256; fd++) {
		(void)snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
		count += readlink(path, (char[8]){0}, 8) > 0;
	}
	return count;
}

static void
exec_keeps_no_descriptor_of_what_is_gone(void **state)
{
	struct fixture *f = *state;
	unsigned int before;

	if (geteuid() != 0)
		skip_because("needs root");
	driver_expect(&f->d, 1, "echo first", "first\n");
	before = fds_of(f->d.pid);
	for (int i = 0; i < 20; i++)
		driver_expect(&f->d, 1, "echo again", "again\n");
	driver_session(&f->d, 2);
	driver_expect(&f->d, 2, "echo other", "other\n");
	driver_session_close(&f->d, 2);
	driver_expect(&f->d, 1, "echo last", "last\n");
	assert_true(before > 0);
	assert_int_equal(fds_of(f->d.pid), before);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    FIXTURE(streams_and_exit_status_come_back),
	    FIXTURE(stdin_is_null_or_a_pipe),
	    FIXTURE(only_three_descriptors_are_open),
	    FIXTURE(a_terminal_has_size_and_job_control),
	    FIXTURE(a_terminal_follows_its_size),
	    FIXTURE(an_interrupt_reaches_the_group),
	    FIXTURE(a_start_that_cannot_be_says_why),
	    FIXTURE(a_program_is_found_as_execvp_does),
	    FIXTURE(arg0_is_what_the_program_sees),
	    FIXTURE(terminate_ends_the_whole_tree),
	    FIXTURE(descendants_outlive_the_program_until_terminated),
	    FIXTURE(everything_dies_with_exec),
	    FIXTURE(everything_of_a_net_dies_with_it),
	    FIXTURE(everything_of_a_session_dies_with_it),
	    FIXTURE(stop_is_orderly),
	    FIXTURE(exec_keeps_no_descriptor_of_what_is_gone),
	};

	return fixture_main(argc, argv, tests);
}
