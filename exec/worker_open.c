#include "exec/worker_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The kernel headers of the oldest supported systems lack these two. */
#ifndef F2FS_SUPER_MAGIC
#define F2FS_SUPER_MAGIC 0xF2F52010
#endif
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

#define OPEN_FLAGS (O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

static int
not_a_file(const struct stat *st, enum fs_failure *why)
{
	*why = FS_FAILURE_NOT_A_FILE;
	return S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL;
}

/* Take what was opened if it is regular. */
static int
take_regular(int opened, struct stat *st, enum fs_failure *why)
{
	scoped_fd fd = opened;

	if (fstat(fd, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return not_a_file(st, why);
	return fd_take(&fd);
}

int
worker_open_read(int dir_fd, const char *name, int flags, struct stat *st,
    enum fs_failure *why)
{
	int fd, at = flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;

	if (fstatat(dir_fd, name, st, at) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return not_a_file(st, why);
	fd = openat(dir_fd, name, O_RDONLY | OPEN_FLAGS | flags);
	return fd < 0 ? -errno : take_regular(fd, st, why);
}

int
worker_open_unset_ids(int fd, mode_t mode)
{
	if ((mode & (S_ISUID | S_ISGID)) == 0)
		return 0;
	if (fchmod(fd, mode & 01777) == 0 || errno == EPERM)
		return 0;
	return -errno;
}

int
worker_open_write(const char *path, struct stat *st, enum fs_failure *why)
{
	scoped_fd fd = -1;
	int r;

	if (stat(path, st) == 0 && !S_ISREG(st->st_mode))
		return not_a_file(st, why);
	fd = open(path, O_WRONLY | O_CREAT | OPEN_FLAGS, 0666);
	if (fd < 0)
		return -errno;
	fd = take_regular(fd_take(&fd), st, why);
	if (fd < 0)
		return fd;
	r = worker_open_unset_ids(fd, st->st_mode);
	return r < 0 ? r : fd_take(&fd);
}

int
worker_open_is_local(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
		return 1;
	default:
		return 0;
	}
}
