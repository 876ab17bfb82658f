#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "exec/mount.h"
#include "exec/view.h"

#define SOCKETS_MAX 4096
/* Columns before the path: address, counts, flags, type, state, inode. */
#define COLUMNS	    7

int
view_open_sockets(struct view *v, struct err *e)
{
	scoped_fd fd = -1;
	ssize_t n = 1;

	fd = open("/proc/self/net/unix", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, errno, "list of sockets");
	while (n > 0) {
		char text[4096];

		n = read(fd, text, sizeof text);
		if (n < 0 && errno != EINTR)
			return err_errno(e, errno, "list of sockets");
		if (n > 0 && buf_put(&v->sockets, text, (size_t)n) < 0)
			return err_set(e, EMSGSIZE, "far too many sockets");
	}
	return 0;
}

/* The path at the end of a line, or NULL if the socket has none. */
static const char *
path_of(const char *line)
{
	for (int i = 0; i < COLUMNS; i++) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return line[0] == '/' ? line : NULL;
}

/* A socket that the child may find there, outside of what is its own. */
static bool
is_foreign(const struct view *v, const char *path)
{
	struct stat st;
	bool found;

	for (size_t i = 0; i < v->config->workspace_count; i++)
		if (view_is_below(path, v->config->workspaces[i].path))
			return false;
	view_as_child(v);
	found = stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
	view_as_self(v);
	return found;
}

/* Put the empty file over the socket. One that has gone meanwhile, or that the
 * child cannot reach, needs no cover. */
static int
cover(const struct view *v, const char *empty, const char *path, struct err *e)
{
	scoped_fd tree = mount_clone(AT_FDCWD, empty, e);
	int r;

	if (tree < 0)
		return tree;
	r = mount_attr(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, 0, false,
	    e);
	if (r < 0)
		return r;
	view_as_child(v);
	r = mount_attach(tree, path, e);
	view_as_self(v);
	return r == -ENOENT || r == -EACCES || r == -ENOTDIR ? 0 : r;
}

static int
cover_all(const struct view *v, const char *empty, struct err *e)
{
	char *at = (char *)v->sockets.data, *line;
	size_t count = 0;

	while ((line = strsep(&at, "\n")) != NULL) {
		const char *path = path_of(line);
		int r;

		if (path == NULL || !is_foreign(v, path))
			continue;
		if (++count > SOCKETS_MAX)
			return err_set(e, E2BIG, "far too many sockets");
		r = cover(v, empty, path, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int
view_build_sockets(struct view *v, struct err *e)
{
	static const char *const empty = "/run/empty";
	scoped_fd fd = -1;
	int r;

	/* A NUL ends the last line. */
	if (v->sockets.len == 0 || buf_put_u8(&v->sockets, 0) < 0)
		return 0;
	fd = open(empty, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		return err_errno(e, errno, "make file %s", empty);
	r = cover_all(v, empty, e);
	if (r == 0 && unlink(empty) < 0)
		r = err_errno(e, errno, "remove %s", empty);
	return r;
}
