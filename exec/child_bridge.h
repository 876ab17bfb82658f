/* The command that leads to a file worker elsewhere, and the bridge to it. */
#ifndef EXEC_CHILD_BRIDGE_H
#define EXEC_CHILD_BRIDGE_H

#include "exec/order.h"

/*
 * After clone, in a process that has nothing to give up any more but its
 * filters: start another one, which is to be the command. Returns 0 in that
 * one, with the streams in place and the bridge locked down, or a negative
 * errno there; and does not return in this one, which becomes the bridge. A
 * negative errno there if nothing was started.
 */
must_use int child_part(const struct order *o);

#endif
