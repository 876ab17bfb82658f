#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

#include "exec/control.h"
#include "exec/mount.h"
#include "exec/raw.h"
#include "exec/view_find.h"
#include "exec/view_plan.h"

/* With the child's ids, so that it belongs to whom the directory around it
 * does. Its owner outside may fill it: `git init` works meanwhile. */
static int
make(const struct order *o, int dir, const char *name)
{
	int r = 0;

	view_find_as_child(o);
	if (mkdirat(dir, name, 0755) < 0 || fchmodat(dir, name, 0755, 0) < 0)
		r = -errno;
	view_find_as_self(o);
	return r;
}

/* Whether the child, which may not make it now, could give itself the right
 * to. */
static bool
is_its_own(const struct order *o, int dir)
{
	struct stat st;

	return fstat(dir, &st) < 0 || st.st_uid == o->id.uid;
}

/* Exec removes it when no child needs it any more. */
static int
tell(const struct view_plan *v, size_t index, size_t len, const struct stat *st)
{
	const struct plan *plan = v->order->plan;
	struct control c = {.type = CONTROL_MADE,
	    .b = (uint32_t)len,
	    .dev = st->st_dev,
	    .ino = st->st_ino};

	for (size_t i = 0; i < index; i++)
		c.a += plan->paths[i].missing == PLAN_MISSING_PLACEHOLDER;
	return raw_send(v->order->control_fd, &c, sizeof c, NULL, 0);
}

static int
hold(const struct view_plan *v, size_t index, const struct view_place *place)
{
	const struct plan_path *p = &v->order->plan->paths[index];
	scoped_fd tree = -1;
	int r;

	if (p->access == PLAN_DENY)
		return view_scratch_mask(&v->scratch, place->fd, true);
	tree = mount_clone(place->fd, "", NULL);
	if (tree < 0)
		return tree;
	r = mount_attr(tree, MOUNT_ATTR_RDONLY, 0, false, NULL);
	return r < 0 ? r : mount_attach_at(tree, place->fd);
}

int
view_placeholder_make(const struct view_plan *v, size_t index, int dir,
    size_t len)
{
	const char *path = v->order->plan->paths[index].path;
	const char *at = path + len + 1;
	size_t name_len = strcspn(at, "/");
	struct view_place place;
	scoped_fd fd = -1;
	char name[256];
	struct stat st;
	bool made;
	int r;

	if (name_len >= sizeof name)
		return 0; /* no file can have that name */
	memcpy(name, at, name_len);
	name[name_len] = '\0';
	r = make(v->order, dir, name);
	if (r == -EROFS || (r == -EACCES && !is_its_own(v->order, dir)))
		return 0; /* nor can the child */
	/* Or another child that starts at the same moment has made it. */
	made = r == 0;
	if (made || r == -EEXIST)
		r = view_find(v->order, dir, at - 1, &place);
	if (r < 0)
		return r;
	fd = place.fd;
	if (!made && place.found == VIEW_BLOCKED)
		return view_scratch_mask(&v->scratch, fd, S_ISDIR(place.mode));
	if (made && fstat(fd, &st) < 0)
		return -errno;
	if (made)
		r = tell(v, index, len + 1 + name_len, &st);
	return r < 0 ? r : hold(v, index, &place);
}
