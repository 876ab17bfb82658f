#include "exec/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int
mount_clone(int dirfd, const char *path, struct err *e)
{
	unsigned int flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
	int fd;

	if (path[0] == '\0')
		flags |= AT_EMPTY_PATH;
	fd = open_tree(dirfd, path, flags);
	return fd < 0 ? err_errno(e, errno, "clone mount %s", path) : fd;
}

int
mount_attr(int fd, uint64_t set, uint64_t clear, bool recursive, struct err *e)
{
	struct mount_attr attr = {.attr_set = set, .attr_clr = clear};
	unsigned int flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0u);

	if (mount_setattr(fd, "", flags, &attr, sizeof attr) < 0)
		return err_errno(e, errno, "mount attributes");
	return 0;
}

int
mount_map_ids(int fd, int userns_fd)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP,
	    .userns_fd = (unsigned int)userns_fd};

	if (mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
		sizeof attr) < 0)
		return -errno;
	return 0;
}

int
mount_attach(int fd, const char *path, struct err *e)
{
	if (move_mount(fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_errno(e, errno, "mount on %s", path);
	return 0;
}

int
mount_attach_at(int fd, int at)
{
	const unsigned int flags =
	    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;

	return move_mount(fd, "", at, "", flags) < 0 ? -errno : 0;
}

int
mount_tmpfs(const char *path, const char *options, struct err *e)
{
	if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return err_errno(e, errno, "mount tmpfs on %s", path);
	return 0;
}

int
mount_read_only(const char *path, struct err *e)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

	if (mount_setattr(AT_FDCWD, path, 0, &attr, sizeof attr) < 0)
		return err_errno(e, errno, "make %s read-only", path);
	return 0;
}

int
mount_writable(const char *path, struct err *e)
{
	struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

	if (mount_setattr(AT_FDCWD, path, 0, &attr, sizeof attr) < 0)
		return err_errno(e, errno, "make %s writable", path);
	return 0;
}

int
mount_is_root(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
		return -errno;
	return (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

int
mount_pin(const char *path, bool read_only, struct err *e)
{
	scoped_fd at = open(path, O_PATH | O_CLOEXEC), fd = -1;
	int r;

	if (at < 0)
		return err_errno(e, errno, "open %s", path);
	r = read_only ? 0 : mount_is_root(at);
	if (r != 0)
		return r < 0 ? err_errno(e, -r, "look at %s", path) : 0;
	fd = mount_clone(at, "", e);
	if (fd < 0)
		return fd;
	if (read_only) {
		r = mount_attr(fd, MOUNT_ATTR_RDONLY, 0, true, e);
		if (r < 0)
			return r;
	}
	r = mount_attach_at(fd, at);
	return r < 0 ? err_errno(e, -r, "mount on %s", path) : 0;
}

/* pivot_root(".", ".") stacks the old root on the new one, from where it is
 * detached: pivot_root(2), NOTES. */
int
mount_pivot(struct err *e)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_errno(e, errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return err_errno(e, errno, "detach the old root");
	return 0;
}
