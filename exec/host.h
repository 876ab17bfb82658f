/* Exec's own place: what it is born into, and what it leaves of that. */
#ifndef EXEC_HOST_H
#define EXEC_HOST_H

#include "exec/config.h"
#include "privsep/report.h"

/*
 * At the very start, before anything is read: default signal dispositions, a
 * session and a keyring of its own, no core files, as many descriptors as
 * allowed. 0, or a negative errno with e.
 */
must_use int host_settle(struct err *e);

/*
 * Go to a mount namespace of our own, as a plain user to a user namespace
 * first, and open the workspaces again there: a mount can be cloned only
 * within its namespace. 0, or a negative errno with e.
 */
must_use int host_leave(struct exec_config *c, struct err *e);

#endif
