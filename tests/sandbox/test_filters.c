/*
 * The shipped filters in this kernel: every system call number is made behind
 * every filter, with arguments that do no harm where it goes through. What a
 * filter refuses must be refused before the call looks at its arguments, and
 * what it allows must end as it does without a filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "policy/compile.h"
#include "privsep/filters.h"
#include "privsep/lockdown.h"
#include "privsep/role.h"
#include "tests/unit/unit.h"

#define FILES_MAX 3

/* How a call ended: 0, an errno, or a signal that ended the process. */
#define SIGNALLED(sig) (1000 + (sig))
#define KILLED	       SIGNALLED(SIGSYS)
#define FREE	       (-1) /* wanted: as without a filter */

struct filter {
	const char *name;
	const struct sock_fprog *program;
	const char *files[FILES_MAX];
};

static const struct filter filters[] = {
    {"supervisor", &filter_supervisor, {"supervisor", "exec", "child"}},
    {"net", &filter_net, {"net"}},
    {"exec", &filter_exec, {"exec", "child"}},
    {"worker", &filter_worker, {"worker"}},
    {"bridge", &filter_bridge, {"bridge"}},
    {"http", &filter_http, {"http"}},
    {"init", &filter_init, {"init"}},
    {"child", &filter_child, {"child"}},
    {"child_no_unix", &filter_child_no_unix, {"child_no_unix"}},
    {"child_no_network", &filter_child_no_network, {"child_no_network"}},
    {"child_no_attributes", &filter_child_no_attributes,
	{"child_no_attributes"}},
    {"child_bare", &filter_child_bare, {"child_bare"}},
    {"sweeper", &filter_sweeper, {"sweeper"}},
};

struct call {
	long nr;
	uint64_t args[SYSCALL_ARGS];
};

static const struct filter *
filter_named(const char *name)
{
	for (size_t i = 0; i < COUNT(filters); i++)
		if (strcmp(filters[i].name, name) == 0)
			return &filters[i];
	fail_msg("no filter %s", name);
	return NULL;
}

/* --- making one call ---------------------------------------------------- */

/* Queues and segments stay behind when their maker ends, so they are made in
 * a namespace that does not. */
static void
leave_ipc(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWIPC) < 0)
		_exit(255);
}

static bool
is_ipc(const struct call *c)
{
	return c->nr == SYS_msgget || c->nr == SYS_shmget ||
	       c->nr == SYS_semget;
}

/* The test's own handlers would take a deadly signal for a failed test. */
static void
reset_signals(void)
{
	static const int deadly[] = {SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

	for (size_t i = 0; i < COUNT(deadly); i++)
		(void)signal(deadly[i], SIG_DFL);
}

static _Noreturn void
prober(const struct filter *f, const struct call *c)
{
	const uint64_t *a = c->args;
	long r;

	reset_signals();
	if (is_ipc(c))
		leave_ipc();
	(void)alarm(60);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(254);
	if (f != NULL && lockdown(f->program) < 0)
		_exit(254);
	errno = 0;
	r = syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	_exit(r == -1 ? errno : 0);
}

static int
outcome(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return SIGNALLED(WTERMSIG(status));
	assert_int_not_equal(WEXITSTATUS(status), 254);
	return WEXITSTATUS(status);
}

/* f may be NULL: no filter. */
static int
probe(const struct filter *f, const struct call *c)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		prober(f, c);
	return outcome(pid);
}

/* --- every number -------------------------------------------------------- */

struct policy {
	struct syscall_policy *p;
	struct bytes texts[FILES_MAX];
	size_t count;
};

static void
policy_done(struct policy *policy)
{
	syscall_policy_free(policy->p);
	for (size_t i = 0; i < policy->count; i++)
		free((void *)(uintptr_t)policy->texts[i].data);
}

static void
policy_read(struct policy *policy, const struct filter *f)
{
	const char *source = getenv("SALLYPORT_SOURCE");
	struct err e = {0};

	*policy = (struct policy){.p = syscall_policy_new()};
	assert_non_null(policy->p);
	assert_non_null(source);
	for (size_t i = 0; i < FILES_MAX && f->files[i] != NULL; i++) {
		char path[PATH_LEN_MAX];
		char *text = malloc(SYSCALL_TEXT_MAX);
		FILE *file;
		struct bytes *b = &policy->texts[policy->count++];

		assert_non_null(text);
		(void)snprintf(path, sizeof path,
		    "%s/policy/syscalls/%s.policy", source, f->files[i]);
		file = fopen(path, "re");
		assert_non_null(file);
		b->data = (const uint8_t *)text;
		b->len = fread(text, 1, SYSCALL_TEXT_MAX, file);
		(void)fclose(file);
		assert_int_equal(syscall_text_parse(*b, policy->p, &e), 0);
	}
}

/* Calls that do not come back, or not in a way that tells something. */
static bool
is_one_way(long nr)
{
	switch (nr) {
#ifdef SYS_pause
	case SYS_pause:
#endif
#ifdef SYS_vfork
	case SYS_vfork:
#endif
	case SYS_exit:
	case SYS_exit_group:
	case SYS_rt_sigreturn:
	case SYS_rt_sigsuspend:
	case SYS_restart_syscall:
		return true;
	default:
		return false;
	}
}

/* uretprobe and uprobe of x86_64 are made by trampolines of the kernel's own:
 * they pass no filter, and fault when they come from anywhere else. */
static bool
is_trampoline(long nr)
{
	return compile_arch() == SYSCALL_ARCH_X86_64 &&
	       (nr == 335 || nr == 336);
}

static const char *
name_of(const struct syscall_policy *p, unsigned int nr)
{
	for (size_t i = 0; i < p->rule_count; i++) {
		unsigned int n;

		if (compile_number(p->rules[i].name, compile_arch(), &n) == 0 &&
		    n == nr)
			return p->rules[i].name;
	}
	return "";
}

static int
wanted(const struct syscall_policy *p, const char *name, const struct call *c)
{
	struct syscall_action a =
	    syscall_policy_decide(p, name, compile_arch(), c->args);

	if (c->nr > COMPILE_SYSCALL_MAX && p->has_unknown)
		a = p->unknown;
	switch (a.kind) {
	case SYSCALL_ALLOW:
		return FREE;
	case SYSCALL_KILL:
		return KILLED;
	case SYSCALL_ERRNO:
		return a.errnum;
	}
	return KILLED;
}

static void
check_call(const struct filter *f, const struct syscall_policy *p, long nr)
{
	const char *name = name_of(p, (unsigned int)nr);
	struct call c = {.nr = nr};
	int want, got;

	memset(c.args, 0xff, sizeof c.args);
	want = wanted(p, name, &c);
	if (want == FREE && is_one_way(nr))
		return;
	if (want == FREE)
		want = probe(NULL, &c);
	got = probe(f, &c);
	if (got != want)
		fail_msg("%s: call %ld %s ended with %d, not %d", f->name, nr,
		    name, got, want);
}

static void
every_number_ends_as_its_policy_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(filters); i++) {
		struct policy policy;

		policy_read(&policy, &filters[i]);
		for (long nr = 0; nr <= COMPILE_SYSCALL_MAX + 3; nr++)
			if (!is_trampoline(nr))
				check_call(&filters[i], policy.p, nr);
		policy_done(&policy);
	}
}

/* --- arguments ------------------------------------------------------------ */

struct argument_case {
	const char *filter;
	int want;
	struct call call;
};

#define HIGH	   (UINT64_C(1) << 32)
#define NONE	   UINT64_MAX /* no descriptor, no address */
#define NEW_FILE   ((uint64_t)(O_CREAT | O_WRONLY))
#define LOOP_FLAGS ((uint64_t)(MSG_CMSG_CLOEXEC | MSG_DONTWAIT))

static const struct argument_case argument_cases[] = {
    /* nothing types into a terminal, whatever the upper half holds */
    {"child", EPERM, {SYS_ioctl, {NONE, TIOCSTI}}},
    {"child", EPERM, {SYS_ioctl, {NONE, HIGH | TIOCSTI}}},
    {"child", EPERM, {SYS_ioctl, {NONE, (HIGH << 31) | TIOCSTI}}},
    {"child", EPERM, {SYS_ioctl, {NONE, TIOCLINUX}}},
    {"child", EPERM, {SYS_ioctl, {NONE, HIGH | TIOCLINUX}}},
    {"child", EPERM, {SYS_ioctl, {NONE, TIOCSETD}}},
    {"child", EPERM, {SYS_ioctl, {NONE, HIGH | TIOCSETD}}},
    {"child", FREE, {SYS_ioctl, {NONE, TCGETS}}},
    {"child", FREE, {SYS_ioctl, {NONE, TIOCGWINSZ}}},
    {"exec", EPERM, {SYS_ioctl, {NONE, HIGH | TIOCSTI}}},
    {"supervisor", EPERM, {SYS_ioctl, {NONE, HIGH | TIOCSTI}}},
    /* no setuid or setgid files */
    {"child", EPERM, {SYS_fchmod, {NONE, S_ISUID | 0755}}},
    {"child", EPERM, {SYS_fchmod, {NONE, HIGH | S_ISGID | 0755}}},
    {"child", FREE, {SYS_fchmod, {NONE, 0755}}},
    {"child", FREE, {SYS_fchmod, {NONE, S_ISVTX | 0777}}},
    {"child", EPERM, {SYS_fchmodat, {NONE, NONE, S_ISUID}}},
    {"child", EPERM, {SYS_fchmodat, {NONE, NONE, S_IFREG | S_ISGID}}},
    {"child", FREE, {SYS_fchmodat, {NONE, NONE, 0644}}},
    {"child", EPERM, {452 /* fchmodat2 */, {NONE, NONE, S_ISUID}}},
    {"child", FREE, {452, {NONE, NONE, 0644}}},
    {"child", EPERM, {SYS_openat, {NONE, NONE, NEW_FILE, S_ISUID}}},
    {"child", EPERM, {SYS_openat, {NONE, NONE, HIGH | O_CREAT, 07777}}},
    {"child", EPERM, {SYS_openat, {NONE, NONE, O_TMPFILE | O_RDWR, S_ISGID}}},
    {"child", FREE, {SYS_openat, {NONE, NONE, NEW_FILE, 0666}}},
    {"child", FREE, {SYS_openat, {NONE, NONE, O_RDONLY, NONE}}},
    {"child", EPERM, {SYS_mknodat, {NONE, NONE, S_IFREG | S_ISUID}}},
    {"child", EPERM, {SYS_mknodat, {NONE, NONE, S_IFCHR | 0666, 0x103}}},
    {"child", EPERM, {SYS_mknodat, {NONE, NONE, S_IFBLK | 0666, 0x700}}},
    {"child", FREE, {SYS_mknodat, {NONE, NONE, S_IFIFO | 0666}}},
    {"worker", KILLED, {SYS_fchmod, {NONE, S_ISUID | 0755}}},
    {"worker", FREE, {SYS_fchmod, {NONE, 0755}}},
    {"worker", KILLED, {SYS_openat, {NONE, NONE, NEW_FILE, S_ISGID}}},
    {"worker", FREE, {SYS_openat, {NONE, NONE, NEW_FILE, 0666}}},
#ifdef SYS_open
    {"child", EPERM, {SYS_open, {NONE, NEW_FILE, S_ISUID | 0755}}},
    {"child", FREE, {SYS_open, {NONE, NEW_FILE, 0755}}},
    {"child", FREE, {SYS_open, {NONE, O_RDONLY, NONE}}},
    {"child", EPERM, {SYS_creat, {NONE, S_ISGID | 0755}}},
    {"child", FREE, {SYS_creat, {NONE, 0755}}},
    {"child", EPERM, {SYS_chmod, {NONE, S_ISUID}}},
    {"child", FREE, {SYS_chmod, {NONE, 0}}},
    {"child", EPERM, {SYS_mknod, {NONE, S_IFCHR | 0666, 0x103}}},
    {"child", FREE, {SYS_mknod, {NONE, 0666}}},
#endif
    /* no namespaces */
    {"child", EPERM, {SYS_clone, {CLONE_NEWUSER | SIGCHLD}}},
    {"child", EPERM, {SYS_clone, {HIGH | CLONE_NEWNS | SIGCHLD}}},
    {"child", EPERM, {SYS_clone, {CLONE_NEWPID | CLONE_VM}}},
    {"child", FREE, {SYS_clone, {CLONE_THREAD}}},
    {"child", EPERM, {SYS_unshare, {CLONE_NEWUSER}}},
    {"child", EPERM, {SYS_setns, {NONE, 0}}},
    {"child", ENOSYS, {SYS_clone3, {NONE, NONE}}},
    {"child", ENOSYS, {SYS_openat2, {NONE, NONE, NONE, NONE}}},
    {"exec", FREE, {SYS_clone3, {NONE, NONE}}},
    {"worker", FREE, {SYS_openat2, {NONE, NONE, NONE, NONE}}},
    /* sockets */
    {"child", EPERM, {SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}}},
    {"child", EPERM, {SYS_socket, {AF_PACKET, SOCK_RAW, 0}}},
    {"child", EPERM, {SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}}},
    {"child", EPERM, {SYS_socket, {HIGH | AF_ALG, SOCK_SEQPACKET, 0}}},
    {"child", EPERM, {SYS_socket, {AF_INET, SOCK_RAW, 1}}},
    {"child", EPERM, {SYS_socket, {AF_INET, SOCK_DCCP, 0}}},
    {"child", EPERM, {SYS_socket, {AF_INET, SOCK_STREAM, 132}}},
    {"child", EPERM, {SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_AUDIT}}},
    {"child", FREE, {SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}}},
    {"child", FREE, {SYS_socket, {AF_UNIX, SOCK_STREAM, 0}}},
    {"child_no_unix", EPERM, {SYS_socket, {AF_UNIX, SOCK_DGRAM, 0}}},
    {"child_no_unix", FREE, {SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, NONE}}},
    {"child_no_unix", EPERM, {SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0, NONE}}},
    {"child_no_unix", EPERM,
	{SYS_socketpair, {AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0, NONE}}},
    {"child_no_unix", FREE, {SYS_socket, {AF_INET, SOCK_STREAM, 0}}},
    {"sweeper", KILLED, {SYS_openat, {NONE, NONE, O_WRONLY, 0}}},
    {"sweeper", KILLED, {SYS_openat, {NONE, NONE, O_CREAT, 0}}},
    {"sweeper", KILLED, {452 /* fchmodat2 */, {NONE, NONE, 0755, 0}}},
    {"sweeper", FREE, {SYS_openat, {NONE, NONE, O_DIRECTORY, 0}}},
    {"child_no_network", EPERM, {SYS_socket, {AF_INET, SOCK_DGRAM, 0}}},
    {"child_no_network", EPERM, {SYS_socket, {HIGH | AF_INET6, SOCK_DGRAM, 0}}},
    {"child_no_network", EPERM,
	{SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}}},
    {"child_no_network", FREE, {SYS_socket, {AF_UNIX, SOCK_STREAM, 0}}},
    {"child_no_attributes", EPERM, {SYS_fchmod, {NONE, 0600}}},
    {"child_no_attributes", EPERM, {SYS_fchownat, {NONE, NONE, 0, 0, 0}}},
    {"child_no_attributes", EPERM, {SYS_utimensat, {NONE, NONE, NONE, 0}}},
    {"child_no_attributes", EPERM, {SYS_fsetxattr, {NONE, NONE, NONE, 0, 0}}},
    {"child_no_attributes", FREE, {SYS_ftruncate, {NONE, 0}}},
    {"child_bare", EPERM, {SYS_prlimit64, {1, RLIMIT_NOFILE, NONE, NONE}}},
    {"child_bare", FREE, {SYS_prlimit64, {0, RLIMIT_NOFILE, NONE, NONE}}},
    {"child_bare", EPERM, {SYS_setpriority, {PRIO_USER, 0, 19}}},
    {"child_bare", EPERM, {SYS_setpriority, {PRIO_PROCESS, 1, 19}}},
    {"child_bare", FREE, {SYS_setpriority, {PRIO_PROCESS, 0, 0}}},
    {"child_bare", EPERM, {SYS_sched_setaffinity, {1, 8, NONE}}},
    {"child_bare", FREE, {SYS_sched_setaffinity, {0, 8, NONE}}},
    {"child_bare", EPERM, {SYS_shmat, {0, NONE, 0}}},
    {"child_bare", EPERM, {SYS_msgrcv, {0, NONE, 0, 0, 0}}},
    {"child_bare", EPERM, {SYS_mq_open, {NONE, 0, 0, NONE}}},
    {"child_bare", EPERM, {SYS_ioctl, {NONE, FS_IOC_SETFLAGS, NONE}}},
    {"child", FREE, {SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 6}}},
    {"child", FREE, {SYS_socket, {AF_INET6, SOCK_DGRAM, 17}}},
    {"net", KILLED, {SYS_socket, {AF_INET, SOCK_STREAM, 0}}},
    /* other personalities have other system calls */
    {"child", EPERM, {SYS_personality, {READ_IMPLIES_EXEC}}},
    {"child", EPERM, {SYS_personality, {PER_SVR4}}},
    {"child", FREE, {SYS_personality, {0xffffffff}}},
    {"child", FREE, {SYS_personality, {HIGH | ADDR_NO_RANDOMIZE}}},
    /* what net may do with sockets, memory and files */
    {"net", KILLED, {SYS_accept4, {NONE, NONE, NONE, O_CLOEXEC}}},
    {"net", KILLED, {SYS_accept4, {ROLE_FD_LISTENER, 0, 0, SOCK_CLOEXEC}}},
    {"net", KILLED, {SYS_recvfrom, {NONE, NONE, 0, MSG_OOB}}},
    {"net", KILLED, {SYS_recvfrom, {NONE, NONE, 0, 0, HIGH}}},
    {"net", FREE, {SYS_recvfrom, {NONE, NONE, 0, 0, 0, 0}}},
    {"net", KILLED, {SYS_sendto, {NONE, NONE, 0, MSG_NOSIGNAL, HIGH}}},
    {"net", FREE, {SYS_sendto, {NONE, NONE, 0, MSG_NOSIGNAL, 0}}},
    {"net", KILLED, {SYS_recvmsg, {NONE, NONE, MSG_DONTWAIT}}},
    {"net", FREE, {SYS_recvmsg, {NONE, NONE, LOOP_FLAGS}}},
    {"net", KILLED, {SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, 34, NONE}}},
    {"net", FREE, {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, 34, NONE}}},
    {"net", KILLED, {SYS_mprotect, {NONE, 4096, PROT_EXEC}}},
    {"net", EACCES, {SYS_openat, {NONE, NONE, O_RDONLY}}},
    {"net", KILLED, {SYS_prctl, {PR_SET_DUMPABLE, 1}}},
    {"net", FREE, {SYS_prctl, {PR_GET_DUMPABLE}}},
    {"net", KILLED, {SYS_fcntl, {NONE, F_SETFL, 0}}},
    {"net", FREE, {SYS_fcntl, {NONE, F_SETFL, O_NONBLOCK}}},
    {"net", KILLED, {SYS_execve, {NONE, NONE, NONE}}},
    {"net", KILLED, {SYS_ptrace, {0, 0, 0, 0}}},
    {"init", KILLED, {SYS_openat, {NONE, NONE, O_RDONLY}}},
    {"init", KILLED, {SYS_execve, {NONE, NONE, NONE}}},
    {"worker", KILLED, {SYS_execve, {NONE, NONE, NONE}}},
    {"worker", KILLED, {SYS_socket, {AF_UNIX, SOCK_STREAM, 0}}},
    {"bridge", KILLED, {SYS_execve, {NONE, NONE, NONE}}},
    {"bridge", KILLED, {SYS_openat, {NONE, NONE, O_RDONLY, 0}}},
    {"bridge", KILLED, {SYS_clone, {0, NONE}}},
    {"bridge", KILLED, {SYS_socket, {AF_UNIX, SOCK_STREAM, 0}}},
    {"bridge", KILLED, {SYS_newfstatat, {NONE, NONE, NONE, 0}}},
    {"bridge", FREE, {SYS_newfstatat, {NONE, NONE, NONE, AT_EMPTY_PATH}}},
    {"bridge", FREE, {SYS_read, {NONE, NONE, 0}}},
};

static void
arguments_decide_by_what_the_kernel_reads(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(argument_cases); i++) {
		const struct argument_case *c = &argument_cases[i];
		int want = c->want, got;

		if (want == FREE)
			want = probe(NULL, &c->call);
		got = probe(filter_named(c->filter), &c->call);
		if (got != want)
			fail_msg("row %zu: %s: call %ld ended with %d, not %d",
			    i, c->filter, c->call.nr, got, want);
	}
}

/* --- other ways in ---------------------------------------------------------
 */

#if defined(__x86_64__)
static int
probe_int80(const struct filter *f)
{
	pid_t pid = fork();
	long nr = 20; /* getpid of i386 */

	assert_true(pid >= 0);
	if (pid > 0)
		return outcome(pid);
	reset_signals();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    (f != NULL && lockdown(f->program) < 0))
		_exit(254);
	__asm__ volatile("int $0x80"
			 : "+a"(nr)
			 :
			 : "memory", "r8", "r9", "r10", "r11");
	_exit(0);
}

static void
other_abis_are_killed(void **state)
{
	/* getpid and write of x32, and what stands for no call at all. */
	static const long numbers[] = {0x40000027, 0x40000001, -1};

	(void)state;
	for (size_t i = 0; i < COUNT(filters); i++) {
		for (size_t n = 0; n < COUNT(numbers); n++) {
			struct call c = {.nr = numbers[n]};

			assert_int_equal(probe(&filters[i], &c), KILLED);
		}
		/* A kernel without 32 bit programs faults instead. */
		if (probe_int80(NULL) == 0)
			assert_int_equal(probe_int80(&filters[i]), KILLED);
	}
}
#endif

/* The stricter of two filters counts, so a descendant of exec keeps its own. */
static void
a_filter_below_another_still_holds(void **state)
{
	static const char *const above[] = {"supervisor", "exec"};
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < COUNT(above); i++) {
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			reset_signals();
			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
			    lockdown(filter_named(above[i])->program) < 0 ||
			    lockdown(&filter_net) < 0)
				_exit(254);
			(void)syscall(SYS_getppid);
			_exit(0);
		}
		assert_int_equal(outcome(pid), KILLED);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_ends_as_its_policy_says),
		cmocka_unit_test(arguments_decide_by_what_the_kernel_reads),
#if defined(__x86_64__)
		cmocka_unit_test(other_abis_are_killed),
#endif
		cmocka_unit_test(a_filter_below_another_still_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
