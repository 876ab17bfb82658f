#include "exec/worker_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "exec/worker_dir.h"
#include "exec/worker_names.h"
#include "exec/worker_nolinks.h"

/* A directory that was listed and may be entered. */
struct waiting {
	size_t at, len; /* its path below the root, in the paths */
	uint32_t depth;
	bool linked; /* a link is in its path */
};

struct seen {
	uint64_t dev, ino;
	bool used;
};

struct walker {
	const struct worker_walk_options *options;
	const char *root;
	int root_fd;
	struct buf *out;
	uint32_t entries, directories;
	bool truncated;
	struct buf paths;	 /* of the waiting ones, each with its NUL */
	struct waiting *waiting; /* heap, a queue */
	size_t first, count, cap;
	struct seen *seen; /* heap, a hash table of seen_size places */
	size_t seen_size;
	struct worker_names names;
	struct worker_dents dents;
};

/* What an entry's path is made of: the root, its directory, its name. */
struct spot {
	const char *dir; /* below the root, "" for the root itself */
	uint32_t depth;
	bool linked;
	int fd;
};

/* Returns true if it is new. The table has twice the room that it needs. */
static bool
see(struct walker *w, const struct stat *st)
{
	uint64_t hash =
	    (st->st_ino ^ (st->st_dev << 32)) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(hash >> 32) & (w->seen_size - 1);

	for (; w->seen[i].used; i = (i + 1) & (w->seen_size - 1))
		if (w->seen[i].ino == st->st_ino &&
		    w->seen[i].dev == st->st_dev)
			return false;
	w->seen[i] =
	    (struct seen){.dev = st->st_dev, .ino = st->st_ino, .used = true};
	return true;
}

/* Write root, dir and name as one path. Returns its length, or -1 if that is
 * more than a path may have. */
static int
join(const struct walker *w, const char *dir, const char *name,
    char out[PATH_LEN_MAX])
{
	const char *root = w->root[1] == '\0' ? "" : w->root;
	int n = snprintf(out, PATH_LEN_MAX, "%s%s%s%s%s", root,
	    dir[0] == '\0' ? "" : "/", dir, name[0] == '\0' ? "" : "/", name);

	return n < PATH_LEN_MAX ? n : -1;
}

/* Append an entry; a full out is the end of the walk, told in truncated. */
static int
put(struct walker *w, enum fs_entry_kind kind, const char *dir,
    const char *name, int errnum)
{
	char path[PATH_LEN_MAX];
	size_t start = w->out->len;
	int r, len = join(w, dir, name, path);

	/* Where the path is too long its directory has to stand for it. */
	if (len < 0) {
		kind = FS_ENTRY_ERROR;
		errnum = ENAMETOOLONG;
		len = join(w, dir, "", path);
	}
	if (len <= 0)
		return 0;
	r = worker_dir_put(w->out, kind,
	    (struct bytes){.data = (uint8_t *)path, .len = (size_t)len});
	if (r == 0 && kind == FS_ENTRY_ERROR)
		r = buf_put_u32(w->out, (uint32_t)errnum);
	if (r < 0)
		w->out->len = start;
	if (r != -EMSGSIZE)
		return r;
	w->truncated = true;
	return 1;
}

static int
enqueue(struct walker *w, const struct spot *s, const char *name, bool linked)
{
	struct waiting item = {.at = w->paths.len,
	    .depth = s->depth + 1,
	    .linked = linked};
	int r;

	if (w->count == w->cap) {
		size_t cap = w->cap == 0 ? 64 : 2 * w->cap;
		void *more = realloc(w->waiting, cap * sizeof *w->waiting);

		if (more == NULL)
			return -ENOMEM;
		w->waiting = more;
		w->cap = cap;
	}
	r = s->dir[0] == '\0' ? buf_printf(&w->paths, "%s", name)
			      : buf_printf(&w->paths, "%s/%s", s->dir, name);
	if (r == 0)
		r = buf_put_u8(&w->paths, 0);
	if (r < 0)
		return r;
	item.len = w->paths.len - 1 - item.at;
	w->waiting[w->count++] = item;
	return 0;
}

/*
 * What an entry is listed as. FS_ENTRY_OTHER: not at all. *linked becomes true
 * for a directory behind a link.
 */
static enum fs_entry_kind
kind_of(const struct walker *w, int fd, const char *name, unsigned char type,
    bool *linked, int *errnum)
{
	mode_t mode = worker_dents_mode(type);
	struct stat st;

	if (type == DT_UNKNOWN) {
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			*errnum = errno;
			return FS_ENTRY_ERROR;
		}
		mode = st.st_mode;
	}
	if (!S_ISLNK(mode))
		return S_ISDIR(mode)   ? FS_ENTRY_DIRECTORY
		       : S_ISREG(mode) ? FS_ENTRY_FILE
				       : FS_ENTRY_OTHER;
	/* A link that leads nowhere is no directory. */
	if (!w->options->follow || fstatat(fd, name, &st, 0) < 0 ||
	    !S_ISDIR(st.st_mode))
		return FS_ENTRY_OTHER;
	*linked = true;
	return FS_ENTRY_DIRECTORY;
}

/* Returns 0; 1 when the walk is over; a negative errno. */
static int
visit(struct walker *w, const struct spot *s, const char *name,
    unsigned char type)
{
	const struct worker_walk_options *o = w->options;
	bool linked = s->linked;
	int r, errnum = 0;
	enum fs_entry_kind kind =
	    kind_of(w, s->fd, name, type, &linked, &errnum);

	if (kind == FS_ENTRY_OTHER || errnum == ENOENT)
		return 0;
	if (!utf8_valid((const uint8_t *)name, strlen(name))) {
		kind = FS_ENTRY_ERROR;
		errnum = EILSEQ;
	}
	if (kind != FS_ENTRY_ERROR && w->entries == o->entries_max) {
		w->truncated = true;
		return 1;
	}
	r = put(w, kind, s->dir, name, errnum);
	if (r != 0 || kind == FS_ENTRY_ERROR)
		return r;
	w->entries++;
	if (kind != FS_ENTRY_DIRECTORY || s->depth >= o->depth_max ||
	    (o->prune_hidden && name[0] == '.'))
		return 0;
	return enqueue(w, s, name, linked);
}

/*
 * Open a directory that was listed. Without links on the way it cannot be
 * anything but what lies below the root, however names are swapped meanwhile.
 */
static int
open_below(const struct walker *w, const char *path, bool linked)
{
	int flags = WORKER_DIR_OPEN & ~O_NOFOLLOW;

	return linked ? worker_open_nomagic(w->root_fd, path, flags)
		      : worker_open_nolinks(w->root_fd, path, flags);
}

static int
visit_all(struct walker *w, const struct spot *s)
{
	int r = 0;

	for (size_t i = 0; i < w->names.count && r == 0; i++)
		r = visit(w, s, worker_names_get(&w->names, i),
		    w->names.items[i].type);
	return r;
}

/* Enter the next waiting directory. Its path is copied, since the paths may
 * move when more are added. */
static int
enter_next(struct walker *w)
{
	const struct waiting *next = &w->waiting[w->first++];
	char path[PATH_LEN_MAX];
	struct spot s = {.dir = path,
	    .depth = next->depth,
	    .linked = next->linked};
	scoped_fd fd = -1;
	struct stat st;
	int r;

	if (next->len >= sizeof path)
		return 0;
	memcpy(path, w->paths.data + next->at, next->len + 1);
	fd = open_below(w, path, s.linked);
	/* It has vanished, or is no directory any more. */
	if (fd == -ENOENT || fd == -ENOTDIR || (fd == -ELOOP && !s.linked))
		return 0;
	if (fd < 0)
		return put(w, FS_ENTRY_ERROR, path, "", -fd);
	if (fstat(fd, &st) < 0)
		return put(w, FS_ENTRY_ERROR, path, "", errno);
	if (!see(w, &st))
		return 0;
	if (w->directories == w->options->directories_max) {
		w->truncated = true;
		return 1;
	}
	w->directories++;
	s.fd = fd;
	r = worker_names_read(&w->names, fd, &w->dents);
	if (r < 0)
		return r == -ENOMEM ? r : put(w, FS_ENTRY_ERROR, path, "", -r);
	w->truncated |= r > 0;
	return visit_all(w, &s);
}

static int
walk(struct walker *w)
{
	const struct spot s = {.dir = "", .fd = w->root_fd};
	struct stat st;
	int r;

	if (fstat(w->root_fd, &st) < 0)
		return -errno;
	(void)see(w, &st);
	w->directories = 1;
	r = worker_names_read(&w->names, s.fd, &w->dents);
	if (r < 0)
		return r;
	w->truncated = r > 0;
	r = visit_all(w, &s);
	while (r == 0 && w->first < w->count)
		r = enter_next(w);
	return r < 0 ? r : 0;
}

static int
walk_root(struct walker *w)
{
	w->seen_size = 64;
	while (w->seen_size < 2 * (size_t)w->options->directories_max)
		w->seen_size *= 2;
	w->seen = calloc(w->seen_size, sizeof *w->seen);
	return w->seen == NULL ? -ENOMEM : walk(w);
}

int
worker_walk(const char *path, const struct worker_walk_options *o,
    struct buf *out, bool *truncated)
{
	scoped_free struct walker *w = calloc(1, sizeof *w);
	scoped_fd root = -1;
	struct stat st;
	int r;

	if (w == NULL)
		return -ENOMEM;
	/* A link is walked only if links are followed. */
	root = open(path,
	    o->follow ? WORKER_DIR_OPEN & ~O_NOFOLLOW : WORKER_DIR_OPEN);
	if (root < 0 && errno != ENOTDIR)
		return -errno;
	/* Something else has nothing in it, but it is to be there. */
	if (root < 0 && stat(path, &st) < 0)
		return -errno;
	*truncated = false;
	if (root < 0)
		return 0;
	w->options = o;
	w->root = path;
	w->root_fd = root;
	w->out = out;
	buf_init(&w->paths, 2 * FS_LISTING_MAX);
	worker_names_init(&w->names, FS_LISTING_MAX);
	r = walk_root(w);
	*truncated = w->truncated;
	worker_names_done(&w->names);
	buf_done(&w->paths);
	free(w->waiting);
	free(w->seen);
	return r;
}
