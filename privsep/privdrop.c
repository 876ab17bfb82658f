#include "privsep/privdrop.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

static int
capget_raw(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &h, data) < 0 ? -errno : 0;
}

static int
capset_raw(uint64_t keep)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
	    {.effective = (uint32_t)keep, .permitted = (uint32_t)keep},
	    {.effective = (uint32_t)(keep >> 32),
		.permitted = (uint32_t)(keep >> 32)},
	};

	return syscall(SYS_capset, &h, data) < 0 ? -errno : 0;
}

static uint64_t
wide(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

int
privdrop_caps_read(struct caps *out)
{
	struct __user_cap_data_struct d[2];
	struct caps c = {0};
	int r = capget_raw(d);

	if (r < 0)
		return r;
	c.effective = wide(d[0].effective, d[1].effective);
	c.permitted = wide(d[0].permitted, d[1].permitted);
	c.inheritable = wide(d[0].inheritable, d[1].inheritable);
	for (unsigned long cap = 0; cap < 64; cap++) {
		int has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (has < 0)
			break; /* past the kernel's last capability */
		if (has)
			c.bounding |= CAP_BIT(cap);
	}
	*out = c;
	return 0;
}

int
privdrop_bounding(uint64_t keep)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (keep & CAP_BIT(cap))
			continue;
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) < 0)
			break;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
	}
	return 0;
}

int
privdrop_caps(uint64_t keep, bool drop_bounding)
{
	struct caps now;
	int r = 0;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	if (drop_bounding)
		r = privdrop_bounding(keep);
	if (r == 0)
		r = capset_raw(keep);
	if (r == 0)
		r = privdrop_caps_read(&now);
	if (r < 0)
		return r;
	if (now.effective != keep || now.permitted != keep ||
	    now.inheritable != 0 || (drop_bounding && (now.bounding & ~keep)))
		return -EPERM;
	return 0;
}

int
privdrop_ids(uid_t uid, gid_t gid, bool clear_groups)
{
	uid_t ru, eu, su;
	gid_t rg, eg, sg;

	/* Raw calls: libc's would signal threads, of which there are none. */
	if (clear_groups && syscall(SYS_setgroups, 0, NULL) < 0)
		return -errno;
	if (syscall(SYS_setresgid, gid, gid, gid) < 0)
		return -errno;
	if (syscall(SYS_setresuid, uid, uid, uid) < 0)
		return -errno;
	if (getresuid(&ru, &eu, &su) < 0 || getresgid(&rg, &eg, &sg) < 0)
		return -errno;
	if (ru != uid || eu != uid || su != uid || rg != gid || eg != gid ||
	    sg != gid)
		return -EPERM;
	if (clear_groups && getgroups(0, NULL) != 0)
		return -EPERM;
	return 0;
}

int
privdrop_rlimit(int resource, rlim_t value)
{
	struct rlimit64 now, want;

	if (syscall(SYS_prlimit64, 0, resource, NULL, &now) < 0)
		return -errno;
	if (value > now.rlim_max)
		value = now.rlim_max;
	want = (struct rlimit64){.rlim_cur = value, .rlim_max = value};
	if (syscall(SYS_prlimit64, 0, resource, &want, NULL) < 0)
		return -errno;
	if (syscall(SYS_prlimit64, 0, resource, NULL, &now) < 0)
		return -errno;
	return now.rlim_cur == value && now.rlim_max == value ? 0 : -EPERM;
}

int
privdrop_no_new_privs(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -EPERM;
}

int
privdrop_undumpable(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -EPERM;
}

/* struct landlock_ruleset_attr as of ABI 6; older headers lack members. */
struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

#define NET_BIND    UINT64_C(1) /* of TCP */
#define NET_CONNECT UINT64_C(2)

/* network: what of it is denied. */
static int
landlock_deny(uint64_t network)
{
	/* Bits of file access that ABI 1, 2, 3, 4 and 5 know: the n-th adds
	 * REFER, TRUNCATE, (network) and IOCTL_DEV. */
	static const unsigned int fs_bits[] = {0, 13, 14, 15, 15, 16};
	struct ruleset_attr attr = {0};
	size_t size = sizeof attr.handled_access_fs;
	scoped_fd fd = -1;
	long abi;

	abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	attr.handled_access_fs =
	    (UINT64_C(1) << fs_bits[abi > 5 ? 5 : abi]) - 1;
	if (abi >= 4) {
		attr.handled_access_net = network;
		size += sizeof attr.handled_access_net;
	}
	if (abi >= 6) {
		attr.scoped = 3; /* abstract sockets and signals */
		size += sizeof attr.scoped;
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return -errno;
	return (int)abi;
}

int
privdrop_landlock_nothing(void)
{
	return landlock_deny(NET_BIND | NET_CONNECT);
}

int
privdrop_landlock_network(void)
{
	return landlock_deny(NET_BIND);
}

int
privdrop_end_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	/* One that died before the first call would be missed. */
	return getppid() == parent ? 0 : -ESRCH;
}

int
privdrop_close_from(int first)
{
	if (syscall(SYS_close_range, first, ~0U, 0) < 0)
		return -errno;
	return 0;
}
