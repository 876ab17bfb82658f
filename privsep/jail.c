#include "privsep/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static int
write_file(const char *path, const char *text, struct err *e)
{
	scoped_fd fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0)
		return err_errno(e, errno, "open %s", path);
	if (write(fd, text, len) != (ssize_t)len)
		return err_errno(e, errno, "write %s", path);
	return 0;
}

int
jail_enter_userns(struct err *e)
{
	unsigned int uid = geteuid(), gid = getegid();
	char map[64];
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return err_errno(e, errno, "user namespace");
	/* A plain user may map its gid only after giving up setgroups(2):
	 * user_namespaces(7). */
	r = write_file("/proc/self/setgroups", "deny", e);
	if (r < 0)
		return r;
	(void)snprintf(map, sizeof map, "%u %u 1", gid, gid);
	r = write_file("/proc/self/gid_map", map, e);
	if (r < 0)
		return r;
	(void)snprintf(map, sizeof map, "%u %u 1", uid, uid);
	return write_file("/proc/self/uid_map", map, e);
}

/*
 * The new root is mounted on /proc only because that directory is sure to
 * exist; pivot_root(".", ".") then stacks the old root on the new one, from
 * where it is detached: pivot_root(2), NOTES.
 */
static int
empty_root(struct err *e)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_errno(e, errno, "make mounts private");
	if (mount("none", "/proc", "tmpfs", flags, "size=4k,mode=0555") < 0)
		return err_errno(e, errno, "mount an empty root");
	if (chdir("/proc") < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return err_errno(e, errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return err_errno(e, errno, "detach the old root");
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY | flags, NULL) < 0)
		return err_errno(e, errno, "make the root read-only");
	return 0;
}

static int
enter(int flags, struct namespaces *entered, struct err *e)
{
	int r;

	if (geteuid() != 0) {
		r = jail_enter_userns(e);
		if (r < 0)
			return r;
	}
	if (unshare(flags) < 0)
		return err_errno(e, errno, "namespaces");
	r = namespaces_read(entered);
	if (r < 0)
		return err_errno(e, -r, "read namespaces");
	return empty_root(e);
}

int
jail_enter(struct namespaces *entered, struct err *e)
{
	return jail_enter_without(0, entered, e);
}

int
jail_enter_without(uint32_t lacks, struct namespaces *entered, struct err *e)
{
	int flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS, r;

	if ((lacks & ROLE_NS_MNT) == 0)
		return enter(flags |
				 ((lacks & ROLE_NS_NET) != 0 ? 0
							     : CLONE_NEWNET),
		    entered, e);
	r = namespaces_read(entered);
	return r < 0 ? err_errno(e, -r, "read namespaces") : 0;
}

int
jail_enter_networked(struct namespaces *entered, struct err *e)
{
	return enter(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS, entered, e);
}
