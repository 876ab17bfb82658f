/* Calls that no program needs. Their arguments are such that the kernel itself
 * says something other than EPERM or ENOSYS, or does nothing: whoever gets
 * that answer has passed the filter. */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

#define RUN(name)                                                              \
	static void name(const struct attempt *a __attribute__((unused)),      \
	    const struct world *w __attribute__((unused)), struct result *r)

#define SYS_MOUNT_SETATTR    442
#define SYS_QUOTACTL_FD	     443
#define SYS_PROCESS_MRELEASE 448
#define SYS_STATMOUNT	     457
#define SYS_LISTMOUNT	     458
#define SYS_LSM_LIST_MODULES 461
#define SYS_OPEN_TREE_ATTR   467

/* Whether a call went past the filter. ENOSYS without a sandbox: not there. */
static void
passed(const struct world *w, struct result *r, long got)
{
	bool refused = got < 0 && (errno == EPERM || errno == ENOSYS);
	const char *why = got < 0 ? strerror(errno) : "success";

	if (w->outside && refused)
		attempt_say(r, CANNOT_TELL, "the kernel says %s by itself",
		    why);
	else
		attempt_say(r, refused ? CONTAINED : ESCAPED, "%s", why);
}

RUN(call)
{
	const long *g = a->arg;

	passed(w, r, syscall(a->nr, g[0], g[1], g[2], g[3], g[4], g[5]));
}

/* A process made with flags; it ends at once. */
RUN(clone_flags)
{
	long got = syscall(SYS_clone, a->arg[0] | SIGCHLD, 0, 0, 0, 0);

	if (got == 0)
		_exit(0);
	passed(w, r, got);
}

RUN(clone3_flags)
{
	/* struct clone_args: flags, pidfd, child_tid, parent_tid, signal. */
	unsigned long long args[8] = {(unsigned long long)a->arg[0], 0, 0, 0,
	    SIGCHLD};
	long got = syscall(SYS_clone3, args, sizeof args);

	if (got == 0)
		_exit(0);
	passed(w, r, got);
}

#define CALL(name, nr, ...)                                                    \
	{                                                                      \
		name, "seccomp", IN_ALL, call, nr,                             \
		{                                                              \
			__VA_ARGS__                                            \
		}                                                              \
	}
#define CLONE(name, run, flags)                                                \
	{                                                                      \
		name, "seccomp", IN_ALL, run, 0,                               \
		{                                                              \
			flags                                                  \
		}                                                              \
	}
#define SOCKET(name, ...) CALL(name, SYS_socket, __VA_ARGS__)
#define NOWHERE		  (long)"/nonexistent"

const struct attempt attempts_calls[] = {
    CALL("io_uring_setup", SYS_io_uring_setup, 0, 0),
    CALL("io_uring_enter", SYS_io_uring_enter, -1),
    CALL("io_uring_register", SYS_io_uring_register, -1),
    CALL("bpf", SYS_bpf, 0, 0, 0),
    CALL("keyctl", SYS_keyctl, KEYCTL_GET_KEYRING_ID, -4, 0),
    CALL("add_key", SYS_add_key, (long)"user", (long)"escape", (long)"x", 1,
	KEY_SPEC_THREAD_KEYRING),
    CALL("request_key", SYS_request_key, (long)"user", NOWHERE, 0, 0),
    CALL("userfaultfd", SYS_userfaultfd, 0),
    CALL("perf_event_open", SYS_perf_event_open, 0, 0, -1, -1, 0),
    CALL("name_to_handle_at", SYS_name_to_handle_at, AT_FDCWD, NOWHERE),
    CALL("open_by_handle_at", SYS_open_by_handle_at, -1),
    CALL("quotactl", SYS_quotactl, 0x80000100, 0, 0, 0),
    CALL("quotactl_fd", SYS_QUOTACTL_FD, -1),
    CALL("kexec_load", SYS_kexec_load, 0, 17),
    CALL("kexec_file_load", SYS_kexec_file_load, -1, -1, 0, 0, 0x80),
    CALL("syslog", SYS_syslog, 10),
    CALL("init_module", SYS_init_module, 0, 0, (long)""),
    CALL("finit_module", SYS_finit_module, -1, (long)"", 0),
    CALL("delete_module", SYS_delete_module, NOWHERE, 0x800),
    CALL("swapon", SYS_swapon, NOWHERE, 0),
    CALL("swapoff", SYS_swapoff, NOWHERE),
    CALL("reboot", SYS_reboot, 0, 0, 0, 0),
    CALL("acct", SYS_acct, NOWHERE),
    CALL("settimeofday", SYS_settimeofday, 0, 0),
    CALL("clock_settime", SYS_clock_settime, 0, 0),
    CALL("clock_adjtime", SYS_clock_adjtime, 0, 0),
    CALL("adjtimex", SYS_adjtimex, 0),
    CALL("sethostname", SYS_sethostname, 0, 1),
    CALL("setdomainname", SYS_setdomainname, 0, 1),
    CALL("fanotify_init", SYS_fanotify_init, 0, 0),
    CALL("process_madvise", SYS_process_madvise, -1),
    CALL("process_mrelease", SYS_PROCESS_MRELEASE, -1),
    CALL("migrate_pages", SYS_migrate_pages, 0, 0, 0, 0),
    CALL("mbind", SYS_mbind, 0, 0, 0, 0, 0, 0),
    CALL("set_mempolicy", SYS_set_mempolicy, 0, 0, 0),
    CALL("memfd_secret", SYS_memfd_secret, 1),
    CALL("personality", SYS_personality, READ_IMPLIES_EXEC),
    CALL("io_setup", SYS_io_setup, 0, 0),
    /* The mount calls, old and new. */
    CALL("mount", SYS_mount, NOWHERE, NOWHERE, 0, 0, 0),
    CALL("umount2", SYS_umount2, NOWHERE, 0),
    CALL("pivot_root", SYS_pivot_root, NOWHERE, NOWHERE),
    CALL("open_tree", SYS_open_tree, AT_FDCWD, NOWHERE, 0),
    CALL("open_tree-clone", SYS_open_tree, AT_FDCWD, (long)"/",
	OPEN_TREE_CLONE),
    CALL("open_tree_attr", SYS_OPEN_TREE_ATTR, AT_FDCWD, NOWHERE, 0, 0, 0),
    CALL("move_mount", SYS_move_mount, -1, (long)"", -1, (long)"", 0x44),
    CALL("mount_setattr", SYS_MOUNT_SETATTR, -1, (long)"", 0, 0, 0),
    CALL("fsopen", SYS_fsopen, (long)"tmpfs", 0),
    CALL("fsconfig", SYS_fsconfig, -1),
    CALL("fsmount", SYS_fsmount, -1),
    CALL("fspick", SYS_fspick, AT_FDCWD, NOWHERE, 0),
    CALL("statmount", SYS_STATMOUNT, 0),
    CALL("listmount", SYS_LISTMOUNT, 0),
    CALL("lsm_list_modules", SYS_LSM_LIST_MODULES, 0),
    /* Namespaces. */
    CALL("unshare-user", SYS_unshare, CLONE_NEWUSER),
    CALL("unshare-user-mount", SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS),
    CALL("unshare-mount", SYS_unshare, CLONE_NEWNS),
    CALL("unshare-pid", SYS_unshare, CLONE_NEWPID),
    CALL("unshare-net", SYS_unshare, CLONE_NEWNET),
    CALL("unshare-ipc", SYS_unshare, CLONE_NEWIPC),
    CALL("unshare-uts", SYS_unshare, CLONE_NEWUTS),
    CALL("unshare-cgroup", SYS_unshare, CLONE_NEWCGROUP),
    CALL("unshare-time", SYS_unshare, CLONE_NEWTIME),
    CALL("setns", SYS_setns, -1, 0),
    CLONE("clone-user", clone_flags, CLONE_NEWUSER),
    CLONE("clone-user-mount", clone_flags, CLONE_NEWUSER | CLONE_NEWNS),
    CLONE("clone-mount", clone_flags, CLONE_NEWNS),
    CLONE("clone-pid", clone_flags, CLONE_NEWPID),
    CLONE("clone-net", clone_flags, CLONE_NEWNET),
    CLONE("clone3-user", clone3_flags, CLONE_NEWUSER),
    CLONE("clone3-plain", clone3_flags, 0),
    /* Sockets of other kinds than programs use. */
    SOCKET("socket-vsock", 40, SOCK_STREAM, 0),
    SOCKET("socket-packet", AF_PACKET, SOCK_RAW, 0),
    SOCKET("socket-packet-dgram", AF_PACKET, SOCK_DGRAM, 0),
    SOCKET("socket-alg", AF_ALG, SOCK_SEQPACKET, 0),
    SOCKET("socket-key", AF_KEY, SOCK_RAW, 2),
    SOCKET("socket-xdp", 44, SOCK_RAW, 0),
    SOCKET("socket-can", AF_CAN, SOCK_RAW, 1),
    SOCKET("socket-bluetooth", AF_BLUETOOTH, SOCK_RAW, 1),
    SOCKET("socket-tipc", AF_TIPC, SOCK_STREAM, 0),
    SOCKET("socket-rds", 21, SOCK_SEQPACKET, 0),
    SOCKET("socket-smc", 43, SOCK_STREAM, 0),
    SOCKET("socket-raw", AF_INET, SOCK_RAW, 255),
    SOCKET("socket-raw6", AF_INET6, SOCK_RAW, 255),
    SOCKET("socket-sctp", AF_INET, SOCK_STREAM, 132),
    SOCKET("socket-mptcp", AF_INET, SOCK_STREAM, 262),
    SOCKET("netlink-uevent", AF_NETLINK, SOCK_RAW, 15),
    SOCKET("netlink-netfilter", AF_NETLINK, SOCK_RAW, 12),
    SOCKET("netlink-audit", AF_NETLINK, SOCK_RAW, 9),
    SOCKET("netlink-xfrm", AF_NETLINK, SOCK_RAW, 6),
    SOCKET("netlink-generic", AF_NETLINK, SOCK_RAW, 16),
    SOCKET("netlink-diag", AF_NETLINK, SOCK_RAW, 4),
    /* The protocol in the lower half, something else in the upper. */
    SOCKET("socket-dirty-bits", (long)(0xdead00000000ul | AF_PACKET),
	(long)(0xdead00000000ul | SOCK_RAW), 0),
#ifdef __x86_64__
    CALL("iopl", SYS_iopl, 0),
    CALL("ioperm", SYS_ioperm, 0x80, 1, 0),
    CALL("modify_ldt", SYS_modify_ldt, 0, 0, 0),
    /* A number of the x32 ABI: getpid. */
    CALL("x32", 0x40000000 | SYS_getpid, 0),
    CALL("x32-unshare", 0x40000000 | SYS_unshare, CLONE_NEWUSER),
#endif
    {0},
};
