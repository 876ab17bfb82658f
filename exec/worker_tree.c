#include "exec/worker_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/worker_dir.h"

/* Directories held open, the top not counted: few trees are deeper. */
#define HELD_MAX   48
#define LEVELS_MIN 64

int
worker_tree_init(struct worker_tree *t, int top_fd)
{
	scoped_fd fd = top_fd;
	struct stat st;

	*t = (struct worker_tree){.cap = LEVELS_MIN, .held = 1};
	if (fstat(fd, &st) < 0)
		return -errno;
	t->levels = calloc(t->cap, sizeof *t->levels);
	if (t->levels == NULL)
		return -ENOMEM;
	t->levels[0].dev = st.st_dev;
	t->levels[0].ino = st.st_ino;
	t->levels[0].fd = fd_take(&fd);
	return 0;
}

void
worker_tree_done(struct worker_tree *t)
{
	for (size_t i = 0; t->levels != NULL && i <= t->depth; i++)
		fd_close(&t->levels[i].fd);
	free(t->levels);
	t->levels = NULL;
}

struct worker_tree_level *
worker_tree_here(const struct worker_tree *t)
{
	return &t->levels[t->depth];
}

static int
grow(struct worker_tree *t)
{
	struct worker_tree_level *levels;

	if (t->depth + 1 < t->cap)
		return 0;
	if (t->cap >= WORKER_TREE_DEPTH_MAX)
		return -ENAMETOOLONG;
	levels = realloc(t->levels, 2 * t->cap * sizeof *levels);
	if (levels == NULL)
		return -ENOMEM;
	t->levels = levels;
	t->cap *= 2;
	return 0;
}

int
worker_tree_enter(struct worker_tree *t, const char *name)
{
	struct worker_tree_level *level;
	scoped_fd fd = -1;
	struct stat st;
	int r = grow(t);

	if (r < 0)
		return r;
	fd = openat(worker_tree_here(t)->fd, name, WORKER_DIR_OPEN);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	level = &t->levels[t->depth + 1];
	*level = (struct worker_tree_level){.dev = st.st_dev,
	    .ino = st.st_ino,
	    .fd = fd_take(&fd)};
	memcpy(level->name, name, strnlen(name, NAME_MAX));
	t->depth++;
	if (t->depth - t->held >= HELD_MAX)
		fd_close(&t->levels[t->held++].fd);
	return 0;
}

/* Open the directory above the present one again, if it was let go. */
static int
hold_parent(struct worker_tree *t)
{
	struct worker_tree_level *parent = &t->levels[t->depth - 1];
	scoped_fd fd = -1;
	struct stat st;

	if (parent->fd >= 0)
		return 0;
	fd = openat(worker_tree_here(t)->fd, "..", WORKER_DIR_OPEN);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != parent->dev || st.st_ino != parent->ino)
		return -ESTALE;
	parent->fd = fd_take(&fd);
	t->held = t->depth - 1;
	return 0;
}

int
worker_tree_leave(struct worker_tree *t, const struct worker_tree_level **left)
{
	int r = hold_parent(t);

	if (r < 0)
		return r;
	fd_close(&worker_tree_here(t)->fd);
	*left = worker_tree_here(t);
	t->depth--;
	return 0;
}
