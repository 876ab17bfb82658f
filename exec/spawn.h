/* Exec's half of a start: everything up to the clone, and what it yields. */
#ifndef EXEC_SPAWN_H
#define EXEC_SPAWN_H

#include "exec/order.h"

struct spawned {
	int pidfd;   /* init's: readable when the whole tree is gone */
	int status;  /* read end of the status pipe, non-blocking */
	int control; /* socket to init: control.h */
};

/*
 * Start init with the order, whose status_fd and control_fd are set here. It
 * returns at once; whether the program runs is told on status: records, then
 * the end. 0 with all of *out owned by the caller, or a negative errno.
 */
must_use int spawn(struct order *order, struct spawned *out);

#endif
