#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/worker_copy.h"
#include "exec/worker_dents.h"
#include "exec/worker_dir.h"
#include "exec/worker_path.h"
#include "exec/worker_tree.h"

#define OPEN_PARENT (O_PATH | O_DIRECTORY | O_CLOEXEC)

struct copier {
	struct worker_tree from, to; /* always as deep as each other */
	struct worker_dents dents;
};

/*
 * Whether dir_fd (taken) is the directory inner or lies below it: climbed by
 * "..", since names prove nothing. 1 or 0, or a negative errno.
 */
static int
lies_within(int dir_fd, const struct stat *inner)
{
	scoped_fd fd = dir_fd;
	struct stat st, last = {0};

	for (unsigned int i = 0; i < WORKER_TREE_DEPTH_MAX; i++) {
		int up;

		if (fstat(fd, &st) < 0)
			return -errno;
		if (st.st_dev == inner->st_dev && st.st_ino == inner->st_ino)
			return 1;
		if (i > 0 && st.st_dev == last.st_dev &&
		    st.st_ino == last.st_ino)
			return 0;
		last = st;
		up = openat(fd, "..", OPEN_PARENT);
		if (up < 0)
			return -errno;
		fd_close(&fd);
		fd = up;
	}
	return -ENAMETOOLONG;
}

/* The deepest directory of path that exists, through links. */
static int
open_deepest(const char *path)
{
	struct worker_place at = PLACE_NONE;
	int fd, r = worker_path_find(path, &at);

	if (r < 0 && r != -ENOENT)
		return r;
	fd = at.name[0] == '\0' ? -1 : openat(at.dir_fd, at.name, OPEN_PARENT);
	if (fd < 0)
		return at.dir_fd;
	worker_place_done(&at);
	return fd;
}

/* Refuse a destination that is the source or lies in it. */
static int
check_outside(const char *destination, const struct stat *source,
    enum fs_failure *why)
{
	int fd = open_deepest(destination);
	int r = fd < 0 ? fd : lies_within(fd, source);

	if (r <= 0)
		return r;
	*why = FS_FAILURE_INTO_ITSELF;
	return -EINVAL;
}

/* Give the copy that is finished the mode and times of its source. */
static int
finish(const struct copier *c)
{
	const struct worker_tree_level *to = worker_tree_here(&c->to);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct stat st;

	if (!to->mark)
		return 0;
	if (fstat(worker_tree_here(&c->from)->fd, &st) < 0 ||
	    fchmod(to->fd, st.st_mode & 01777) < 0)
		return -errno;
	times[1] = st.st_mtim;
	(void)futimens(to->fd, times);
	return 0;
}

static int
enter(struct copier *c, const char *name, int64_t next)
{
	const struct worker_tree_level *to = worker_tree_here(&c->to);
	const struct worker_tree_level *left;
	bool made;
	int r;

	worker_tree_here(&c->from)->next = next;
	r = worker_tree_enter(&c->from, name);
	if (r < 0)
		return r;
	/* For us alone until it has its source's mode. */
	r = worker_dir_make(to->fd, name, 0700);
	made = r == 0;
	if (r == 0 || r == -EEXIST)
		r = worker_tree_enter(&c->to, name);
	if (r < 0) {
		int e = worker_tree_leave(&c->from, &left);

		/* What exists there is no directory. */
		r = r == -ENOTDIR || r == -ELOOP ? -EEXIST : r;
		return e < 0 ? e : r;
	}
	worker_tree_here(&c->to)->mark = made;
	worker_dents_reset(&c->dents);
	return 0;
}

static int
leave(struct copier *c)
{
	const struct worker_tree_level *left;
	int r = finish(c);

	if (r == 0)
		r = worker_tree_leave(&c->from, &left);
	if (r == 0)
		r = worker_tree_leave(&c->to, &left);
	if (r < 0)
		return r;
	worker_dents_reset(&c->dents);
	if (lseek(worker_tree_here(&c->from)->fd,
		worker_tree_here(&c->from)->next, SEEK_SET) < 0)
		return -errno;
	return 0;
}

static int
copy_entry(struct copier *c, const struct worker_dent *e)
{
	int from = worker_tree_here(&c->from)->fd;
	int to = worker_tree_here(&c->to)->fd;
	mode_t mode = worker_dents_mode(e->type);
	struct stat st;

	if (e->type == DT_UNKNOWN) {
		if (fstatat(from, e->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		mode = st.st_mode & S_IFMT;
	}
	switch (mode) {
	case S_IFREG:
		return worker_copy_file(from, e->name, to, e->name, false);
	case S_IFLNK:
		return worker_copy_link(from, e->name, to, e->name);
	case S_IFDIR:
		return enter(c, e->name, e->next);
	default:
		return 0;
	}
}

/* Whether the entry still is there, to tell its own error from its absence. */
static bool
is_gone(const struct copier *c, const char *name)
{
	struct stat st;

	return fstatat(worker_tree_here(&c->from)->fd, name, &st,
		   AT_SYMLINK_NOFOLLOW) < 0 &&
	       errno == ENOENT;
}

static int
copy_below(struct copier *c)
{
	for (;;) {
		struct worker_dent e;
		int r = worker_dents_next(&c->dents,
		    worker_tree_here(&c->from)->fd, &e);

		if (r > 0) {
			r = copy_entry(c, &e);
			if (r == -ENOENT && is_gone(c, e.name))
				r = 0;
		} else if (r == 0 && c->from.depth == 0) {
			return finish(c);
		} else if (r == 0) {
			r = leave(c);
		}
		if (r < 0)
			return r;
	}
}

/* Make the destination and begin there. */
static int
begin_to(struct copier *c, const char *destination)
{
	struct stat st;
	bool made = stat(destination, &st) < 0 && errno == ENOENT;
	int fd, r = worker_dir_create(destination, true);

	if (r < 0)
		return r;
	fd = open(destination, WORKER_DIR_OPEN & ~O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOTDIR ? -EEXIST : -errno;
	r = worker_tree_init(&c->to, fd);
	if (r == 0)
		worker_tree_here(&c->to)->mark = made;
	return r;
}

static int
copy_trees(struct copier *c, const char *source, const char *destination,
    enum fs_failure *why)
{
	int r, fd = open(source, WORKER_DIR_OPEN);
	struct stat st;

	if (fd < 0)
		return -errno;
	r = worker_tree_init(&c->from, fd);
	if (r == 0 && fstat(worker_tree_here(&c->from)->fd, &st) < 0)
		r = -errno;
	if (r == 0)
		r = check_outside(destination, &st, why);
	if (r == 0)
		r = begin_to(c, destination);
	/* Once more, now that all of it exists. */
	if (r == 0)
		r = check_outside(destination, &st, why);
	return r < 0 ? r : copy_below(c);
}

int
worker_copy_tree(const char *source, const char *destination,
    enum fs_failure *why)
{
	scoped_free struct copier *c = calloc(1, sizeof *c);
	int r;

	if (c == NULL)
		return -ENOMEM;
	r = copy_trees(c, source, destination, why);
	worker_tree_done(&c->from);
	worker_tree_done(&c->to);
	return r;
}
