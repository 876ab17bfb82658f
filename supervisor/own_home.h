/* The home directory of commands that have the server's user's rights. */
#ifndef SUPERVISOR_OWN_HOME_H
#define SUPERVISOR_OWN_HOME_H

#include "supervisor/config.h"

/*
 * Under open a command has no home of its session, but the server's user's: as
 * /etc/passwd says, since nothing comes from our own environment. Returns 0 or
 * a negative errno with e.
 */
must_use int own_home_use(struct config *c, struct err *e);

/* Where no session can have directories of its own: TMPDIR and HOME are in
 * scratch (scratch.h). The same errors. */
must_use int own_home_scratch(struct config *c, const char *scratch,
    struct err *e);

#endif
