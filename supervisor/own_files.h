/* Which files are sallyport's own, wherever the workspaces lie. */
#ifndef SUPERVISOR_OWN_FILES_H
#define SUPERVISOR_OWN_FILES_H

#include "supervisor/config.h"
#include "supervisor/workspace.h"

/*
 * Protect in w, by workspaces_protect, the executables, the files that c was
 * read from, and the files that it names. config_file and url_file are as given
 * on the command line, NULL if they were not; binaries are the paths of the
 * other executables, ending with NULL. Returns 0, or a negative errno with e if
 * a workspace could change one of them.
 */
must_use int own_files_protect(struct workspaces *w, const struct config *c,
    const char *config_file, const char *url_file, const char *const *binaries,
    struct err *e);

#endif
