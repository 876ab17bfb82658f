/* The signals that the supervisor's loop attends to. */
#ifndef SUPERVISOR_SIGNALS_H
#define SUPERVISOR_SIGNALS_H

#include <stdbool.h>

#include "base/cleanup.h"

/*
 * Block SIGTERM, SIGINT, SIGCHLD and SIGHUP, the last unless whoever started
 * us had it ignored so that we outlive a terminal, and ignore SIGPIPE. Returns
 * a descriptor from which those that are blocked can be read (signalfd(2),
 * non-blocking), or a negative errno.
 */
must_use int signals_open(void);

/* Whether this process has a controlling terminal. One that hangs up is taken
 * away before SIGHUP comes, so that this tells it from a SIGHUP of kill(1). */
bool signals_has_terminal(void);

#endif
