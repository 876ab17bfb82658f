#include "supervisor/binary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int
binary_self(char path[PATH_LEN_MAX], struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_LEN_MAX - 1);

	if (n < 0)
		return err_errno(e, errno, "/proc/self/exe");
	path[n] = '\0';
	return 0;
}

/* Whether dir/rest is an executable file; then b holds it. */
static bool
try_open(struct binary *b, const char *dir, const char *rest)
{
	char path[PATH_LEN_MAX];
	scoped_free char *real = NULL;
	scoped_fd fd = -1;
	struct stat st;
	int n = snprintf(path, sizeof path, "%s/%s", dir, rest);

	if (n < 0 || (size_t)n >= sizeof path)
		return false;
	real = realpath(path, NULL);
	if (real == NULL || strlen(real) >= sizeof b->path)
		return false;
	fd = open(real, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_mode & 0111) == 0)
		return false;
	memcpy(b->path, real, strlen(real) + 1);
	b->fd = fd_take(&fd);
	return true;
}

int
binary_open(struct binary *b, const char *room, const char *name, struct err *e)
{
	char dir[PATH_LEN_MAX], in_room[64];
	int r = binary_self(dir, e);

	b->fd = -1;
	if (r < 0)
		return r;
	*strrchr(dir, '/') = '\0';
	(void)snprintf(in_room, sizeof in_room, "%s/%s", room, name);
	if (try_open(b, dir, in_room))
		return 0;
	(void)snprintf(in_room, sizeof in_room, "%s/%s",
	    SALLYPORT_LIBEXEC_RELATIVE, name);
	if (try_open(b, dir, in_room) ||
	    try_open(b, SALLYPORT_LIBEXECDIR, name))
		return 0;
	return err_set(e, ENOENT, "%s is neither in %.60s/%s nor in %s", name,
	    dir, room, SALLYPORT_LIBEXECDIR);
}

void
binary_close(struct binary *b)
{
	fd_close(&b->fd);
}
