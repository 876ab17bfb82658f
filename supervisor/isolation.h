/* Whether the programs of a backend have no network: known from the beginning,
 * or judged by exec before the first client, and never again. */
#ifndef SUPERVISOR_ISOLATION_H
#define SUPERVISOR_ISOLATION_H

#include "privsep/msg.h"
#include "supervisor/config_backend.h"

enum isolation {
	ISOLATION_UNKNOWN, /* exec is to say */
	ISOLATION_NO,
	ISOLATION_YES,
};

/* As far as the configuration settles it. */
enum isolation isolation_of(const struct config_backend *b);

/*
 * Take exec's verdict, which is logged. Returns 0; -EPROTO with e if none was
 * asked for; -EREMOTEIO with e if it has none to give.
 */
must_use int isolation_take(enum isolation *i,
    const struct msg_exec_inspected *m, struct err *e);

#endif
