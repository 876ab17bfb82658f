/* Unix sockets of the host that a backend's commands may use. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "exec/mount.h"
#include "exec/view.h"

bool
view_is_backend(const struct view *v, const char *path)
{
	const struct backend_config *b = &v->config->backend;

	for (size_t i = 0; i < b->socket_count; i++)
		if (strcmp(b->sockets[i], path) == 0)
			return true;
	return false;
}

/* The type of what is at path; 0 if nothing is. */
static mode_t
type_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

static int
open_socket(int *out, const char *path, struct err *e)
{
	scoped_free char *real = realpath(path, NULL);

	if (real == NULL)
		return 0;
	/* The view would have it where the link leads. */
	if (strcmp(real, path) != 0)
		return err_set(e, EINVAL, "backend.socket: %s is really %s",
		    path, real);
	if (type_of(path) != S_IFSOCK)
		return err_set(e, EINVAL, "backend.socket: %s is no socket",
		    path);
	*out = mount_clone(AT_FDCWD, path, e);
	return *out < 0 ? *out : 0;
}

int
view_open_backend(struct view *v, struct err *e)
{
	const struct backend_config *b = &v->config->backend;
	int r = 0;

	for (size_t i = 0; i < b->socket_count && r == 0; i++)
		r = open_socket(&v->backend[i], b->sockets[i], e);
	return r;
}

static int
build_socket(const struct view *v, int fd, const char *path, struct err *e)
{
	const uint64_t set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			     MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	int r;

	/* The host's own directory shows it, and the next one of that name. */
	if (fd < 0 || type_of(path) == S_IFSOCK)
		return 0;
	r = view_make_point(v, path, false, e);
	if (r == 0)
		r = mount_attr(fd, set, 0, false, e);
	return r < 0 ? r : mount_attach(fd, path, e);
}

int
view_build_backend(struct view *v, struct err *e)
{
	const struct backend_config *b = &v->config->backend;
	int r = 0;

	for (size_t i = 0; i < b->socket_count && r == 0; i++)
		r = build_socket(v, v->backend[i], b->sockets[i], e);
	return r;
}
