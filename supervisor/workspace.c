#include "supervisor/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
open_one(struct workspaces *w, const char *path, bool allow_all, struct err *e)
{
	int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	scoped_free char *real = realpath(path, NULL);
	scoped_fd fd = -1;
	int r;

	if (real == NULL)
		return err_errno(e, errno, "workspace %.100s", path);
	if (list_has(&w->paths, real))
		return 0;
	if (strcmp(real, "/") == 0 && !allow_all)
		return err_set(e, EINVAL,
		    "workspace /: only the preset open takes the whole host");
	fd = open(real, flags);
	if (fd < 0)
		return err_errno(e, errno, "workspace %.100s", path);
	r = list_add(&w->paths, real, WORKSPACES_MAX);
	if (r < 0)
		return err_errno(e, -r, "workspace %.100s", path);
	w->fds[w->paths.count - 1] = fd_take(&fd);
	return 0;
}

int
workspaces_open(struct workspaces *w, const struct list *paths, bool allow_all,
    struct err *e)
{
	int r = 0;

	*w = (struct workspaces){0};
	if (paths->count == 0)
		return open_one(w, ".", allow_all, e);
	for (size_t i = 0; i < paths->count && r == 0; i++)
		r = open_one(w, paths->items[i], allow_all, e);
	return r;
}

void
workspaces_done(struct workspaces *w)
{
	for (size_t i = 0; i < w->paths.count; i++)
		(void)close(w->fds[i]);
	list_clear(&w->paths);
	list_clear(&w->read_only);
}

/* What follows dir in path: "" if they are equal, NULL if path is outside. */
static const char *
below(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return path + 1;
	if (strncmp(dir, path, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}

/* The real path of a file that may not exist: that of its directory and its
 * own name, no link followed there. Heap; NULL with errno. */
static char *
real_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	scoped_free char *dir = NULL, *real = NULL;
	char *out = NULL;

	dir = slash == NULL   ? strdup(".")
	      : slash == path ? strdup("/")
			      : strndup(path, (size_t)(slash - path));
	real = dir == NULL ? NULL : realpath(dir, NULL);
	if (real == NULL)
		return NULL;
	if (asprintf(&out, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name) <
	    0)
		return NULL;
	return out;
}

/* rest is what lies below the workspace dir and leads to the file. */
static int
add_read_only(struct workspaces *w, const char *dir, const char *rest)
{
	scoped_free char *path = NULL;
	bool all = strcmp(dir, "/") == 0;
	int len = (int)(all ? strlen(rest) : strcspn(rest, "/"));

	if (asprintf(&path, "%s/%.*s", all ? "" : dir, len, rest) < 0)
		return -ENOMEM;
	if (list_has(&w->read_only, path))
		return 0;
	return list_add(&w->read_only, path, PROTECTED_MAX);
}

static int
protect_in(struct workspaces *w, const char *dir, const char *named,
    const char *real, enum own_file kind, struct err *e)
{
	const char *rest = below(dir, real);
	int r;

	if (below(dir, named) != NULL && strcmp(named, real) != 0)
		return err_set(e, EPERM,
		    "%.110s: a symbolic link in a workspace could be replaced",
		    named);
	if (rest == NULL)
		return 0;
	if (kind == OWN_WRITE)
		return err_set(e, EPERM,
		    "%.110s: must not lie in the workspace %.40s", real, dir);
	if (rest[0] == '\0')
		return err_set(e, EPERM,
		    "workspace %.80s: sallyport's own files are in it", dir);
	r = add_read_only(w, dir, rest);
	return r < 0 ? err_errno(e, -r, "%.100s", real) : 0;
}

int
workspaces_protect(struct workspaces *w, const char *path, enum own_file kind,
    struct err *e)
{
	scoped_free char *named = real_name(path);
	scoped_free char *real = realpath(path, NULL);
	int r = 0;

	if (named == NULL)
		return err_errno(e, errno, "%.110s", path);
	if (real == NULL && (kind == OWN_READ || errno != ENOENT))
		return err_errno(e, errno, "%.110s", path);
	for (size_t i = 0; i < w->paths.count && r == 0; i++)
		r = protect_in(w, w->paths.items[i], named,
		    real != NULL ? real : named, kind, e);
	return r;
}

int
workspaces_dup(const struct workspaces *w, int out[WORKSPACES_MAX])
{
	int fds[WORKSPACES_MAX];

	for (size_t i = 0; i < w->paths.count; i++) {
		fds[i] = fcntl(w->fds[i], F_DUPFD_CLOEXEC, 0);
		if (fds[i] < 0) {
			int code = errno;

			while (i > 0)
				(void)close(fds[--i]);
			return -code;
		}
	}
	memcpy(out, fds, w->paths.count * sizeof fds[0]);
	return 0;
}
