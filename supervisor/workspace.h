/*
 * The workspaces: directories that commands may change. They are opened once,
 * while the supervisor still may, and travel to exec as descriptors.
 */
#ifndef SUPERVISOR_WORKSPACE_H
#define SUPERVISOR_WORKSPACE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/limits.h"
#include "supervisor/list.h"

struct workspaces {
	struct list paths;	 /* real paths, each once */
	int fds[WORKSPACES_MAX]; /* O_PATH, one for each of paths */
	struct list read_only;	 /* what children may not change in them */
};

/* What a file of our own needs. */
enum own_file {
	OWN_READ,  /* a file or directory that we only read */
	OWN_WRITE, /* a file that we write: it may not exist yet */
};

/*
 * Open paths, or the current directory if there are none. "/" is refused
 * unless allow_all. Returns 0, or -EINVAL and the like with e naming the path.
 * w is to be released with workspaces_done in both cases.
 */
must_use int workspaces_open(struct workspaces *w, const struct list *paths,
    bool allow_all, struct err *e);
void workspaces_done(struct workspaces *w);

/*
 * Make sure that no child can replace path, a file or directory of our own: if
 * it lies in a workspace its real path, that of a file's directory, is added to
 * read_only. Exec mounts that read-only and pins every directory on the way to
 * it, since an ancestor that a child may rename would be no protection; and one
 * file would be none, as its mount does not follow when an editor puts a new
 * one in its place. Returns 0, or -EPERM with e naming path if that is not
 * possible: it is the workspace itself, or a file right in it, or reached by a
 * symbolic link in it, or must be written.
 */
must_use int workspaces_protect(struct workspaces *w, const char *path,
    enum own_file kind, struct err *e);

/* Duplicates of fds for a message, close-on-exec. Returns 0 or a negative
 * errno; out is filled only on success. */
must_use int workspaces_dup(const struct workspaces *w,
    int out[WORKSPACES_MAX]);

#endif
