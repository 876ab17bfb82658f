#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "exec/mount.h"
#include "exec/raw.h"
#include "exec/view.h"
#include "privsep/privdrop.h"

static void
change_to(const struct view *v, uid_t uid, gid_t gid)
{
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	if (privdrop_end_with_parent(v->parent) < 0)
		_exit(1);
}

void
view_as_child(const struct view *v)
{
	change_to(v, v->id.uid, v->id.gid);
}

void
view_as_self(const struct view *v)
{
	change_to(v, geteuid(), getegid());
}

/* --- clones, with ids mapped -------------------------------------------- */

/*
 * There are no id-mapped mounts. Then the child has to be the owner of the
 * files, which must not be root.
 */
static int
become_owner(struct view *v, const struct workspace *w, struct err *e)
{
	bool same = v->id.inside_uid == v->id.uid;

	v->tell = true;
	if (w->uid == 0)
		return err_set(e, EINVAL,
		    "a workspace belongs to root and its file system has no "
		    "id-mapped mounts: chown the workspace to another user");
	v->tell = false;
	v->id.uid = w->uid;
	if (w->gid != 0)
		v->id.gid = w->gid;
	/* Without a user namespace of their own they are who they are. */
	if (same) {
		v->id.inside_uid = v->id.uid;
		v->id.inside_gid = v->id.gid;
	}
	return 0;
}

/* 1 if the ids are mapped, 0 if they cannot be here, or -errno. */
static int
map_ids(struct view *v, size_t i, struct err *e)
{
	const struct workspace *w = &v->config->workspaces[i];
	scoped_fd ns = nsmake_idmap(w->uid, w->gid, &v->id, e);
	int r;

	/* A host that has no user namespaces maps no ids either. */
	if (ns == -EPERM || ns == -ENOSPC || ns == -EINVAL || ns == -EUSERS)
		return 0;
	if (ns < 0)
		return ns;
	r = mount_map_ids(v->workspaces[i], ns);
	if (r == -EINVAL)
		return 0;
	return r < 0 ? err_errno(e, -r, "map ids of %s", w->path) : 1;
}

static int
clone_all(struct view *v, struct err *e)
{
	const struct exec_config *c = v->config;

	for (size_t i = 0; i < c->workspace_count; i++) {
		fd_close(&v->workspaces[i]);
		v->workspaces[i] = mount_clone(c->workspaces[i].fd, "", e);
		if (v->workspaces[i] < 0)
			return v->workspaces[i];
	}
	return 0;
}

/* Map all. If one cannot be, v->id changes and *again is set. */
static int
map_all(struct view *v, bool *again, struct err *e)
{
	const struct exec_config *c = v->config;

	*again = false;
	for (size_t i = 0; i < c->workspace_count; i++) {
		const struct workspace *w = &c->workspaces[i];
		int r;

		if (w->uid == v->id.uid)
			continue;
		r = map_ids(v, i, e);
		if (r < 0)
			return r;
		if (r == 1)
			continue;
		*again = true;
		return become_owner(v, w, e);
	}
	return 0;
}

int
view_open_workspaces(struct view *v, struct err *e)
{
	bool again = false;
	int r = clone_all(v, e);

	if (r < 0 || !v->config->root)
		return r;
	r = map_all(v, &again, e);
	/* A mount's map is made once: start afresh with the new identity. */
	if (r == 0 && again) {
		r = clone_all(v, e);
		if (r == 0)
			r = map_all(v, &again, e);
		if (r == 0 && again)
			r = err_set(e, EINVAL,
			    "workspaces without id-mapped mounts have several "
			    "owners: chown them to one");
	}
	return r;
}

/* --- mount points -------------------------------------------------------- */

/* The next component of a path: its length, 0 at the end; *at moves to it. */
static size_t
next_component(const char **at)
{
	while (**at == '/')
		(*at)++;
	return strcspn(*at, "/");
}

/* Open component name of dir as the child would. */
static int
enter(const struct view *v, int dir, const char *name, bool directory)
{
	int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, fd, errnum;

	view_as_child(v);
	fd = openat(dir, name, flags | (directory ? O_DIRECTORY : 0));
	errnum = errno;
	view_as_self(v);
	return fd < 0 ? -errnum : fd;
}

static int
make_component(int dir, const char *name, bool directory)
{
	scoped_fd fd = -1;

	if (directory)
		return mkdirat(dir, name, 0755) < 0 ? -errno : 0;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	return fd < 0 ? -errno : 0;
}

/*
 * One step of view_make_point: from *dir, reached by path[0..before), into
 * name. If the child may not search *dir, an empty directory is put over it.
 */
static int
step(const struct view *v, int *dir, char *path, size_t before,
    const char *name, bool directory, struct err *e)
{
	int fd = enter(v, *dir, name, directory), r;
	char kept = path[before];

	if (fd == -EACCES && before > 0) {
		path[before] = '\0';
		r = mount_tmpfs(path, "size=64k,nr_inodes=64,mode=0755", e);
		fd_close(dir);
		*dir = r < 0 ? r : open(path, O_PATH | O_CLOEXEC);
		path[before] = kept;
		if (*dir < 0)
			return r < 0 ? r : err_errno(e, errno, "open cover");
		fd = -ENOENT;
	}
	if (fd == -ENOENT) {
		r = make_component(*dir, name, directory);
		fd = r < 0 ? r : enter(v, *dir, name, directory);
	}
	if (fd < 0)
		return err_errno(e, -fd, "mount point %s", path);
	fd_close(dir);
	*dir = fd;
	return 0;
}

int
view_make_point(const struct view *v, const char *path, bool directory,
    struct err *e)
{
	scoped_fd dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	scoped_free char *copy = strdup(path);
	const char *at = copy;
	size_t len;

	if (dir < 0 || copy == NULL)
		return err_errno(e, errno, "mount point %s", path);
	for (len = next_component(&at); len > 0; len = next_component(&at)) {
		size_t before = (size_t)(at - copy);
		char name[256];
		int r;

		if (len >= sizeof name)
			return err_set(e, ENAMETOOLONG, "%s", path);
		memcpy(name, at, len);
		name[len] = '\0';
		at += len;
		r = step(v, &dir, copy, before > 1 ? before - 1 : 0, name,
		    directory || *at != '\0', e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- mounting ------------------------------------------------------------ */

static int
build_workspace(struct view *v, size_t i, struct err *e)
{
	const char *path = v->config->workspaces[i].path;
	const uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	int r = view_make_point(v, path, true, e);

	if (r == 0)
		r = mount_attr(v->workspaces[i], safe, 0, true, e);
	return r < 0 ? r : mount_attach(v->workspaces[i], path, e);
}

/* Parents before children, which a parent's mount would hide: a parent's
 * path is shorter. */
int
view_build_workspaces(struct view *v, struct err *e)
{
	const struct exec_config *c = v->config;
	bool done[WORKSPACES_MAX] = {false};

	for (size_t n = 0; n < c->workspace_count; n++) {
		size_t best = WORKSPACES_MAX;
		int r;

		for (size_t i = 0; i < c->workspace_count; i++)
			if (!done[i] &&
			    (best == WORKSPACES_MAX ||
				strlen(c->workspaces[i].path) <
				    strlen(c->workspaces[best].path)))
				best = i;
		done[best] = true;
		r = build_workspace(v, best, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- protected files ----------------------------------------------------- */

bool
view_is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* The length of the longest workspace's path that path lies below; 0: none. */
static size_t
workspace_above(const struct exec_config *c, const char *path)
{
	size_t best = 0;

	for (size_t i = 0; i < c->workspace_count; i++) {
		size_t len = strlen(c->workspaces[i].path);

		if (len > best && view_is_below(path, c->workspaces[i].path))
			best = len;
	}
	return best;
}

/* As the child, who may own a directory that root without more rights may
 * not enter; or as ourselves, if it is the other way round. */
static int
pin(const struct view *v, const char *path, bool read_only, struct err *e)
{
	int r;

	view_as_child(v);
	r = mount_pin(path, read_only, NULL);
	view_as_self(v);
	return r == -EACCES ? mount_pin(path, read_only, e)
	       : r < 0	    ? err_errno(e, -r, "protect %s", path)
			    : 0;
}

/* Pin every directory from the workspace down to path, then path itself
 * read-only: none of them can be renamed to put another in its place. */
static int
protect(const struct view *v, const char *path, struct err *e)
{
	size_t start = workspace_above(v->config, path);
	scoped_free char *copy = strdup(path);

	if (copy == NULL)
		return err_set(e, ENOMEM, "protect");
	if (start == 0)
		return 0; /* not writable anyway */
	for (size_t i = start + 1; copy[i] != '\0'; i++) {
		int r;

		if (copy[i] != '/')
			continue;
		copy[i] = '\0';
		r = pin(v, copy, false, e);
		copy[i] = '/';
		if (r < 0)
			return r;
	}
	return pin(v, path, true, e);
}

int
view_build_protected(const struct view *v, struct err *e)
{
	const struct exec_config *c = v->config;
	int r = 0;

	for (size_t i = 0; i < c->protected_count && r == 0; i++)
		r = protect(v, c->protected_paths[i], e);
	return r;
}
