#include "exec/worker_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/worker_dents.h"
#include "exec/worker_open.h"

#define OPEN_PARENT (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* A new directory below a setgid one inherits that bit. */
static int
unset_gid(int dir_fd, const char *name)
{
	scoped_fd fd = -1;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || (st.st_mode & (S_ISUID | S_ISGID)) == 0)
		return 0;
	fd = openat(dir_fd, name, WORKER_DIR_OPEN);
	if (fd < 0)
		return -errno;
	return worker_open_unset_ids(fd, st.st_mode);
}

int
worker_dir_make(int dir_fd, const char *name, mode_t mode)
{
	if (mkdirat(dir_fd, name, mode) < 0)
		return -errno;
	return unset_gid(dir_fd, name);
}

/* Go into name, making it if it is missing. Returns a descriptor. */
static int
step(int dir_fd, const char *name, bool last)
{
	int r, fd = openat(dir_fd, name, OPEN_PARENT);

	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR && last)
		return -EEXIST;
	if (errno != ENOENT)
		return -errno;
	/* That another has made it meanwhile is fine, a dangling link not. */
	r = worker_dir_make(dir_fd, name, 0777);
	if (r < 0 && r != -EEXIST)
		return r;
	fd = openat(dir_fd, name, OPEN_PARENT);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -EEXIST : -errno;
	return fd;
}

static int
create_all(const char *path)
{
	scoped_fd dir = open("/", OPEN_PARENT);
	char name[NAME_MAX + 1];

	if (dir < 0)
		return -errno;
	for (;;) {
		size_t len;
		int fd;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len == 0)
			return 0;
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		fd = step(dir, name, path[strspn(path, "/")] == '\0');
		if (fd < 0)
			return fd;
		fd_close(&dir);
		dir = fd;
	}
}

int
worker_dir_create(const char *path, bool recursive)
{
	struct stat st;
	int r = worker_dir_make(AT_FDCWD, path, 0777);

	if (r == 0 || !recursive)
		return r;
	if (r == -EEXIST)
		return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : r;
	return r == -ENOENT ? create_all(path) : r;
}

int
worker_dir_put(struct buf *out, enum fs_entry_kind kind, struct bytes name)
{
	size_t start = out->len;
	int r = buf_put_u8(out, (uint8_t)kind);

	if (r == 0)
		r = buf_put_string(out, name.data, name.len);
	if (r < 0)
		out->len = start;
	return r;
}

/* Returns false if the entry is a link that leads nowhere, or is gone. */
static bool
kind_of(int dir_fd, const struct worker_dent *e, enum fs_entry_kind *kind)
{
	mode_t mode = worker_dents_mode(e->type);
	struct stat st;

	if (e->type == DT_LNK || e->type == DT_UNKNOWN) {
		if (fstatat(dir_fd, e->name, &st, 0) < 0)
			return false;
		mode = st.st_mode;
	}
	*kind = S_ISDIR(mode)	? FS_ENTRY_DIRECTORY
		: S_ISREG(mode) ? FS_ENTRY_FILE
				: FS_ENTRY_OTHER;
	return true;
}

static int
list(int fd, struct worker_dents *d, struct buf *out)
{
	struct worker_dent e;
	enum fs_entry_kind kind;
	int r;

	worker_dents_reset(d);
	while ((r = worker_dents_next(d, fd, &e)) > 0) {
		if (!kind_of(fd, &e, &kind))
			continue;
		r = worker_dir_put(out, kind, bytes_of(e.name));
		if (r < 0)
			return r;
	}
	return r;
}

int
worker_dir_list(const char *path, struct buf *out, enum fs_failure *why)
{
	scoped_free struct worker_dents *d = malloc(sizeof *d);
	scoped_fd fd = -1;
	int r;

	if (d == NULL)
		return -ENOMEM;
	fd = open(path, WORKER_DIR_OPEN & ~O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	r = list(fd, d, out);
	if (r == -EMSGSIZE)
		*why = FS_FAILURE_LISTING_TOO_LARGE;
	return r;
}
