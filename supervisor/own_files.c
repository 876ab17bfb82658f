#include "supervisor/own_files.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>

#include "supervisor/binary.h"

/* The directory of a binary: a child that could write there could replace it,
 * or put another of our executables in its place. */
static int
protect_directory(struct workspaces *w, const char *path, struct err *e)
{
	char copy[PATH_LEN_MAX];

	(void)snprintf(copy, sizeof copy, "%s", path);
	return workspaces_protect(w, dirname(copy), OWN_READ, e);
}

/* The files that were read. */
static int
protect_config(struct workspaces *w, const struct config *c,
    const char *config_file, struct err *e)
{
	char dir[PATH_LEN_MAX];
	int r = 0;

	for (size_t i = 0; i < c->files.count && r == 0; i++)
		r = workspaces_protect(w, c->files.items[i], OWN_READ, e);
	/* Protecting the directory would not help where it is missing: a
	 * command could make it for the next start. */
	if (r == 0)
		r = config_dropin_path(config_file, dir);
	if (r == 0 && c->files.count > 1 &&
	    workspaces_protect(w, dir, OWN_WRITE, NULL) < 0)
		r = err_set(e, EPERM,
		    "%.110s: drop-ins in a workspace, where commands can make "
		    "them, do not count",
		    dir);
	return r;
}

static int
protect_binaries(struct workspaces *w, const char *const *binaries,
    struct err *e)
{
	char self[PATH_LEN_MAX];
	int r = binary_self(self, e);

	if (r == 0)
		r = protect_directory(w, self, e);
	for (size_t i = 0; binaries[i] != NULL && r == 0; i++)
		r = protect_directory(w, binaries[i], e);
	return r;
}

int
own_files_protect(struct workspaces *w, const struct config *c,
    const char *config_file, const char *url_file, const char *const *binaries,
    struct err *e)
{
	int r = protect_binaries(w, binaries, e);

	if (r == 0 && config_file != NULL)
		r = protect_config(w, c, config_file, e);
	if (r == 0 && c->child_policy != NULL)
		r = workspaces_protect(w, c->child_policy, OWN_READ, e);
	if (r == 0 && c->audit.file != NULL)
		r = workspaces_protect(w, c->audit.file, OWN_WRITE, e);
	if (r == 0 && c->audit.socket != NULL)
		r = workspaces_protect(w, c->audit.socket, OWN_WRITE, e);
	if (r == 0 && c->audit.key_file != NULL)
		r = workspaces_protect(w, c->audit.key_file, OWN_WRITE, e);
	if (r == 0 && url_file != NULL)
		r = workspaces_protect(w, url_file, OWN_WRITE, e);
	return r;
}
