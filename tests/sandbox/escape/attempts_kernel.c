/* The surface of the kernel: calls that must not be there. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

/* The call was refused by a filter, not by the kernel's own look at senseless
 * arguments. */
static enum outcome
refused(long nr, long a, long b, long c)
{
	long r = syscall(nr, a, b, c, 0, 0, 0);

	return escaped_if(r >= 0 || (errno != EPERM && errno != ENOSYS));
}

#define CALL(name, nr, a, b, c)                                                \
	static enum outcome name(void)                                         \
	{                                                                      \
		return refused(nr, a, b, c);                                   \
	}

CALL(io_uring_setup, SYS_io_uring_setup, 1, 0, 0)
CALL(io_uring_enter, SYS_io_uring_enter, -1, 0, 0)
CALL(io_uring_register, SYS_io_uring_register, -1, 0, 0)
CALL(bpf, SYS_bpf, 0, 0, 0)
CALL(keyctl_call, SYS_keyctl, 0, -3, 0)
CALL(add_key, SYS_add_key, 0, 0, 0)
CALL(request_key, SYS_request_key, 0, 0, 0)
CALL(userfaultfd, SYS_userfaultfd, -1, 0, 0)
CALL(perf, SYS_perf_event_open, 0, 0, 0)
CALL(unshare_user, SYS_unshare, CLONE_NEWUSER, 0, 0)
CALL(unshare_mount, SYS_unshare, CLONE_NEWNS, 0, 0)
CALL(setns_call, SYS_setns, -1, 0, 0)
CALL(clone_3, SYS_clone3, 0, 0, 0)
CALL(mount_call, SYS_mount, 0, 0, 0)
CALL(umount_call, SYS_umount2, 0, 0, 0)
CALL(pivot, SYS_pivot_root, 0, 0, 0)
CALL(change_root, SYS_chroot, 0, 0, 0)
CALL(open_tree_call, SYS_open_tree, -1, 0, 0)
CALL(move_mount_call, SYS_move_mount, -1, 0, -1)
CALL(fsopen_call, SYS_fsopen, 0, 0, 0)
CALL(mount_setattr_call, SYS_mount_setattr, -1, 0, 0)
CALL(by_handle, SYS_open_by_handle_at, -1, 0, 0)
CALL(handle_of, SYS_name_to_handle_at, -1, 0, 0)
CALL(fanotify, SYS_fanotify_init, ~0L, 0, 0)
CALL(init_module, SYS_init_module, 0, 0, 0)
CALL(finit_module, SYS_finit_module, -1, 0, 0)
CALL(delete_module, SYS_delete_module, 0, 0, 0)
CALL(kexec, SYS_kexec_load, 0, ~0L, 0)
CALL(reboot_call, SYS_reboot, 0, 0, 0)
CALL(kernel_log, SYS_syslog, -1, 0, 0)
CALL(quota, SYS_quotactl, 0, 0, 0)
CALL(swap, SYS_swapon, 0, 0, 0)
CALL(accounting, SYS_acct, 1, 0, 0)
CALL(host_name, SYS_sethostname, 0, -1, 0)
CALL(clock_set, SYS_clock_settime, 99, 0, 0)
CALL(set_time, SYS_settimeofday, 1, 1, 0)
CALL(adjust_time, SYS_adjtimex, 0, 0, 0)
CALL(move_pages, SYS_move_pages, -1, 0, 0)
CALL(personality_bits, SYS_personality, 0x0400000, 0, 0)
#ifdef __x86_64__
CALL(io_privilege, SYS_iopl, 0, 0, 0)
CALL(io_ports, SYS_ioperm, -1, 0, 0)
CALL(ldt, SYS_modify_ldt, 99, 0, 0)
#endif

static enum outcome
clone_user(void)
{
	long r = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (r == 0)
		_exit(0);
	return escaped_if(r > 0);
}

static enum outcome
killed_by_filter(void (*run)(void))
{
	int status = attempt_forked(run);

	return escaped_if(!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS);
}

#ifdef __x86_64__
static void
call_x32(void)
{
	(void)syscall(0x40000000 | SYS_getpid);
}

static void
call_i386(void)
{
	long r = 20; /* getpid */

	__asm__ volatile("int $0x80" : "+a"(r) : : "memory");
}

static enum outcome
number_of_x32(void)
{
	return killed_by_filter(call_x32);
}

static enum outcome
call_of_i386(void)
{
	return killed_by_filter(call_i386);
}
#endif

/* --- terminals ------------------------------------------------------------ */

static enum outcome
terminal_call(unsigned long request)
{
	int tty = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	char c = 'x';
	long r = syscall(SYS_ioctl, tty, request, &c);

	return escaped_if(r == 0 || errno != EPERM);
}

static enum outcome
type_into_terminal(void)
{
	return terminal_call(TIOCSTI);
}

static enum outcome
type_with_high_bits(void)
{
	return terminal_call(TIOCSTI | 1ul << 32);
}

static enum outcome
console_call(void)
{
	return terminal_call(0x541c); /* TIOCLINUX */
}

static enum outcome
line_discipline(void)
{
	return terminal_call(TIOCSETD);
}

/* --- sockets of other kinds ----------------------------------------------- */

static enum outcome
socket_of(int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	return escaped_if(fd >= 0 || errno != EPERM);
}

#define SOCKET(name, family, type, protocol)                                   \
	static enum outcome name(void)                                         \
	{                                                                      \
		return socket_of(family, type, protocol);                      \
	}

SOCKET(vsock, AF_VSOCK, SOCK_STREAM, 0)
SOCKET(packet, AF_PACKET, SOCK_RAW, 0)
SOCKET(crypto, AF_ALG, SOCK_SEQPACKET, 0)
SOCKET(raw_ip, AF_INET, SOCK_RAW, 1)
SOCKET(audit, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT)
SOCKET(netfilter, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)
SOCKET(generic, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC)
SOCKET(bluetooth, AF_BLUETOOTH, SOCK_RAW, 1)
SOCKET(can, AF_CAN, SOCK_RAW, 1)
SOCKET(xdp, AF_XDP, SOCK_RAW, 0)
SOCKET(rds, AF_RDS, SOCK_SEQPACKET, 0)
SOCKET(tipc, AF_TIPC, SOCK_SEQPACKET, 0)

const struct attempt attempts_kernel[] = {
    {"io_uring_setup", io_uring_setup},
    {"io_uring_enter", io_uring_enter},
    {"io_uring_register", io_uring_register},
    {"bpf", bpf},
    {"keyctl", keyctl_call},
    {"add_key", add_key},
    {"request_key", request_key},
    {"userfaultfd", userfaultfd},
    {"perf_event_open", perf},
    {"unshare a user namespace", unshare_user},
    {"unshare a mount namespace", unshare_mount},
    {"setns", setns_call},
    {"clone a user namespace", clone_user},
    {"clone3", clone_3},
    {"mount", mount_call},
    {"umount2", umount_call},
    {"pivot_root", pivot},
    {"chroot", change_root},
    {"open_tree", open_tree_call},
    {"move_mount", move_mount_call},
    {"fsopen", fsopen_call},
    {"mount_setattr", mount_setattr_call},
    {"open_by_handle_at", by_handle},
    {"name_to_handle_at", handle_of},
    {"fanotify_init", fanotify},
    {"init_module", init_module},
    {"finit_module", finit_module},
    {"delete_module", delete_module},
    {"kexec_load", kexec},
    {"reboot", reboot_call},
    {"syslog", kernel_log},
    {"quotactl", quota},
    {"swapon", swap},
    {"acct", accounting},
    {"sethostname", host_name},
    {"clock_settime", clock_set},
    {"settimeofday", set_time},
    {"adjtimex", adjust_time},
    {"move_pages", move_pages},
    {"personality", personality_bits},
#ifdef __x86_64__
    {"iopl", io_privilege},
    {"ioperm", io_ports},
    {"modify_ldt", ldt},
    {"a number of x32", number_of_x32},
    {"int 0x80", call_of_i386},
#endif
    {"TIOCSTI", type_into_terminal},
    {"TIOCSTI with high bits", type_with_high_bits},
    {"TIOCLINUX", console_call},
    {"TIOCSETD", line_discipline},
    {"AF_VSOCK", vsock},
    {"AF_PACKET", packet},
    {"AF_ALG", crypto},
    {"a raw socket", raw_ip},
    {"netlink to the audit", audit},
    {"netlink to netfilter", netfilter},
    {"generic netlink", generic},
    {"AF_BLUETOOTH", bluetooth},
    {"AF_CAN", can},
    {"AF_XDP", xdp},
    {"AF_RDS", rds},
    {"AF_TIPC", tipc},
    {NULL, NULL},
};
