/* Unix sockets of the host in a session's view, covered by an empty file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "exec/mount.h"
#include "exec/order.h"
#include "exec/sockets.h"
#include "exec/view.h"
#include "exec/worker_dents.h"

/* What covers them, with mode 0. It keeps its name: init needs it for sockets
 * that come later. */
#define COVER	    "/run/.empty"
/* Files that are looked through, of one view, for sockets that have not the
 * name any more that they were bound with. */
#define ENTRIES_MAX 65536

int
view_open_sockets(struct view *v, struct err *e)
{
	return sockets_read(v->config, &v->sockets, e);
}

struct cover {
	const struct view *view;
	struct err *e;
	size_t entries;		   /* looked through so far */
	char dir[PATH_LEN_MAX];	   /* the last one that was */
	char path[PATH_LEN_MAX];   /* of an entry of it */
	struct worker_dents dents; /* and what is read of it */
};

/* No view covers it. */
static bool
is_own(const struct view *v, const char *path)
{
	return view_is_backend(v, path) || sockets_are_own(v->config, path);
}

/* The type of what the child finds there; 0 if it finds nothing. */
static mode_t
type_of(const struct view *v, const char *path)
{
	struct stat st;
	bool found;

	view_as_child(v);
	found = stat(path, &st) == 0;
	view_as_self(v);
	return found ? st.st_mode & S_IFMT : 0;
}

/* Put the empty file over the socket. One that has gone meanwhile, or that the
 * child cannot reach, needs no cover. */
static int
cover(const struct cover *c, const char *path)
{
	scoped_fd tree = mount_clone(AT_FDCWD, COVER, c->e);
	int r;

	if (tree < 0)
		return tree;
	r = mount_attr(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, 0, false,
	    c->e);
	if (r < 0)
		return r;
	view_as_child(c->view);
	r = mount_attach(tree, path, c->e);
	view_as_self(c->view);
	return r == -ENOENT || r == -EACCES || r == -ENOTDIR ? 0 : r;
}

static int
cover_entry(struct cover *c, const struct worker_dent *entry)
{
	size_t len = strlen(c->dir), name = strlen(entry->name);

	if ((entry->type != DT_SOCK && entry->type != DT_UNKNOWN) ||
	    len + 1 + name >= sizeof c->path)
		return 0;
	memcpy(c->path, c->dir, len);
	c->path[len] = '/';
	memcpy(c->path + len + 1, entry->name, name + 1);
	if (is_own(c->view, c->path) || type_of(c->view, c->path) != S_IFSOCK)
		return 0;
	return cover(c, c->path);
}

/*
 * All sockets of the directory that path lies in: one that was bound there has
 * another name now, as those of ssh have, which links and unlinks them. What is
 * large beyond measure is left.
 */
static int
cover_directory(struct cover *c, const char *path)
{
	size_t len = (size_t)(strrchr(path, '/') - path);
	struct worker_dent entry;
	scoped_fd fd = -1;
	int r = 1;

	if (len == 0 || len >= sizeof c->dir ||
	    (strncmp(c->dir, path, len) == 0 && c->dir[len] == '\0'))
		return 0;
	memcpy(c->dir, path, len);
	c->dir[len] = '\0';
	view_as_child(c->view);
	fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	view_as_self(c->view);
	worker_dents_reset(&c->dents);
	while (fd >= 0 && r == 1 && c->entries++ < ENTRIES_MAX) {
		r = worker_dents_next(&c->dents, fd, &entry);
		if (r == 1) {
			int covered = cover_entry(c, &entry);

			r = covered < 0 ? covered : 1;
		}
	}
	return r < 0 ? r : 0;
}

static int
cover_name(struct cover *c, const char *path)
{
	mode_t type;

	if (is_own(c->view, path))
		return 0;
	type = type_of(c->view, path);
	if (type == S_IFSOCK)
		return cover(c, path);
	return type == 0 ? cover_directory(c, path) : 0;
}

/* By mmap: it is too large for the stack, and init has no malloc. */
static struct cover *
begin(const struct view *v, struct err *e)
{
	struct cover *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (c == MAP_FAILED)
		return NULL;
	c->view = v;
	c->e = e;
	return c;
}

static int
cover_list(struct cover *c, char *at)
{
	size_t count = 0;
	char *line;
	int r = 0;

	while (r == 0 && (line = strsep(&at, "\n")) != NULL) {
		const char *path = sockets_path(line);

		if (path == NULL)
			continue;
		if (++count > SOCKETS_MAX)
			return err_set(c->e, E2BIG, "far too many sockets");
		r = cover_name(c, path);
	}
	return r;
}

int
view_build_sockets(struct view *v, struct err *e)
{
	scoped_fd fd = open(COVER, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	struct cover *c;
	int r;

	if (fd < 0)
		return err_errno(e, errno, "make file %s", COVER);
	/* A NUL ends the last line. */
	if (v->sockets.len == 0 || buf_put_u8(&v->sockets, 0) < 0)
		return 0;
	c = begin(v, e);
	if (c == NULL)
		return err_errno(e, errno, "sockets");
	r = cover_list(c, (char *)v->sockets.data);
	(void)munmap(c, sizeof *c);
	return r;
}

int
view_more_sockets(const struct order *o)
{
	/* Init has no parent that it could see. */
	const struct view v = {.config = o->config,
	    .kind = o->config->preset == PRESET_OPEN ? VIEW_OPEN_NARROW
						     : VIEW_CEILING,
	    .id = o->id};
	struct cover *c;
	int r = 0;

	if (o->sockets == NULL)
		return 0;
	c = begin(&v, NULL);
	if (c == NULL)
		return -errno;
	for (size_t i = 0; o->sockets[i] != NULL && r == 0; i++)
		r = cover_name(c, o->sockets[i]);
	(void)munmap(c, sizeof *c);
	return r;
}
