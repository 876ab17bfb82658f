#include "exec/view_pin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "exec/mount.h"
#include "exec/view_find.h"

int
view_pin(int at)
{
	scoped_fd tree = -1;
	int r = mount_is_root(at);

	if (r != 0)
		return r < 0 ? r : 0;
	tree = mount_clone(at, "", NULL);
	r = tree < 0 ? tree : mount_attach_at(tree, at);
	return r < 0 ? r : 1;
}

/* How much of the path leads to the nearest mount of the plan's that holds
 * it: what is below that has its access. -1 if nothing there can be renamed. */
static ssize_t
start_of(const struct plan *plan, struct bytes path)
{
	enum plan_access access = PLAN_NONE;
	size_t start = 0;

	for (size_t i = 0; i < plan->path_count; i++) {
		const struct plan_path *p = &plan->paths[i];
		struct bytes own = bytes_of(p->path);

		if (!profile_is_in(path, own))
			continue;
		access = p->access;
		if (!view_plan_takes_nothing(p))
			start = own.len;
	}
	return access == PLAN_WRITE ? (ssize_t)start : -1;
}

/* Pin what is found at path. 1 if it was, 0 if it needs none; -ENOENT if
 * something is in the way. */
static int
pin_found(const struct view_plan *v, const char *path)
{
	struct view_place place;
	int r = view_find(v->order, v->root, path, &place);

	if (r < 0)
		return r;
	r = place.found == VIEW_FOUND && S_ISDIR(place.mode)
		? view_pin(place.fd)
		: -ENOENT;
	(void)close(place.fd);
	return r;
}

int
view_pin_way(const struct view_plan *v, const char *path, size_t len)
{
	ssize_t start = start_of(v->order->plan,
	    (struct bytes){.data = (const uint8_t *)path, .len = len});
	char part[PATH_LEN_MAX];
	int made = 0;

	if (start < 0 || len <= 1 || len >= sizeof part)
		return 0;
	for (size_t i = (size_t)start + 1; i <= len; i++) {
		int r;

		if (i < len && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		r = pin_found(v, part);
		if (r == -ENOENT)
			break;
		if (r < 0)
			return r;
		made += r;
	}
	return made;
}
