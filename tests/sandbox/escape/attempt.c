/*
 * attempt list              name, layer and flags of each
 * attempt in MASK           make those that have a flag of MASK
 * attempt outside NAME      make one where nothing should stop it
 * attempt persist KIND HOW WORD
 *                           leave a process behind; HOW is stay or exit
 *
 * A line for each attempt: name, verdict, layer, evidence, between tabs.
 */
#include "tests/sandbox/escape/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEADLINE 60 /* seconds for one attempt */
#define NOBODY	 65534

static const struct attempt *const groups[] = {attempts_files, attempts_modes,
    attempts_protected, attempts_processes, attempts_calls, attempts_rights,
    attempts_network, attempts_resources};

#define GROUPS (sizeof groups / sizeof groups[0])

void
attempt_say(struct result *r, enum verdict v, const char *format, ...)
{
	va_list args;

	r->verdict = v;
	va_start(args, format);
	(void)vsnprintf(r->evidence, sizeof r->evidence, format, args);
	va_end(args);
}

bool
attempt_tried(struct result *r, long got, const char *what)
{
	if (got < 0)
		attempt_say(r, CONTAINED, "%s: %s", what, strerror(errno));
	else
		attempt_say(r, ESCAPED, "%s succeeded", what);
	return got >= 0;
}

const char *
attempt_path(const char *dir, const char *name)
{
	static char path[4096];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

int
attempt_append(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, "x", 1);
	(void)close(fd);
	return n == 1 ? 0 : -1;
}

int
attempt_spawn(const char *const argv[])
{
	int status, null;
	pid_t pid = fork();

	if (pid == 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		(void)dup2(null, STDERR_FILENO);
		(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *
text(const char *name)
{
	const char *value = getenv(name);

	return value != NULL ? value : "";
}

static struct world
world_read(bool outside)
{
	return (struct world){
	    .outside = outside,
	    .host = text("ESCAPE_HOST"),
	    .tmp = text("ESCAPE_TMP"),
	    .second = text("ESCAPE_SECOND"),
	    .server = text("ESCAPE_SERVER"),
	    .word = text("ESCAPE_WORD"),
	    .address = text("ESCAPE_ADDRESS"),
	    .abstract = text("ESCAPE_ABSTRACT"),
	    .run = text("ESCAPE_RUN"),
	    .later = text("ESCAPE_LATER"),
	    .pid = atoi(text("ESCAPE_PID")),
	    .shm =
		text("ESCAPE_SHM")[0] != '\0' ? atoi(text("ESCAPE_SHM")) : -1,
	    .tcp = atoi(text("ESCAPE_TCP")),
	    .udp = atoi(text("ESCAPE_UDP")),
	};
}

/* Without any sandbox, but so that what succeeds does no harm. */
static int
prepare_outside(const struct attempt *a)
{
	if ((a->where & OUT_MOUNTS) != 0 &&
	    (unshare(CLONE_NEWNS | CLONE_NEWUTS) < 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0))
		return -1;
	if ((a->where & OUT_NOBODY) != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return -1;
	return 0;
}

static _Noreturn void
make(const struct attempt *a, const struct world *w, struct result *r)
{
	(void)alarm(DEADLINE);
	if (w->outside && prepare_outside(a) < 0) {
		attempt_say(r, CANNOT_TELL, "prepare: %s", strerror(errno));
		_exit(0);
	}
	a->run(a, w, r);
	_exit(0);
}

static void
judge(struct result *r, int status)
{
	if (!WIFSIGNALED(status))
		return;
	if (WTERMSIG(status) == SIGSYS)
		attempt_say(r, CONTAINED, "ended by SIGSYS");
	else
		attempt_say(r, CANNOT_TELL, "ended by signal %d",
		    WTERMSIG(status));
}

static int
run(const struct attempt *a, const struct world *w)
{
	static const char *const words[] = {"contained", "escaped",
	    "cannot-tell"};
	struct result *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid;

	if (r == MAP_FAILED)
		return 1;
	attempt_say(r, CANNOT_TELL, "nothing was said");
	pid = fork();
	if (pid == 0)
		make(a, w, r);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		attempt_say(r, CANNOT_TELL, "fork: %s", strerror(errno));
	judge(r, status);
	(void)printf("%s\t%s\t%s\t%s\n", a->name, words[r->verdict], a->layer,
	    r->evidence);
	(void)fflush(stdout);
	(void)munmap(r, sizeof *r);
	return 0;
}

/* Run, or only list, those of a mask or of a name. */
static int
each(unsigned int mask, const char *name, const struct world *w)
{
	int r = 0;

	for (size_t i = 0; i < GROUPS && r == 0; i++) {
		const struct attempt *a = groups[i];

		for (; a->name != NULL && r == 0; a++) {
			if (name != NULL ? strcmp(name, a->name) != 0
					 : (a->where & mask) == 0)
				continue;
			if (w != NULL)
				r = run(a, w);
			else
				(void)printf("%s\t%s\t%u\n", a->name, a->layer,
				    a->where);
		}
	}
	return r;
}

int
main(int argc, char *argv[])
{
	struct world w =
	    world_read(argc == 3 && strcmp(argv[1], "outside") == 0);

	if (argc == 2 && strcmp(argv[1], "list") == 0)
		return each(~0u, NULL, NULL);
	if (argc == 2 && strcmp(argv[1], "euid") == 0)
		return geteuid() == 0 ? 0 : 1;
	if (argc == 3 && strcmp(argv[1], "in") == 0)
		return each((unsigned int)atoi(argv[2]), NULL, &w);
	if (argc == 3 && w.outside)
		return each(0, argv[2], &w);
	if (argc == 5 && strcmp(argv[1], "persist") == 0)
		return attempt_persist(argv[2], strcmp(argv[3], "stay") == 0);
	(void)fprintf(stderr, "see the head of attempt.c\n");
	return 2;
}
