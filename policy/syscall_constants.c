/*
 * The names that argument tests may use: only those that policies do use, and
 * only such as have one value on all architectures.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "policy/syscall_text.h"

struct constant {
	const char *name;
	uint64_t value;
};

#define C(name)                                                                \
	{                                                                      \
#name, (uint64_t)(name)                                        \
	}

static const struct constant constants[] = {
    /* Descriptors that a role is born with: privsep/role.h. */
    {"$log", 2},
    {"$supervisor", 3},
    {"$exec", 4},
    {"$listener", 5},
    /* All that clone(2) can make, CLONE_NEWTIME is not among it. */
    {"$namespaces", CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
			CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
			CLONE_NEWNET},
    {"NULL", 0},
    C(AT_EMPTY_PATH),
    C(AF_INET),
    C(AF_INET6),
    C(AF_NETLINK),
    C(AF_UNIX),
    C(NETLINK_ROUTE),
    C(SOCK_CLOEXEC),
    C(SOCK_DGRAM),
    C(SOCK_NONBLOCK),
    C(SOCK_RAW),
    C(SOCK_SEQPACKET),
    C(SOCK_STREAM),
    C(IOPRIO_WHO_PROCESS),
    C(PRIO_PROCESS),
    C(IPPROTO_ICMP),
    C(IPPROTO_ICMPV6),
    C(IPPROTO_TCP),
    C(IPPROTO_UDP),
    C(MSG_CMSG_CLOEXEC),
    C(MSG_DONTWAIT),
    C(MSG_NOSIGNAL),
    C(SHUT_WR),
    C(SPLICE_F_NONBLOCK),
    C(FS_IOC_FSSETXATTR),
    C(FS_IOC_SETFLAGS),
    C(F_ADD_SEALS),
    C(F_GETFL),
    C(F_GET_SEALS),
    C(F_SETFL),
    C(O_ACCMODE),
    C(O_CREAT),
    C(O_CLOEXEC),
    C(O_NOCTTY),
    C(O_NONBLOCK),
    C(O_RDONLY),
    C(O_RDWR),
    C(__O_TMPFILE),
    C(S_IFIFO),
    C(S_IFMT),
    C(S_IFREG),
    C(S_IFSOCK),
    C(S_ISGID),
    C(S_ISUID),
    C(PROT_READ),
    C(PROT_WRITE),
    C(MAP_ANONYMOUS),
    C(MAP_PRIVATE),
    C(MREMAP_MAYMOVE),
    C(MADV_DONTNEED),
    C(ADDR_NO_RANDOMIZE),
    C(PER_LINUX),
    C(PER_LINUX32),
    C(UNAME26),
    C(PR_CAPBSET_READ),
    C(PR_GET_DUMPABLE),
    C(PR_GET_NO_NEW_PRIVS),
    C(PR_GET_SECCOMP),
    C(KEYCTL_JOIN_SESSION_KEYRING),
    C(TCGETS),
    C(TIOCLINUX),
    C(TIOCSETD),
    C(TIOCSTI),
    C(TIOCSWINSZ),
};

static const struct constant errnos[] = {
    C(EPERM),
    C(ENOENT),
    C(ENOMEM),
    C(EACCES),
    C(EINVAL),
    C(ENOSYS),
    C(EOPNOTSUPP),
    C(EAFNOSUPPORT),
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static const struct constant *
find(const struct constant *table, size_t count, struct bytes name)
{
	for (size_t i = 0; i < count; i++)
		if (bytes_is(name, table[i].name))
			return &table[i];
	return NULL;
}

bool
syscall_constant(struct bytes name, uint64_t *out)
{
	const struct constant *c = find(constants, COUNT(constants), name);

	if (c == NULL)
		return false;
	*out = c->value;
	return true;
}

bool
syscall_errno(struct bytes name, int *out)
{
	const struct constant *c = find(errnos, COUNT(errnos), name);

	if (c == NULL)
		return false;
	*out = (int)c->value;
	return true;
}

const char *
syscall_errno_name(int errnum)
{
	for (size_t i = 0; i < COUNT(errnos); i++)
		if (errnos[i].value == (uint64_t)errnum)
			return errnos[i].name;
	return "?";
}
