/*
 * Patterns of a plan, expanded when a child starts: a walk through the view
 * from each pattern's directory that masks what plan_access denies. What is
 * made later is not covered.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "exec/view_find.h"
#include "exec/view_plan.h"
#include "exec/worker_dents.h"
#include "policy/glob.h"

/* Bounds of all patterns of one start together. */
#define DEPTH_MAX   64
#define ENTRIES_MAX 200000
#define MASKS_MAX   1024
#define TIME_MAX_MS 3000

/* A directory that is being read. */
struct level {
	int fd; /* owned */
	size_t path_len;
	int64_t next; /* behind the entry that was taken last */
};

struct walk {
	struct view_plan *view;
	const struct plan_glob *glob;
	int64_t end_ms;
	size_t entries, masks;
	struct level levels[DEPTH_MAX];
	size_t depth;		   /* levels in use */
	char path[PATH_LEN_MAX];   /* of the entry that was taken last */
	struct worker_dents dents; /* of the deepest level */
};

static int64_t
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int
open_dir(const struct order *o, int dir, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd;

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

static int
mask(struct walk *w, int at, bool directory)
{
	if (++w->masks > MASKS_MAX)
		return -E2BIG;
	return view_scratch_mask(&w->view->scratch, at, directory);
}

/* Mask the entry called name of the deepest level. */
static int
mask_entry(struct walk *w, const char *name)
{
	const struct level *l = &w->levels[w->depth - 1];
	struct stat st;
	scoped_fd at = -1;

	at = openat(l->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(at, &st) < 0)
		return -errno;
	return mask(w, at, S_ISDIR(st.st_mode));
}

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

	if (w->depth == DEPTH_MAX) {
		(void)close(fd);
		return -E2BIG;
	}
	*l = (struct level){.fd = fd, .path_len = strlen(w->path)};
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
	fd = open_dir(w->view->order, l->fd, name);
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

	if (++w->entries > ENTRIES_MAX)
		return -E2BIG;
	if (w->entries % 256 == 0 && now_ms() > w->end_ms)
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
	worker_dents_reset(&w->dents);
	if (--w->depth == 0)
		return 0;
	l = &w->levels[w->depth - 1];
	return lseek(l->fd, l->next, SEEK_SET) < 0 ? -errno : 0;
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
	if (place.found == VIEW_MISSING)
		return 0;
	if (place.found == VIEW_BLOCKED)
		return mask(w, at, S_ISDIR(place.mode));
	if (!S_ISDIR(place.mode))
		return 0;
	fd = open_dir(w->view->order, at, ".");
	if (fd == -EACCES && w->glob->base_len > 1)
		return mask(w, at, true);
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
	w->end_ms = now_ms() + TIME_MAX_MS;
	for (size_t i = 0; i < plan->glob_count && r == 0; i++) {
		w->glob = &plan->globs[i];
		r = expand(w);
	}
	(void)munmap(w, sizeof *w);
	return r;
}
