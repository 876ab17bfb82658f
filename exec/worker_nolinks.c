#include "exec/worker_nolinks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Returns the descriptor or a negative errno. */
static int
open2(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {.flags = (unsigned int)flags,
	    .resolve = resolve};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof how);

	return fd < 0 ? -errno : (int)fd;
}

/* Whether the call is not to be had: an older kernel's, or a filter that says
 * so, as containers and our own programs have. */
static bool
is_missing(int r)
{
	return r == -ENOSYS || r == -EPERM;
}

/* Why it was not opened: the kernel calls a link that was to be a directory
 * none. */
static int
why_not(int dir, const char *name, int errnum)
{
	struct stat st;

	if (errnum == ENOTDIR &&
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		return -ELOOP;
	return -errnum;
}

/* One component of a path. */
static int
open_component(int dir, const char *name, size_t len, int flags)
{
	char copy[NAME_MAX + 1];
	scoped_fd fd = -1;
	struct stat st;

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(copy, name, len);
	copy[len] = '\0';
	fd = openat(dir, copy, flags | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return why_not(dir, copy, errno);
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISLNK(st.st_mode) ? -ELOOP : fd_take(&fd);
}

static int
open_by_component(int dir, const char *path, int flags)
{
	scoped_fd at = -1;

	if (path[0] == '\0')
		return -ENOENT;
	if (path[0] == '/') {
		at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (at < 0)
			return -errno;
		dir = at;
	}
	for (;;) {
		size_t len;
		int next;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		/* "/" alone, or as an end */
		if (len == 0)
			return open_component(dir, ".", 1, flags);
		if (path[len] == '\0')
			return open_component(dir, path, len, flags);
		next = open_component(dir, path, len, O_PATH);
		fd_close(&at);
		if (next < 0)
			return next;
		dir = at = next;
		path += len;
	}
}

int
worker_open_nolinks(int dir, const char *path, int flags)
{
	uint64_t beneath = path[0] == '/' ? 0 : RESOLVE_BENEATH;
	int r = open2(dir, path, flags, beneath | RESOLVE_NO_SYMLINKS);

	return is_missing(r) ? open_by_component(dir, path, flags) : r;
}

int
worker_open_nomagic(int dir, const char *path, int flags)
{
	int r = open2(dir, path, flags, RESOLVE_NO_MAGICLINKS);

	if (!is_missing(r))
		return r;
	r = openat(dir, path, flags);
	return r < 0 ? -errno : r;
}
