/* What the host gives the sandbox, found out by trying. */
#ifndef SUPERVISOR_HOST_PROBE_H
#define SUPERVISOR_HOST_PROBE_H

#include "supervisor/config.h"

#define HOST_PROBE_SIZE (4096 + 1) /* bytes, the final NUL included */

/*
 * Let an exec of its own try what the sandbox takes, with the workspaces of c,
 * and report: probe is text as of exec/probe.h. Nothing is left behind.
 *
 * The calling process is confined as the supervisor is from then on, as exec
 * must not have more rights here than there: it can open nothing any more.
 * Returns 0, or a negative errno with e.
 */
must_use int host_probe(struct config *c, char probe[HOST_PROBE_SIZE],
    struct err *e);

#endif
