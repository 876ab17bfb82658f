/* More rights than a program was given, and other ways to the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

#define RUN(name)                                                              \
	static void name(const struct attempt *a __attribute__((unused)),      \
	    const struct world *w __attribute__((unused)), struct result *r)

RUN(become_root)
{
	(void)attempt_tried(r, setresuid(0, 0, 0), "setresuid");
}

RUN(become_root_group)
{
	(void)attempt_tried(r, setresgid(0, 0, 0), "setresgid");
}

RUN(join_groups)
{
	const gid_t groups[] = {0, 6, 42};

	(void)attempt_tried(r, setgroups(3, groups), "setgroups");
}

RUN(raise_capability)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	const unsigned int admin = 1u << CAP_SYS_ADMIN;

	if (syscall(SYS_capget, &h, data) < 0)
		return;
	data[0].effective |= admin;
	data[0].permitted |= admin;
	(void)attempt_tried(r, syscall(SYS_capset, &h, data), "capset");
}

RUN(keep_bounding)
{
	int got = prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0);

	attempt_say(r, got == 1 ? ESCAPED : CONTAINED,
	    "CAP_SYS_ADMIN is %s the bounding set", got == 1 ? "in" : "not in");
}

/* A filter that allows everything does not take another one back. */
RUN(allow_all)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {1, &all};

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	(void)attempt_tried(r, unshare(CLONE_NEWUSER),
	    "unshare behind a filter of its own");
}

/* From a thread's other end: a child of vfork has the filter too. */
RUN(after_exec)
{
	static const char *const argv[] = {"unshare", "-U", "true", NULL};
	int status = attempt_spawn(argv);

	attempt_say(r,
	    status == 0	    ? ESCAPED
	    : status == 127 ? CANNOT_TELL
			    : CONTAINED,
	    "unshare(1) exits with %d", status);
}

static int
own_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return -1;
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	(void)setsid();
	return slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0 ? -1 : slave;
}

/* Type into the terminal, with the upper half of the request as given. */
RUN(terminal)
{
	int fd = own_terminal();
	char letter[] = "x";
	int line = 0;
	long got;

	if (fd < 0) {
		attempt_say(r, CANNOT_TELL, "terminal: %s", strerror(errno));
		return;
	}
	got = syscall(SYS_ioctl, fd, a->arg[0],
	    (unsigned int)a->arg[0] == TIOCSTI ? (void *)letter
					       : (void *)&line);
	if (got < 0 && errno != EPERM)
		attempt_say(r, ESCAPED, "the terminal says %s",
		    strerror(errno));
	else
		(void)attempt_tried(r, got, "ioctl");
}

RUN(core_limit)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_CORE, &now) < 0)
		return;
	attempt_say(r, now.rlim_max == 0 ? CONTAINED : ESCAPED,
	    "core files up to %llu", (unsigned long long)now.rlim_max);
}

#ifdef __x86_64__
/* getpid of the 32-bit table. */
RUN(old_interrupt)
{
	long got = 20;

	__asm__ volatile("int $0x80" : "+a"(got) : : "memory");
	if (got > 0)
		attempt_say(r, ESCAPED, "int 0x80 says %ld", got);
	else
		attempt_say(r, w->outside ? CANNOT_TELL : CONTAINED,
		    "int 0x80: %s", strerror((int)-got));
}

/* The same for mount, whose number is another one there. */
RUN(old_interrupt_socket)
{
	long got = 359; /* socket */

	__asm__ volatile("int $0x80"
			 : "+a"(got)
			 : "b"(17L), "c"(3L), "d"(0L)
			 : "memory");
	if (got >= 0)
		attempt_say(r, ESCAPED, "int 0x80 opens a packet socket");
	else
		attempt_say(r, w->outside ? CANNOT_TELL : CONTAINED,
		    "int 0x80: %s", strerror((int)-got));
}
#endif

#define DIRTY(request) .arg = {(long)(0xdead000000000000ul | (request))}

const struct attempt attempts_rights[] = {
    {"become-root", "user namespace", IN_ALL, .run = become_root},
    {"become-root-group", "user namespace", IN_ALL, .run = become_root_group},
    {"join-groups", "user namespace", IN_ALL, .run = join_groups},
    {"raise-capability", "capabilities", IN_ALL, .run = raise_capability},
    {"bounding-set", "capabilities", IN_ALL, .run = keep_bounding},
    {"filter-over-filter", "seccomp", IN_ALL, .run = allow_all},
    {"unshare-program", "seccomp", IN_ALL, .run = after_exec},
    {"tiocsti", "seccomp", IN_ALL, .run = terminal, .arg = {TIOCSTI}},
    {"tiocsti-dirty-bits", "seccomp", IN_ALL, .run = terminal, DIRTY(TIOCSTI)},
    {"tiocsetd", "seccomp", IN_ALL, .run = terminal, .arg = {TIOCSETD}},
    {"tioclinux", "seccomp", IN_ALL, .run = terminal, .arg = {TIOCLINUX}},
    {"tioclinux-dirty-bits", "seccomp", IN_ALL, .run = terminal,
	DIRTY(TIOCLINUX)},
    {"core-limit", "rlimits", IN_ALL, .run = core_limit},
#ifdef __x86_64__
    {"int80", "seccomp: architecture", IN_ALL, .run = old_interrupt},
    {"int80-socket", "seccomp: architecture", IN_ALL,
	.run = old_interrupt_socket},
#endif
    {0},
};
