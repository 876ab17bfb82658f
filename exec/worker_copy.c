#include "exec/worker_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "exec/worker_data.h"
#include "exec/worker_open.h"

#define OPEN_TO (O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Open the destination without touching what it holds. Returns 0 with *fd as
 * -1 if it is the source itself.
 */
static int
open_destination(int dir, const char *name, bool follow,
    const struct stat *source, struct stat *st, int *out)
{
	scoped_fd fd = -1;
	int flags = OPEN_TO | (follow ? 0 : O_NOFOLLOW);

	*out = -1;
	if (fstatat(dir, name, st, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0) {
		if (is_same(st, source))
			return 0;
		if (S_ISLNK(st->st_mode))
			return -EEXIST;
		if (!S_ISREG(st->st_mode))
			return S_ISDIR(st->st_mode) ? -EISDIR : -ENXIO;
	}
	fd = openat(dir, name, flags, source->st_mode & 0777);
	if (fd < 0)
		return errno == ELOOP && !follow ? -EEXIST : -errno;
	if (fstat(fd, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -ENXIO;
	if (!is_same(st, source))
		*out = fd_take(&fd);
	return 0;
}

static int
set_mode(int fd, mode_t present, mode_t wanted)
{
	return present != wanted && fchmod(fd, wanted) < 0 ? -errno : 0;
}

/*
 * The destination never grants more than both files do while it is filled.
 * Times can only be set by the owner; that they stay behind is no failure.
 */
static int
fill(int from, const struct stat *source, int to, const struct stat *st)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
	    source->st_mtim};
	mode_t mode = source->st_mode & 0777;
	mode_t narrow = st->st_mode & 0777 & mode;
	int r = set_mode(to, st->st_mode & 07777, narrow);

	if (r == 0 && ftruncate(to, 0) < 0)
		r = -errno;
	if (r == 0)
		r = worker_data_copy(from, source, to);
	if (r == 0)
		r = set_mode(to, narrow, mode);
	if (r == 0)
		(void)futimens(to, times);
	return r;
}

int
worker_copy_file(int from_dir, const char *name, int to_dir,
    const char *to_name, bool follow)
{
	enum fs_failure ignored;
	scoped_fd from = -1, to = -1;
	struct stat source, st;
	int r;

	from = worker_open_read(from_dir, name, O_NOFOLLOW, &source, &ignored);
	if (from < 0)
		return from;
	r = open_destination(to_dir, to_name, follow, &source, &st, &to);
	return r < 0 || to < 0 ? r : fill(from, &source, to, &st);
}

int
worker_copy_link(int from_dir, const char *name, int to_dir,
    const char *to_name)
{
	char target[PATH_LEN_MAX];
	ssize_t n = readlinkat(from_dir, name, target, sizeof target);

	if (n < 0)
		return -errno;
	if (n == (ssize_t)sizeof target)
		return -ENAMETOOLONG;
	target[n] = '\0';
	return symlinkat(target, to_dir, to_name) < 0 ? -errno : 0;
}

int
worker_copy(const char *source, const char *destination, bool recursive,
    enum fs_failure *why)
{
	struct stat st;

	if (lstat(source, &st) < 0)
		return -errno;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return worker_copy_file(AT_FDCWD, source, AT_FDCWD, destination,
		    true);
	case S_IFLNK:
		return worker_copy_link(AT_FDCWD, source, AT_FDCWD,
		    destination);
	case S_IFDIR:
		if (recursive)
			return worker_copy_tree(source, destination, why);
		*why = FS_FAILURE_NEEDS_RECURSIVE;
		return -EISDIR;
	default:
		*why = FS_FAILURE_SPECIAL_SOURCE;
		return -EINVAL;
	}
}
