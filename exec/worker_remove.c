#include "exec/worker_remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/worker_dents.h"
#include "exec/worker_dir.h"
#include "exec/worker_mounts.h"
#include "exec/worker_path.h"
#include "exec/worker_tree.h"

/* How often a directory that was filled again, or whose listing left some out,
 * is read once more; in total, so that a race cannot hold us for ever. */
#define AGAIN_MAX 1024

struct remover {
	struct worker_tree tree;
	struct worker_dents dents;
	unsigned int again;
};

/* Remove the empty directory name. Returns 1 if it must be read again. */
static int
remove_left(struct remover *r, int dir_fd, const char *name)
{
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	/* Something else has taken its place. */
	if (errno == ENOTDIR)
		return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno
									: 0;
	if (errno != ENOTEMPTY || r->again++ >= AGAIN_MAX)
		return -errno;
	return 1;
}

static int
enter(struct remover *r, const char *name, int64_t next)
{
	worker_tree_here(&r->tree)->next = next;
	int e = worker_tree_enter(&r->tree, name);

	if (e == 0)
		worker_dents_reset(&r->dents);
	return e;
}

/* An entry that is, or was, a directory. name lies in the read-ahead. */
static int
remove_directory(struct remover *r, const char *name, int64_t next)
{
	int fd = worker_tree_here(&r->tree)->fd;
	int e = enter(r, name, next);

	if (e == -ENOENT)
		return 0;
	if (e == -ENOTDIR || e == -ELOOP)
		return unlinkat(fd, name, 0) < 0 && errno != ENOENT ? -errno
								    : 0;
	/* An empty one goes even if it may not be read. */
	if (e == -EACCES && unlinkat(fd, name, AT_REMOVEDIR) == 0)
		return 0;
	return e;
}

static int
remove_entry(struct remover *r, const struct worker_dent *e)
{
	if (e->type == DT_DIR)
		return remove_directory(r, e->name, e->next);
	if (unlinkat(worker_tree_here(&r->tree)->fd, e->name, 0) == 0 ||
	    errno == ENOENT)
		return 0;
	if (errno == EISDIR)
		return remove_directory(r, e->name, e->next);
	return -errno;
}

/* The present directory has been read to its end: remove it from above. */
static int
go_up(struct remover *r)
{
	const struct worker_tree_level *left;
	int again, fd, e = worker_tree_leave(&r->tree, &left);
	char name[NAME_MAX + 1];

	if (e < 0)
		return e;
	fd = worker_tree_here(&r->tree)->fd;
	memcpy(name, left->name, sizeof name);
	again = remove_left(r, fd, name);
	if (again < 0)
		return again;
	if (again > 0) {
		e = enter(r, name, worker_tree_here(&r->tree)->next);
		if (e != -ENOENT && e != -ENOTDIR && e != -ELOOP)
			return e;
	}
	worker_dents_reset(&r->dents);
	if (lseek(fd, worker_tree_here(&r->tree)->next, SEEK_SET) < 0)
		return -errno;
	return 0;
}

/* Empty the directory that the tree begins at. */
static int
remove_below(struct remover *r)
{
	for (;;) {
		struct worker_dent e;
		int got = worker_dents_next(&r->dents,
		    worker_tree_here(&r->tree)->fd, &e);

		if (got > 0)
			got = remove_entry(r, &e);
		else if (got == 0 && r->tree.depth == 0)
			return 0;
		else if (got == 0)
			got = go_up(r);
		if (got < 0)
			return got;
	}
}

/* Returns 1 if the directory was filled again meanwhile. */
static int
remove_once(struct remover *r, int parent_fd, const char *name)
{
	int e, top = openat(parent_fd, name, WORKER_DIR_OPEN);

	if (top < 0 && errno == EACCES)
		return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 ? -EACCES
								   : 0;
	if (top < 0)
		return -errno;
	worker_dents_reset(&r->dents);
	e = worker_tree_init(&r->tree, top);
	if (e == 0)
		e = remove_below(r);
	worker_tree_done(&r->tree);
	return e < 0 ? e : remove_left(r, parent_fd, name);
}

static int
remove_tree(int parent_fd, const char *name)
{
	scoped_free struct remover *r = calloc(1, sizeof *r);
	int e;

	if (r == NULL)
		return -ENOMEM;
	do
		e = remove_once(r, parent_fd, name);
	while (e > 0);
	return e;
}

/* A tree that is protected in part is left alone as a whole. */
static int
check_mounts(const char *dir, const char *name)
{
	char path[PATH_LEN_MAX];
	size_t used, len = strlen(name);
	int r = worker_path_canonical(dir, path);

	if (r < 0)
		return r;
	used = strlen(path);
	if (used > 1)
		path[used++] = '/';
	if (len >= sizeof path - used)
		return -ENAMETOOLONG;
	memcpy(path + used, name, len + 1);
	return worker_mounts_below(path) ? -EBUSY : 0;
}

static int
remove_at(int parent_fd, const char *dir, const char *name, bool recursive)
{
	struct stat st;
	int r;

	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode) && recursive) {
		r = check_mounts(dir, name);
		return r < 0 ? r : remove_tree(parent_fd, name);
	}
	if (unlinkat(parent_fd, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) <
	    0)
		return -errno;
	return 0;
}

int
worker_remove(const char *path, bool recursive, bool force)
{
	char dir[WORKER_PATH_SIZE];
	scoped_fd parent = -1;
	const char *name;
	int r = worker_path_split(path, dir, &name);

	if (r < 0)
		return r;
	parent = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = parent < 0 ? -errno : remove_at(parent, dir, name, recursive);
	return r == -ENOENT && force ? 0 : r;
}
