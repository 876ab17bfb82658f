#include "exec/view_find.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>

#include "exec/raw.h"

static void
change_to(const struct order *o, uid_t uid, gid_t gid)
{
	if (!o->become)
		return;
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	if (raw_end_with_peer(o->control_fd) < 0)
		_exit(1);
}

void
view_find_as_child(const struct order *o)
{
	change_to(o, o->id.uid, o->id.gid);
}

void
view_find_as_self(const struct order *o)
{
	change_to(o, 0, 0);
}

static int
open_path(int dir, const char *path)
{
	const struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof how);

	return fd < 0 ? -errno : (int)fd;
}

/* The child may own a directory that root without more rights may not search;
 * or it is the other way round. */
static int
open_as_either(const struct order *o, int dir, const char *path)
{
	int fd;

	view_find_as_child(o);
	fd = open_path(dir, path);
	view_find_as_self(o);
	return fd == -EACCES && o->become ? open_path(dir, path) : fd;
}

static int
place_set(struct view_place *p, enum view_found found, int fd, size_t len)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		(void)close(fd);
		return -errno;
	}
	*p = (struct view_place){.found = found,
	    .fd = fd,
	    .len = len,
	    .mode = st.st_mode,
	    .dev = st.st_dev};
	if (found == VIEW_FOUND && S_ISLNK(st.st_mode))
		p->found = VIEW_BLOCKED;
	return 0;
}

int
view_find_own(const struct order *o, int root, const char *path, int *fd)
{
	struct stat st;
	int r;

	view_find_as_child(o);
	r = open_path(root, path + 1);
	view_find_as_self(o);
	*fd = -1;
	if (r == -ENOENT || r == -EACCES || r == -ENOTDIR || r == -ELOOP)
		return 0;
	if (r >= 0 && (fstat(r, &st) < 0 || S_ISLNK(st.st_mode))) {
		(void)close(r);
		return 0;
	}
	*fd = r;
	return r < 0 ? r : 0;
}

/* Copy the component of path that starts at *at, which moves behind it. */
static bool
next_component(const char *path, size_t *at, char name[256])
{
	size_t len;

	*at += strspn(path + *at, "/");
	len = strcspn(path + *at, "/");
	if (len == 0 || len >= 256)
		return false;
	memcpy(name, path + *at, len);
	name[len] = '\0';
	*at += len;
	return true;
}

/* Component by component, until one is missing or in the way. */
static int
walk(const struct order *o, int root, const char *path, struct view_place *p)
{
	size_t at = 0, before = 0;
	char name[256];
	int r = open_path(root, ".");

	r = r < 0 ? r : place_set(p, VIEW_FOUND, r, 0);
	while (r == 0 && next_component(path, &at, name)) {
		int fd;

		if (!S_ISDIR(p->mode)) {
			p->found = VIEW_BLOCKED;
			return 0;
		}
		fd = open_as_either(o, p->fd, name);
		if (fd == -ENOENT || fd == -EACCES) {
			p->found = fd == -ENOENT ? VIEW_MISSING : VIEW_BLOCKED;
			p->len = before;
			return 0;
		}
		(void)close(p->fd);
		p->fd = -1;
		before = at;
		r = fd < 0 ? fd : place_set(p, VIEW_FOUND, fd, at);
	}
	return r;
}

int
view_find(const struct order *o, int root, const char *path,
    struct view_place *out)
{
	/* All of it at once is what nearly always succeeds. */
	int fd = open_as_either(o, root, path[1] == '\0' ? "." : path + 1);

	*out = VIEW_PLACE_NONE;
	if (fd >= 0)
		return place_set(out, VIEW_FOUND, fd, strlen(path));
	if (fd != -ENOENT && fd != -EACCES && fd != -ENOTDIR && fd != -ELOOP)
		return fd;
	return walk(o, root, path, out);
}
