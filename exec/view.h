/*
 * The files of a session: a mount namespace assembled once, which every child
 * of the session copies. Run by the session's helper, a fork of exec that
 * lives for this only; it may allocate.
 *
 * Everything is mounted by descriptors that were opened before the new root is
 * turned to, and looked up with the ids of the session's children, so that no
 * file of the host is reached that they could not reach.
 */
#ifndef EXEC_VIEW_H
#define EXEC_VIEW_H

#include "exec/config.h"
#include "exec/nsmake.h"

struct order;

#define VIEW_DEVICES 6
extern const char *const view_devices[VIEW_DEVICES];

/* Whose view it is. */
enum view_kind {
	VIEW_CEILING, /* of all children but those of the next */
	/* Of children that restrict something, under the preset open: the same
	 * files, for a user who is nobody on the host. */
	VIEW_OPEN_NARROW,
};

struct view {
	const struct exec_config *config;
	enum view_kind kind;
	pid_t parent; /* exec: this process ends with it */
	struct identity id;
	/* Detached mounts, -1 where there is none. */
	int root, proc, cpus, resolv, shm;
	bool tell; /* the words of a failure name no path of the host */
	struct buf sockets; /* the host's, as /proc/net/unix lists them */
	char *resolv_path;  /* owned; of resolv, else NULL */
	int devices[VIEW_DEVICES];
	int workspaces[WORKSPACES_MAX];
	int backend[BACKEND_SOCKETS_MAX];
};

void view_init(struct view *v, enum view_kind kind,
    const struct exec_config *config, const struct identity *id, pid_t parent);
/* Close what is still open. */
void view_done(struct view *v);

/*
 * Open everything that the view is made of. As root the workspaces are
 * id-mapped here; where a file system refuses that, v->id becomes the owner of
 * the workspace, or, if that is root, the session is refused. Must run in
 * exec's own mount namespace. 0, or a negative errno with e.
 */
must_use int view_open(struct view *v, struct err *e);

/* Assemble the view in the caller's new mount namespace. Takes v's
 * descriptors. 0, or a negative errno with e. */
must_use int view_build(struct view *v, struct err *e);

/* In a copy of the view's mount namespace, for children that have not the
 * network which the others have: cover the host's sockets there. 0, or a
 * negative errno with e. */
must_use int view_narrow(struct view *v, struct err *e);

/* Whether it is the host's root as it is, for whoever the server is. */
static inline bool
view_is_open(const struct view *v)
{
	return v->config->preset == PRESET_OPEN && v->kind == VIEW_CEILING;
}

/* --- parts, in files of their own --- */

/* view_root.c: the root, minimal or the host's, and what lies over it. */
must_use int view_build_root(struct view *v, struct err *e);
must_use int view_build_overlays(struct view *v, struct err *e);
/* What was writable for making mount points is read-only from now on. */
must_use int view_seal(const struct view *v, struct err *e);

/* view_workspace.c: clones with ids mapped; mounting; pinning. */
must_use int view_open_workspaces(struct view *v, struct err *e);
must_use int view_build_workspaces(struct view *v, struct err *e);
must_use int view_build_protected(const struct view *v, struct err *e);

/*
 * Make an empty directory, or file, at path where nothing exists, and whatever
 * is missing on the way. Ancestors that the child may not enter are replaced
 * by empty ones. 0, or a negative errno with e.
 */
must_use int view_make_point(const struct view *v, const char *path,
    bool directory, struct err *e);

/* File access as the child has it, until view_as_self: only ids that look
 * files up change, and those of files that are made. This process ends here if
 * exec has ended: what is looked up may be on a file system that never
 * answers. */
void view_as_child(const struct view *v);
void view_as_self(const struct view *v);

/*
 * view_sockets.c: with the network restricted, unix sockets of the host are
 * covered wherever the view would show them, since connecting to one needs
 * neither a writable mount nor the network: by the name that they were bound
 * with, and if there is nothing, in the directory of that name. The host's list
 * is read before the network is left.
 */
must_use int view_open_sockets(struct view *v, struct err *e);
must_use int view_build_sockets(struct view *v, struct err *e);
/* By init, in the session's own mount namespace, so that it is done for all
 * children to come: the order's, which the host has made since. */
must_use int view_more_sockets(const struct order *o);

/*
 * view_backend.c: the sockets that a backend's commands may use, each where it
 * is on the host. They are never covered; one that the view would not show, as
 * it has a directory of its own there, is mounted. One that does not exist is
 * left out. 0; -EINVAL with e if what is there is no socket, or its path has a
 * symbolic link; another negative errno with e.
 */
must_use int view_open_backend(struct view *v, struct err *e);
must_use int view_build_backend(struct view *v, struct err *e);
/* Whether path is one of them. */
bool view_is_backend(const struct view *v, const char *path);

/* Whether path lies below dir. */
bool view_is_below(const char *path, const char *dir);

/* view_passwd.c: a passwd entry for the child, if it has none. */
must_use int view_build_passwd(const struct view *v, struct err *e);

#endif
