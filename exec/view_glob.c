/*
 * Patterns of a plan, expanded when a child starts: a walk through the view
 * from each pattern's directory that masks what plan_access denies. What is
 * made later is not covered.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/limits.h"
#include "exec/view_find.h"
#include "exec/view_pin.h"
#include "exec/view_plan.h"
#include "exec/worker_dents.h"
#include "policy/glob.h"

/* A directory that is being read. */
struct level {
	int fd; /* owned */
	/* Once something in it is masked: where it is in the view, since it
	 * may have become a mount of its own. Owned, O_PATH; -1 before. */
	int at;
	size_t path_len;
	int64_t next; /* behind the entry that was taken last */
};

struct walk {
	struct view_plan *view;
	const struct plan_glob *glob;
	int64_t end_ms;
	size_t entries, mounts;
	struct level levels[GLOB_DEPTH_MAX];
	size_t depth;		   /* levels in use */
	char path[PATH_LEN_MAX];   /* of the entry that was taken last */
	struct worker_dents dents; /* of the deepest level */
};

#define OPEN_READ (O_RDONLY | O_DIRECTORY)

/* As the child, or as ourselves where that is refused: view_find.c. */
static int
open_at(const struct order *o, int dir, const char *name, int flags)
{
	int fd;

	flags |= O_NOFOLLOW | O_CLOEXEC;
	view_find_as_child(o);
	fd = openat(dir, name, flags);
	fd = fd < 0 ? -errno : fd;
	view_find_as_self(o);
	if (fd == -EACCES && o->become) {
		fd = openat(dir, name, flags);
		fd = fd < 0 ? -errno : fd;
	}
	return fd;
}

/* made: mounts, or a negative errno. */
static int
count(struct walk *w, int made)
{
	if (made < 0)
		return made;
	w->mounts += (size_t)made;
	return w->mounts > GLOB_MOUNTS_MAX ? -E2BIG : 0;
}

static int
mask(struct walk *w, int at, bool directory)
{
	int r = count(w, 1);

	return r < 0 ? r : view_scratch_mask(&w->view->scratch, at, directory);
}

/* --- holding what leads to a mask ----------------------------------------- */

/* The name of levels[i] in the directory before it. */
static void
name_of(const struct walk *w, size_t i, char name[NAME_MAX + 1])
{
	const char *start = w->path + w->levels[i - 1].path_len;
	size_t len = w->levels[i].path_len - w->levels[i - 1].path_len;

	if (start[0] == '/') {
		start++;
		len--;
	}
	memcpy(name, start, len);
	name[len] = '\0';
}

/* Whether what was found is what is being read: another program may move
 * things about. */
static int
check_same(int at, int fd)
{
	struct stat a, b;

	if (fstat(at, &a) < 0 || fstat(fd, &b) < 0)
		return -errno;
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino ? 0 : -ESTALE;
}

static bool
is_writable(const struct walk *w, const struct level *l)
{
	struct bytes path = {.data = (const uint8_t *)w->path,
	    .len = l->path_len};

	return plan_access(w->view->order->plan, path).access == PLAN_WRITE;
}

/* The directory of levels[i], in one that is held already: held too, if it
 * could be renamed. */
static int
hold_level(struct walk *w, size_t i)
{
	const struct order *o = w->view->order;
	const struct level *above = &w->levels[i - 1];
	struct level *l = &w->levels[i];
	char name[NAME_MAX + 1];
	scoped_fd at = -1;
	int r;

	name_of(w, i, name);
	at = open_at(o, above->at, name, O_PATH);
	r = at < 0 ? at : check_same(at, l->fd);
	if (r < 0)
		return r;
	r = is_writable(w, above) ? view_pin(at) : 0;
	if (r == 1) {
		(void)close(at);
		at = open_at(o, above->at, name, O_PATH);
	}
	r = count(w, r);
	if (r < 0 || at < 0)
		return r < 0 ? r : at;
	l->at = fd_take(&at);
	return 0;
}

/* The first: the pattern's directory, and what leads to it. */
static int
hold_base(struct walk *w)
{
	struct level *l = &w->levels[0];
	struct view_place place;
	char path[PATH_LEN_MAX];
	scoped_fd at = -1;
	int r = count(w, view_pin_way(w->view, w->path, l->path_len));

	if (r < 0)
		return r;
	memcpy(path, w->path, l->path_len);
	path[l->path_len] = '\0';
	r = view_find(w->view->order, w->view->root, path, &place);
	if (r < 0)
		return r;
	at = place.fd;
	r = place.found == VIEW_FOUND ? check_same(at, l->fd) : -ESTALE;
	if (r == 0)
		l->at = fd_take(&at);
	return r;
}

/* Before something in the deepest level is masked. From above, so that no
 * mask is copied with a directory. */
static int
hold_way(struct walk *w)
{
	int r = 0;

	for (size_t i = 0; i < w->depth && r == 0; i++)
		if (w->levels[i].at < 0)
			r = i == 0 ? hold_base(w) : hold_level(w, i);
	return r;
}

/* Whether the entry of the deepest level has gone since it was read. */
static bool
is_gone(const struct walk *w, const char *name)
{
	scoped_fd at =
	    open_at(w->view->order, w->levels[w->depth - 1].fd, name, O_PATH);

	return at == -ENOENT;
}

/* Mask the entry called name of the deepest level. */
static int
mask_entry(struct walk *w, const char *name)
{
	struct stat st;
	scoped_fd at = -1;
	int r = hold_way(w);

	if (r == -ESTALE || r == -ENOENT)
		return is_gone(w, name) ? 0 : -ESTALE;
	if (r < 0)
		return r;
	at = open_at(w->view->order, w->levels[w->depth - 1].at, name, O_PATH);
	if (at < 0)
		return at == -ENOENT ? 0 : at;
	if (fstat(at, &st) < 0)
		return -errno;
	return mask(w, at, S_ISDIR(st.st_mode));
}

/* --- the walk ------------------------------------------------------------- */

/* Append name to the path of the deepest level. False if that is too long for
 * any name of a program. */
static bool
set_path(struct walk *w, const char *name)
{
	size_t used = w->levels[w->depth - 1].path_len, len = strlen(name);

	if (used > 1)
		w->path[used++] = '/';
	if (len >= sizeof w->path - used)
		return false;
	memcpy(w->path + used, name, len + 1);
	return true;
}

/* What the kernel shows of itself holds no secret of a user. */
static bool
is_kernels(const char *path)
{
	return strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 ||
	       strcmp(path, "/dev") == 0;
}

static int
push(struct walk *w, int fd)
{
	struct level *l = &w->levels[w->depth];

	if (w->depth == GLOB_DEPTH_MAX) {
		(void)close(fd);
		return -E2BIG;
	}
	*l = (struct level){.fd = fd, .at = -1, .path_len = strlen(w->path)};
	w->depth++;
	worker_dents_reset(&w->dents);
	return 0;
}

/* One that nobody can look into is masked as a whole: there is no knowing
 * what it holds. */
static int
descend(struct walk *w, const char *name)
{
	struct level *l = &w->levels[w->depth - 1];
	int fd;

	if (is_kernels(w->path) ||
	    (w->glob->scan_depth > 0 && w->depth >= w->glob->scan_depth))
		return 0;
	fd = open_at(w->view->order, l->fd, name, OPEN_READ);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0;
	if (fd == -EACCES)
		return mask_entry(w, name);
	return fd < 0 ? fd : push(w, fd);
}

static int
visit(struct walk *w, const struct worker_dent *entry)
{
	struct bytes path;

	if (++w->entries > GLOB_ENTRIES_MAX)
		return -E2BIG;
	/* Each time: one comparison may take as long as many files. */
	if (clock_ms() > w->end_ms)
		return -ETIMEDOUT;
	if (!set_path(w, entry->name))
		return -E2BIG;
	path = bytes_of(w->path);
	if (glob_covers(w->glob->pattern, path) &&
	    plan_access(w->view->order->plan, path).access == PLAN_DENY)
		return mask_entry(w, entry->name);
	if (entry->type != DT_DIR && entry->type != DT_UNKNOWN)
		return 0;
	return descend(w, entry->name);
}

/* Take one entry of the deepest level, or leave that. */
static int
advance(struct walk *w)
{
	struct level *l = &w->levels[w->depth - 1];
	struct worker_dent entry;
	int r = worker_dents_next(&w->dents, l->fd, &entry);

	if (r < 0)
		return r;
	if (r == 1) {
		l->next = entry.next;
		return visit(w, &entry);
	}
	(void)close(l->fd);
	fd_close(&l->at);
	worker_dents_reset(&w->dents);
	if (--w->depth == 0)
		return 0;
	l = &w->levels[w->depth - 1];
	return lseek(l->fd, l->next, SEEK_SET) < 0 ? -errno : 0;
}

/* Mask the pattern's directory, or what stands in its way. */
static int
mask_base(struct walk *w)
{
	struct view_place place;
	scoped_fd at = -1;
	int r = count(w, view_pin_way(w->view, w->path, w->glob->base_len));

	if (r == 0)
		r = view_find(w->view->order, w->view->root, w->path, &place);
	if (r < 0)
		return r;
	at = place.fd;
	return place.found == VIEW_MISSING ? 0
					   : mask(w, at, S_ISDIR(place.mode));
}

/* Open the directory before the first wildcard. What stands in the way there
 * is masked, as nobody knows what will be behind it. */
static int
open_base(struct walk *w)
{
	struct view_place place;
	scoped_fd at = -1;
	int fd, r;

	memcpy(w->path, w->glob->pattern.data, w->glob->base_len);
	w->path[w->glob->base_len] = '\0';
	r = view_find(w->view->order, w->view->root, w->path, &place);
	if (r < 0)
		return r;
	at = place.fd;
	if (place.found == VIEW_BLOCKED)
		return mask_base(w);
	if (place.found == VIEW_MISSING || !S_ISDIR(place.mode))
		return 0;
	fd = open_at(w->view->order, at, ".", OPEN_READ);
	if (fd == -EACCES && w->glob->base_len > 1)
		return mask_base(w);
	return fd < 0 ? fd : push(w, fd);
}

static int
expand(struct walk *w)
{
	int r = open_base(w);

	worker_dents_reset(&w->dents);
	while (r == 0 && w->depth > 0)
		r = advance(w);
	return r;
}

/* By mmap, as malloc is not for this process and the stack is small. */
int
view_plan_globs(struct view_plan *v)
{
	const struct plan *plan = v->order->plan;
	struct walk *w;
	int r = 0;

	if (plan->glob_count == 0)
		return 0;
	w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w == MAP_FAILED)
		return -errno;
	w->view = v;
	w->end_ms = clock_ms() + GLOB_TIME_MAX_MS;
	for (size_t i = 0; i < plan->glob_count && r == 0; i++) {
		w->glob = &plan->globs[i];
		r = expand(w);
	}
	(void)munmap(w, sizeof *w);
	return r;
}
