#include "exec/worker_watch.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "exec/worker_path.h"
#include "privsep/pack.h"

/* Between two looks at everything. */
#define RECHECK_MS  5000
/* Reads of inotify before other work has its turn. */
#define READS_MAX   16
/* Tries to watch a directory while its tree changes. */
#define TRIES_MAX   8
#define APPEAR_MASK (IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF)
#define CHANGE_MASK                                                            \
	(APPEAR_MASK | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE |                \
	    IN_MOVED_FROM | IN_DELETE)

struct watched {
	char *path;    /* owned */
	int wd;	       /* of the deepest directory that exists; -1: none */
	uint32_t name; /* hash of what is expected in it */
};

struct watch {
	uint32_t number;
	bool dirty; /* to be looked at */
	bool has_present;
	bool existed; /* the present one, when the watch began; then: */
	struct stat was;
	size_t count; /* missing ones, then perhaps the present one */
	struct watched paths[];
};

static uint32_t
hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s != '\0'; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

void
worker_watch_init(struct worker_watches *ws)
{
	*ws = (struct worker_watches){.fd = -1};
}

static void
watch_free(struct watch *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->count; i++)
		free(w->paths[i].path);
	free(w);
}

void
worker_watch_done(struct worker_watches *ws)
{
	for (size_t i = 0; i < FS_WATCHES_MAX; i++)
		watch_free(ws->items[i]);
	fd_close(&ws->fd);
	worker_watch_init(ws);
}

static bool
is_used(const struct worker_watches *ws, int wd)
{
	for (size_t i = 0; i < FS_WATCHES_MAX; i++)
		for (size_t j = 0;
		     ws->items[i] != NULL && j < ws->items[i]->count; j++)
			if (ws->items[i]->paths[j].wd == wd)
				return true;
	return false;
}

/* Stop watching a directory that no path waits for any more. */
static void
let_go(const struct worker_watches *ws, int wd)
{
	if (wd >= 0 && !is_used(ws, wd))
		(void)inotify_rm_watch(ws->fd, wd);
}

/*
 * Watch the deepest directory of p that exists. By the time that this is so a
 * deeper one may exist; so it is looked for again until it is the same.
 */
static void
arm(const struct worker_watches *ws, struct watched *p, uint32_t mask)
{
	int old = p->wd;

	for (unsigned int i = 0; i < TRIES_MAX && ws->fd >= 0; i++) {
		scoped_place struct worker_place at = PLACE_NONE;
		int before = p->wd, r = worker_path_find(p->path, &at);

		if (r < 0 && r != -ENOENT)
			break;
		p->name = hash(at.name);
		p->wd =
		    inotify_add_watch(ws->fd, at.dir[0] == '\0' ? "/" : at.dir,
			mask | IN_ONLYDIR | IN_MASK_ADD);
		if (p->wd < 0 || (i > 0 && p->wd == before))
			break;
	}
	if (p->wd != old)
		let_go(ws, old);
}

static bool
is_changed(const struct watch *w, const char *path)
{
	const struct stat *a = &w->was;
	struct stat b;

	if (stat(path, &b) < 0)
		return w->existed;
	return !w->existed || a->st_dev != b.st_dev || a->st_ino != b.st_ino ||
	       a->st_size != b.st_size || a->st_mode != b.st_mode ||
	       a->st_mtim.tv_sec != b.st_mtim.tv_sec ||
	       a->st_mtim.tv_nsec != b.st_mtim.tv_nsec ||
	       a->st_ctim.tv_sec != b.st_ctim.tv_sec ||
	       a->st_ctim.tv_nsec != b.st_ctim.tv_nsec;
}

/* Arm every path anew, then look. Returns whether there is something to tell.
 */
static bool
look(const struct worker_watches *ws, struct watch *w)
{
	struct stat st;

	w->dirty = false;
	for (size_t i = 0; i < w->count; i++) {
		bool present = w->has_present && i == w->count - 1;
		struct watched *p = &w->paths[i];

		arm(ws, p, present ? CHANGE_MASK : APPEAR_MASK);
		if (present ? is_changed(w, p->path) : stat(p->path, &st) == 0)
			return true;
	}
	return false;
}

static bool
has_number(const struct worker_watches *ws, uint32_t number)
{
	for (size_t i = 0; i < FS_WATCHES_MAX; i++)
		if (ws->items[i] != NULL && ws->items[i]->number == number)
			return true;
	return false;
}

static int
put_path(struct watch *w, struct bytes path)
{
	char copy[WORKER_PATH_SIZE];
	int r = worker_path_copy(path, copy);

	if (r < 0)
		return r;
	w->paths[w->count].wd = -1;
	w->paths[w->count].path = strdup(copy);
	if (w->paths[w->count].path == NULL)
		return -ENOMEM;
	w->count++;
	return 0;
}

static int
fill(struct watch *w, struct bytes missing, struct bytes present)
{
	struct reader r;
	struct bytes path;
	int e = 0;

	reader_init(&r, missing.data, missing.len);
	while (e == 0 && strings_next(&r, &path))
		e = put_path(w, path);
	if (e < 0 || present.len == 0)
		return e;
	e = put_path(w, present);
	if (e < 0)
		return e;
	w->has_present = true;
	w->existed = stat(w->paths[w->count - 1].path, &w->was) == 0;
	return 0;
}

static int
watch_new(uint32_t number, struct bytes missing, struct bytes present,
    struct watch **out)
{
	struct watch *w;
	size_t count;
	int r;

	if (!strings_check(missing, SIZE_MAX, PATH_LEN_MAX, &count))
		return -EPROTO;
	w = calloc(1, sizeof *w + (count + 1) * sizeof w->paths[0]);
	if (w == NULL)
		return -ENOMEM;
	w->number = number;
	r = fill(w, missing, present);
	if (r < 0)
		watch_free(w);
	else
		*out = w;
	return r;
}

/* Take item i out, with the directories that only it waited for. */
static void
drop(struct worker_watches *ws, size_t i)
{
	struct watch *w = ws->items[i];

	ws->items[i] = NULL;
	ws->count--;
	for (size_t j = 0; j < w->count; j++)
		let_go(ws, w->paths[j].wd);
	watch_free(w);
	if (ws->count == 0)
		fd_close(&ws->fd);
}

int
worker_watch_add(struct worker_watches *ws, uint32_t number,
    struct bytes missing, struct bytes present, bool *watching)
{
	struct watch *w;
	size_t i = 0;
	int r;

	if (has_number(ws, number))
		return -EPROTO;
	while (i < FS_WATCHES_MAX && ws->items[i] != NULL)
		i++;
	if (i == FS_WATCHES_MAX)
		return -EMFILE;
	r = watch_new(number, missing, present, &w);
	if (r < 0)
		return r;
	*watching = false;
	if (missing.len == 0) {
		watch_free(w);
		return 0;
	}
	if (ws->count == 0) {
		ws->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		ws->checked_ms = clock_ms();
	}
	ws->items[i] = w;
	ws->count++;
	*watching = !look(ws, w);
	if (!*watching)
		drop(ws, i);
	return 0;
}

void
worker_watch_remove(struct worker_watches *ws, uint32_t number)
{
	for (size_t i = 0; i < FS_WATCHES_MAX; i++)
		if (ws->items[i] != NULL && ws->items[i]->number == number)
			drop(ws, i);
}

int
worker_watch_timeout(const struct worker_watches *ws)
{
	int64_t left;

	if (ws->count == 0)
		return -1;
	left = ws->checked_ms + RECHECK_MS - clock_ms();
	return left < 0 ? 0 : (int)left;
}

static void
mark(struct worker_watches *ws, const struct inotify_event *e)
{
	bool all = e == NULL || (e->mask & IN_Q_OVERFLOW) != 0;
	bool named = e != NULL && e->len > 0;
	uint32_t name = named ? hash(e->name) : 0;

	for (size_t i = 0; i < FS_WATCHES_MAX; i++) {
		struct watch *w = ws->items[i];

		for (size_t j = 0; w != NULL && j < w->count && !w->dirty; j++)
			w->dirty =
			    all || (w->paths[j].wd == e->wd &&
				       (!named || w->paths[j].name == name));
	}
}

static void
mark_all_read(struct worker_watches *ws, const char *events, size_t len)
{
	size_t at = 0;

	while (at < len) {
		const struct inotify_event *e = (const void *)(events + at);

		mark(ws, e);
		at += sizeof *e + e->len;
	}
}

void
worker_watch_read(struct worker_watches *ws)
{
	_Alignas(struct inotify_event) char events[4096];

	for (unsigned int i = 0; i < READS_MAX && ws->fd >= 0; i++) {
		ssize_t n = read(ws->fd, events, sizeof events);

		if (n <= 0)
			break;
		mark_all_read(ws, events, (size_t)n);
	}
	if (worker_watch_timeout(ws) == 0) {
		mark(ws, NULL);
		ws->checked_ms = clock_ms();
	}
}

bool
worker_watch_fired(struct worker_watches *ws, uint32_t *number)
{
	for (size_t i = 0; i < FS_WATCHES_MAX; i++) {
		struct watch *w = ws->items[i];

		if (w == NULL || !w->dirty || !look(ws, w))
			continue;
		*number = w->number;
		drop(ws, i);
		return true;
	}
	return false;
}
