/* Processes that want to outlive what started them. Each ends by itself after
 * a while, should nobody else end it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

#define LIFE 100 /* seconds */

static void
be_session(void)
{
	(void)setsid();
}

static void
be_daemon(void)
{
	(void)setsid();
	if (fork() != 0)
		_exit(0);
	(void)!chdir("/");
}

static void
ignore_signals(void)
{
	for (int i = 1; i < NSIG; i++)
		if (i != SIGALRM && i != SIGCHLD)
			(void)signal(i, SIG_IGN);
}

static void
block_signals(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGALRM);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
}

static void
adopt(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	be_daemon();
}

/* A new process every moment, so that no list of them is ever right. */
static void
run_away(void)
{
	time_t end = time(NULL) + LIFE;

	be_session();
	while (time(NULL) < end) {
		if (fork() != 0)
			_exit(0);
		(void)usleep(50000);
	}
	_exit(0);
}

static void
stop_itself(void)
{
	be_session();
	(void)kill(getpid(), SIGSTOP);
}

static const struct {
	const char *kind;
	void (*begin)(void);
} kinds[] = {
    {"session", be_session},
    {"daemon", be_daemon},
    {"ignore", ignore_signals},
    {"block", block_signals},
    {"adopt", adopt},
    {"run-away", run_away},
    {"stop", stop_itself},
};

static _Noreturn void
persist(void (*begin)(void))
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3; fd++)
		(void)dup2(null, fd);
	begin();
	(void)alarm(LIFE);
	for (;;)
		(void)pause();
}

int
attempt_persist(const char *kind, bool stay)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (strcmp(kinds[i].kind, kind) != 0)
			continue;
		if (fork() == 0)
			persist(kinds[i].begin);
		(void)usleep(100000);
		(void)puts("ready");
		(void)fflush(stdout);
		(void)alarm(LIFE);
		while (stay)
			(void)pause();
		return 0;
	}
	return 2;
}
