/* The signals that the supervisor's loop attends to. */
#ifndef SUPERVISOR_SIGNALS_H
#define SUPERVISOR_SIGNALS_H

#include "base/cleanup.h"

/*
 * Block SIGTERM, SIGINT, SIGCHLD and SIGHUP, the last unless whoever started
 * us had it ignored so that we outlive a terminal, and ignore SIGPIPE. Returns
 * a descriptor from which those that are blocked can be read (signalfd(2),
 * non-blocking), or a negative errno.
 */
must_use int signals_open(void);

#endif
