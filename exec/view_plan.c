#include "exec/view_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "exec/mount.h"
#include "exec/view_find.h"
#include "exec/view_pin.h"

/* --- what a path takes ---------------------------------------------------- */

bool
view_plan_takes_nothing(const struct plan_path *p)
{
	return p->path[1] == '\0' ||
	       profile_access_rank(p->access) == profile_access_rank(p->around);
}

static bool
takes_source(const struct plan_path *p)
{
	return p->in_view ||
	       (!view_plan_takes_nothing(p) && p->access != PLAN_DENY);
}

static bool
is_less(const struct plan_path *p)
{
	return profile_access_rank(p->access) < profile_access_rank(p->around);
}

/* Whether the view starts with nothing in it. */
static bool
starts_empty(const struct plan *plan)
{
	return plan->view == PLAN_VIEW_MINIMAL || plan->view == PLAN_VIEW_EMPTY;
}

static bool
needs_scratch(const struct plan *plan)
{
	if (starts_empty(plan) || plan->glob_count > 0)
		return true;
	/* What is to be read-only may prove to be a link, which is masked. */
	for (size_t i = 0; i < plan->path_count; i++)
		if (!view_plan_takes_nothing(&plan->paths[i]) &&
		    is_less(&plan->paths[i]))
			return true;
	return false;
}

int
view_plan_begin(struct view_plan *v, const struct order *o)
{
	int r;

	*v = (struct view_plan){.order = o, .root = -1};
	view_scratch_init(&v->scratch);
	if (!needs_scratch(o->plan))
		return 0;
	r = view_scratch_make(&v->scratch);
	if (r == 0 && starts_empty(o->plan)) {
		v->root = view_scratch_root(&v->scratch);
		r = v->root < 0 ? v->root : 0;
	}
	return r;
}

/* --- sources -------------------------------------------------------------- */

/* *tree is a copy of what the session has at the path; -1 if it has nothing
 * there, or something is in the way. */
static int
clone_source(struct view_plan *v, const struct plan_path *p, int *tree)
{
	scoped_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	scoped_fd at = -1;
	int r;

	if (root < 0)
		return -errno;
	r = view_find_own(v->order, root, p->path, &at);
	if (r < 0 || at < 0)
		return r;
	*tree = mount_clone(at, "", NULL);
	return *tree < 0 ? *tree : 0;
}

/* The same of the minimal root, which the host's administrator has laid out:
 * links are followed. */
static int
clone_minimal(const char *path, int *tree)
{
	*tree = mount_clone(AT_FDCWD, path, NULL);
	if (*tree >= 0)
		return 0;
	if (*tree != -ENOENT && *tree != -EACCES)
		return *tree;
	*tree = -1;
	return 0;
}

/* A copy of the session's mount can be written as far as that can. */
static int
clone(struct view_plan *v, const struct plan_path *p, int *tree)
{
	int r = p->in_view ? clone_minimal(p->path, tree)
			   : clone_source(v, p, tree);

	if (r < 0 || *tree < 0 || p->access == PLAN_WRITE)
		return r;
	return mount_attr(*tree, MOUNT_ATTR_RDONLY, 0, true, NULL);
}

/* All of them, while nothing of the session's view has changed. */
static int
collect(struct view_plan *v)
{
	const struct plan *plan = v->order->plan;
	int r = 0;

	for (size_t i = 0; i < plan->path_count && r == 0; i++) {
		if (!takes_source(&plan->paths[i]))
			continue;
		if (v->source_count == VIEW_SOURCES_MAX)
			return -E2BIG;
		v->sources[v->source_count] = -1;
		r = clone(v, &plan->paths[i], &v->sources[v->source_count++]);
	}
	return r;
}

/* --- the root ------------------------------------------------------------- */

/* /proc and /dev, which every program has, in a view that starts empty. */
static int
bring(const struct view_plan *v, const char *path)
{
	scoped_fd tree = mount_clone(AT_FDCWD, path, NULL), at = -1;

	if (tree < 0)
		return tree;
	if (mkdirat(v->root, path + 1, 0755) < 0)
		return -errno;
	at = openat(v->root, path + 1, O_PATH | O_CLOEXEC);
	return at < 0 ? -errno : mount_attach_at(tree, at);
}

/* The session's shared memory comes with /dev; a plan lists it if it shall. */
static int
leave_shm(const struct view_plan *v)
{
	scoped_fd at = openat(v->root, "dev/shm", O_PATH | O_CLOEXEC);

	if (at < 0)
		return errno == ENOENT ? 0 : -errno;
	return view_scratch_mask(&v->scratch, at, true);
}

static int
begin_empty(struct view_plan *v)
{
	int r = bring(v, "/proc");

	if (r == 0)
		r = bring(v, "/dev");
	return r < 0 ? r : leave_shm(v);
}

static int
set_attr(const char *path, uint64_t set, uint64_t clear, unsigned int flags)
{
	struct mount_attr attr = {.attr_set = set, .attr_clr = clear};

	return mount_setattr(AT_FDCWD, path, flags, &attr, sizeof attr) < 0
		   ? -errno
		   : 0;
}

/* All read-only, but for what is the child's own. */
static int
begin_host(struct view_plan *v)
{
	struct plan_answer root = plan_access(v->order->plan,
	    (struct bytes){.data = (const uint8_t *)"/", .len = 1});
	int r;

	v->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (v->root < 0)
		return -errno;
	if (root.access == PLAN_WRITE)
		return 0;
	r = set_attr("/", MOUNT_ATTR_RDONLY, 0, AT_RECURSIVE);
	if (r == 0 && v->scratch.dir >= 0)
		r = mount_attr(v->scratch.dir, 0, MOUNT_ATTR_RDONLY, false,
		    NULL);
	/* An empty one, where the host gives no other, can stay. */
	if (r == 0 && v->order->own_proc)
		r = set_attr("/proc", 0, MOUNT_ATTR_RDONLY, 0);
	return r < 0 ? r : set_attr("/dev/pts", 0, MOUNT_ATTR_RDONLY, 0);
}

/* The new root becomes the only one. */
static int
enter(const struct view_plan *v)
{
	int r;

	if (!starts_empty(v->order->plan))
		return 0;
	r = mount_attr(v->root, MOUNT_ATTR_RDONLY, 0, false, NULL);
	if (r == 0 && fchdir(v->root) < 0)
		r = -errno;
	return r < 0 ? r : mount_pivot(NULL);
}

/* --- mount points --------------------------------------------------------- */

/* A directory is as open as the one that it is made in. */
static int
make_component(const struct view_place *in, const char *name, bool directory)
{
	mode_t mode = in->mode & 0777;
	scoped_fd fd = -1;

	if (!directory) {
		fd = openat(in->fd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
		return fd < 0 ? -errno : 0;
	}
	if (mkdirat(in->fd, name, mode) < 0 ||
	    fchmodat(in->fd, name, mode, 0) < 0)
		return -errno;
	return 0;
}

/*
 * Find the path in the view as it is so far; in what is ours, and empty, make
 * what is missing of it.
 */
static int
find_or_make(struct view_plan *v, const char *path, bool directory,
    struct view_place *place)
{
	int r = view_find(v->order, v->root, path, place);

	while (r == 0 && place->found == VIEW_MISSING && v->scratch.dir >= 0 &&
	       place->dev == v->scratch.dev) {
		const char *at = path + place->len + 1;
		size_t len = strcspn(at, "/");
		char name[256];

		if (len >= sizeof name)
			return -ENAMETOOLONG;
		memcpy(name, at, len);
		name[len] = '\0';
		r = make_component(place, name, directory || at[len] == '/');
		(void)close(place->fd);
		place->fd = -1;
		if (r == 0)
			r = view_find(v->order, v->root, path, place);
	}
	return r;
}

/* --- paths ---------------------------------------------------------------- */

/* Whether the mount is of a directory. */
static int
is_directory(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? -errno : S_ISDIR(st.st_mode);
}

/* The root's own link, like /bin. 1 if it is one and was made. */
static int
make_link(const struct view_plan *v, const char *path)
{
	char target[PATH_LEN_MAX];
	ssize_t n;

	if (strchr(path + 1, '/') != NULL)
		return 0;
	n = readlink(path, target, sizeof target - 1);
	if (n <= 0)
		return 0;
	target[n] = '\0';
	return symlinkat(target, v->root, path + 1) < 0 ? -errno : 1;
}

/* More than what is around it: mounted if the view has a place for it. */
static int
give(struct view_plan *v, const struct plan_path *p, int source)
{
	struct view_place place;
	scoped_fd at = -1;
	int r;

	if (source < 0)
		return 0;
	r = p->in_view ? make_link(v, p->path) : 0;
	if (r != 0)
		return r < 0 ? r : 0;
	r = is_directory(source);
	if (r >= 0)
		r = find_or_make(v, p->path, r == 1, &place);
	if (r < 0)
		return r;
	at = place.fd;
	return place.found == VIEW_FOUND ? mount_attach_at(source, at) : 0;
}

/* Of what is protected in something writable. */
static int
pin_way(const struct view_plan *v, const struct plan_path *p)
{
	size_t dir = (size_t)(strrchr(p->path, '/') - p->path);
	int r;

	if (p->around != PLAN_WRITE)
		return 0;
	r = view_pin_way(v, p->path, dir);
	return r < 0 ? r : 0;
}

/* It is there, or something is in the way: then that is masked. */
static int
take_found(struct view_plan *v, const struct plan_path *p,
    const struct view_place *place, int source)
{
	bool directory = S_ISDIR(place->mode);

	if (place->found == VIEW_BLOCKED ||
	    (p->access == PLAN_READ && source < 0))
		return view_scratch_mask(&v->scratch, place->fd, directory);
	if (p->access == PLAN_READ)
		return mount_attach_at(source, place->fd);
	if (p->searched && directory)
		return view_scratch_mask_searched(&v->scratch, place->fd);
	return view_scratch_mask(&v->scratch, place->fd, directory);
}

/* Less than what is around it. */
static int
take(struct view_plan *v, size_t index, int source)
{
	const struct plan_path *p = &v->order->plan->paths[index];
	struct view_place place;
	scoped_fd at = -1;
	int r = view_find(v->order, v->root, p->path, &place);

	if (r < 0)
		return r;
	at = place.fd;
	if (place.found != VIEW_MISSING)
		return take_found(v, p, &place, source);
	if (p->missing == PLAN_MISSING_IGNORE)
		return 0;
	return view_placeholder_make(v, index, at, place.len);
}

static int
apply_paths(struct view_plan *v)
{
	const struct plan *plan = v->order->plan;
	size_t next = 0;
	int r = 0;

	for (size_t i = 0; i < plan->path_count && r == 0; i++) {
		const struct plan_path *p = &plan->paths[i];
		int source = -1;

		if (takes_source(p))
			source = v->sources[next++];
		if (p->in_view || (!view_plan_takes_nothing(p) && !is_less(p)))
			r = give(v, p, source);
		else if (!view_plan_takes_nothing(p))
			r = pin_way(v, p);
		if (r == 0 && !view_plan_takes_nothing(p) && is_less(p))
			r = take(v, i, source);
		fd_close(&source);
	}
	return r;
}

int
view_plan_paths(struct view_plan *v)
{
	int r = collect(v);

	if (r == 0)
		r = starts_empty(v->order->plan) ? begin_empty(v)
						 : begin_host(v);
	return r < 0 ? r : apply_paths(v);
}

/* --- another name ----------------------------------------------------------
 */

/* What was made on the way to it goes, as far as nothing else is there. */
static void
remove_way(const struct view_plan *v, const char *path)
{
	char at[PATH_LEN_MAX];
	size_t len = strlen(path);

	if (len >= sizeof at)
		return;
	(void)memcpy(at, path, len + 1);
	while (len > 0 && unlinkat(v->root, at + 1, AT_REMOVEDIR) == 0) {
		while (at[len] != '/')
			len--;
		at[len] = '\0';
	}
}

/* With all that is mounted in it. Nothing is shown if it has gone. */
static int
move(struct view_plan *v)
{
	const struct plan *plan = v->order->plan;
	struct view_place from, to = VIEW_PLACE_NONE;
	scoped_fd moved = -1, at = -1;
	int r;

	if (plan->moved == NULL)
		return 0;
	r = view_find(v->order, v->root, plan->moved, &from);
	if (r < 0)
		return r;
	moved = from.fd;
	if (from.found != VIEW_FOUND)
		return 0;
	r = find_or_make(v, plan->moved_as, S_ISDIR(from.mode), &to);
	if (r < 0)
		return r;
	at = to.fd;
	if (to.found != VIEW_FOUND)
		return -ENOTDIR;
	r = mount_attach_at(moved, at);
	if (r == 0)
		remove_way(v, plan->moved);
	return r;
}

int
view_plan_end(struct view_plan *v)
{
	int r = move(v);

	if (r == 0)
		r = view_scratch_seal(&v->scratch);
	if (r == 0)
		r = enter(v);
	view_scratch_done(&v->scratch);
	fd_close(&v->root);
	return r;
}
