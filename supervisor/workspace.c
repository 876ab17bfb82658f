#include "supervisor/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Unless it lies in what is there already. */
static int
add_read_only(struct workspaces *w, const char *path)
{
	for (size_t i = 0; i < w->read_only.count; i++)
		if (below(w->read_only.items[i], path) != NULL)
			return 0;
	return list_add(&w->read_only, path, PROTECTED_MAX);
}

/* A link in a workspace could lead elsewhere at our next start. */
static int
check_link(const struct workspaces *w, const char *path, struct err *e)
{
	scoped_free char *named = NULL;
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode))
		return 0;
	named = real_name(path);
	if (named == NULL)
		return err_errno(e, errno, "%.110s", path);
	for (size_t i = 0; i < w->paths.count; i++)
		if (below(w->paths.items[i], named) != NULL)
			return err_set(e, EPERM,
			    "%.110s: a symbolic link in a workspace", named);
	return 0;
}

/* Whether path is reached without such a link, in any of its components. */
static int
check_links(const struct workspaces *w, const char *path, struct err *e)
{
	scoped_free char *copy = strdup(path);
	char *end = copy, kept;
	int r;

	if (copy == NULL)
		return err_set(e, ENOMEM, "%.110s: out of memory", path);
	do {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		kept = *end;
		*end = '\0';
		r = check_link(w, copy, e);
		*end = kept;
	} while (r == 0 && kept != '\0');
	return r;
}

static int
protect_in(struct workspaces *w, const char *dir, const char *path,
    enum own_file kind, struct err *e)
{
	const char *rest = below(dir, path);
	int r;

	if (rest == NULL)
		return 0;
	if (kind == OWN_WRITE)
		return err_set(e, EPERM,
		    "%.110s: must not lie in the workspace %.40s", path, dir);
	if (rest[0] == '\0')
		return err_set(e, EPERM,
		    "workspace %.80s: sallyport's own files are in it", dir);
	r = add_read_only(w, path);
	return r < 0 ? err_errno(e, -r, "%.100s", path) : 0;
}

/* What is to be protected for a file is its directory, unless that is a whole
 * workspace. */
static int
leave_file(const struct workspaces *w, char *real, struct err *e)
{
	const char *slash = strrchr(real, '/');
	size_t len = slash == real ? 1 : (size_t)(slash - real);
	char kept = real[len];
	struct stat st;

	if (stat(real, &st) < 0 || S_ISDIR(st.st_mode))
		return 0;
	real[len] = '\0';
	if (!list_has(&w->paths, real))
		return 0;
	real[len] = kept;
	return err_set(e, EPERM,
	    "%.90s: sallyport's own file, right in a workspace; put it "
	    "elsewhere, or in a directory of its own",
	    real);
}

int
workspaces_protect(struct workspaces *w, const char *path, enum own_file kind,
    struct err *e)
{
	scoped_free char *real = realpath(path, NULL);
	int r;

	if (real == NULL && kind == OWN_WRITE && errno == ENOENT)
		real = real_name(path);
	if (real == NULL)
		return err_errno(e, errno, "%.110s", path);
	r = check_links(w, path, e);
	if (r == 0 && kind == OWN_READ)
		r = leave_file(w, real, e);
	for (size_t i = 0; i < w->paths.count && r == 0; i++)
		r = protect_in(w, w->paths.items[i], real, kind, e);
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
