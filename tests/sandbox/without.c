/*
 * Run a program as on a host that lacks something:
 *
 *   without LAYER... -- PROGRAM [ARGUMENT]...
 *
 *   userns        user namespaces: clone and unshare fail with EPERM
 *   namespaces    any namespace and any mount: EPERM, as without CAP_SYS_ADMIN
 *   netns         network namespaces: EINVAL, as from a kernel without them
 *   clone3        ENOSYS, as in containers
 *   landlock      ENOSYS
 *   landlock=ABI  the kernel says that this is what it has
 *   proc          a fresh /proc fails with EPERM, as where it is masked
 *   seals         memfd_create knows no MFD_NOEXEC_SEAL
 *   linux-6.1     landlock=2, seals and what else came later
 *
 * By a system call filter, which the program and its descendants inherit.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LANDLOCK_VERSION 1 /* the flag that asks for the ABI */
#define NOEXEC_SEAL	 8 /* MFD_NOEXEC_SEAL, Linux 6.3 */

static _Noreturn void
die(const char *what)
{
	(void)fprintf(stderr, "without: %s: %s\n", what, strerror(errno));
	exit(75);
}

static void
check(int r, const char *what)
{
	errno = r < 0 ? -r : errno;
	if (r < 0)
		die(what);
}

static void
fail_call(scmp_filter_ctx f, long number, int errnum)
{
	check(seccomp_rule_add(f, SCMP_ACT_ERRNO((uint16_t)errnum), (int)number,
		  0),
	    "rule");
}

static void
fail_flag(scmp_filter_ctx f, long number, uint64_t flag, int errnum)
{
	check(seccomp_rule_add(f, SCMP_ACT_ERRNO((uint16_t)errnum), (int)number,
		  1, SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)),
	    "rule");
}

/* The flags of clone3 lie in memory. */
static void
fail_namespace(scmp_filter_ctx f, uint64_t flag, int errnum)
{
	fail_flag(f, SYS_clone, flag, errnum);
	fail_flag(f, SYS_unshare, flag, errnum);
	fail_call(f, SYS_clone3, ENOSYS);
}

static void
fail_landlock(scmp_filter_ctx f)
{
	fail_call(f, SYS_landlock_create_ruleset, ENOSYS);
	fail_call(f, SYS_landlock_add_rule, ENOSYS);
	fail_call(f, SYS_landlock_restrict_self, ENOSYS);
}

/* A file system's name lies in memory as well; but no other mount has just
 * these flags and no options. */
static void
fail_proc(scmp_filter_ctx f)
{
	check(seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SYS_mount, 2,
		  SCMP_A3(SCMP_CMP_EQ, MS_NOSUID | MS_NODEV | MS_NOEXEC, 0),
		  SCMP_A4(SCMP_CMP_EQ, 0, 0)),
	    "rule");
}

static void
fail_seals(scmp_filter_ctx f)
{
	check(seccomp_rule_add(f, SCMP_ACT_ERRNO(EINVAL), SYS_memfd_create, 1,
		  SCMP_A1(SCMP_CMP_MASKED_EQ, NOEXEC_SEAL, NOEXEC_SEAL)),
	    "rule");
}

static void
tell_landlock(scmp_filter_ctx f)
{
	check(seccomp_rule_add(f, SCMP_ACT_NOTIFY, SYS_landlock_create_ruleset,
		  1, SCMP_A2(SCMP_CMP_EQ, LANDLOCK_VERSION, 0)),
	    "rule");
}

/* Returns the Landlock ABI that is to be told, or abi if it is not about
 * that. */
static int
lack(scmp_filter_ctx f, const char *layer, int abi)
{
	const long later[] = {451 /* cachestat */, 452 /* fchmodat2 */,
	    457 /* statmount */, 458 /* listmount */};
	const uint64_t kinds[] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID,
	    CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP};

	if (strcmp(layer, "userns") == 0) {
		fail_namespace(f, CLONE_NEWUSER, EPERM);
	} else if (strcmp(layer, "namespaces") == 0) {
		for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
			fail_namespace(f, kinds[i], EPERM);
		fail_call(f, SYS_mount, EPERM);
		fail_call(f, SYS_setns, EPERM);
	} else if (strcmp(layer, "netns") == 0) {
		fail_namespace(f, CLONE_NEWNET, EINVAL);
	} else if (strcmp(layer, "clone3") == 0) {
		fail_call(f, SYS_clone3, ENOSYS);
	} else if (strcmp(layer, "landlock") == 0) {
		fail_landlock(f);
	} else if (strncmp(layer, "landlock=", 9) == 0) {
		return (int)strtoul(layer + 9, NULL, 10);
	} else if (strcmp(layer, "proc") == 0) {
		fail_proc(f);
	} else if (strcmp(layer, "seals") == 0) {
		fail_seals(f);
	} else if (strcmp(layer, "linux-6.1") == 0) {
		fail_seals(f);
		for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
			fail_call(f, later[i], ENOSYS);
		return 2;
	} else {
		errno = EINVAL;
		die(layer);
	}
	return abi;
}

/* Answer who asks for the ABI until the other end of life is closed. */
static _Noreturn void
answer(int notify, int life, int abi)
{
	struct seccomp_notif *q = NULL;
	struct seccomp_notif_resp *a = NULL;
	struct pollfd p[] = {{.fd = notify, .events = POLLIN},
	    {.fd = life, .events = POLLIN}};

	check(seccomp_notify_alloc(&q, &a), "notify");
	while (poll(p, 2, -1) > 0 && p[1].revents == 0) {
		memset(q, 0, sizeof *q);
		if (seccomp_notify_receive(notify, q) < 0)
			continue;
		*a = (struct seccomp_notif_resp){.id = q->id, .val = abi};
		(void)seccomp_notify_respond(notify, a);
	}
	_exit(0);
}

/* In a process that is nobody's child, and lives as long as the program. */
static void
start_answering(int notify, int abi)
{
	int life[2];

	if (pipe(life) < 0)
		die("pipe");
	switch (fork()) {
	case -1:
		die("fork");
	case 0:
		(void)close(life[1]);
		(void)setsid();
		if (fork() == 0) {
			/* Who waits for the program waits for its output. */
			for (int fd = 0; fd < 3; fd++)
				(void)close(fd);
			answer(notify, life[0], abi);
		}
		_exit(0);
	default:
		(void)waitpid(-1, NULL, 0);
	}
	(void)close(life[0]);
	(void)close(notify);
}

int
main(int argc, char **argv)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int abi = -1, i = 1;

	if (f == NULL)
		die("filter");
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		abi = lack(f, argv[i], abi);
	if (i + 1 >= argc) {
		errno = EINVAL;
		die("usage: without LAYER... -- PROGRAM");
	}
	if (abi >= 0)
		tell_landlock(f);
	/* Root needs it not, and keeps what it may do. */
	check(seccomp_attr_set(f, SCMP_FLTATR_CTL_NNP, geteuid() != 0), "nnp");
	check(seccomp_load(f), "load");
	if (abi >= 0)
		start_answering(seccomp_notify_fd(f), abi);
	seccomp_release(f);
	(void)execvp(argv[i + 1], argv + i + 1);
	die(argv[i + 1]);
}
