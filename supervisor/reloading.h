/* A SIGHUP on its way: read here, judged by exec, then in force. */
#ifndef SUPERVISOR_RELOADING_H
#define SUPERVISOR_RELOADING_H

#include "supervisor/reload.h"
#include "supervisor/role.h"

struct reloading {
	const struct server **server;	 /* borrowed; what is in force */
	struct role_process *exec, *net; /* borrowed */
	struct reload *current;		 /* in force, owned; NULL: as started */
	struct reload *pending;		 /* owned; exec has not answered yet */
	uint32_t number;		 /* of the last that exec was sent */
	bool again;			 /* asked for meanwhile */
};

/* Read the configuration again. What is wrong with it is logged, and the old
 * one stays; if one is on its way this one follows. */
void reloading_start(struct reloading *r);

/* Exec's answer. Returns 0, or -EPROTO with e if it was not asked. */
must_use int reloading_on_applied(struct reloading *r,
    const struct msg_exec_applied *m, struct err *e);

/* Exec is gone and will not answer. One that was asked for meanwhile is read
 * now, for the next exec. */
void reloading_give_up(struct reloading *r, const char *reason);

/* Free all; the server as started is in force no more either. */
void reloading_done(struct reloading *r);

#endif
