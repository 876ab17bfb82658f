/* Net gives up every right before it reads a client's byte. */
#ifndef NET_CONFINE_H
#define NET_CONFINE_H

#include "net/net.h"

/* Wait for one message. Returns 0 or a negative errno with e. */
must_use int confine_wait(struct channel *c, struct msg *m, struct err *e);

/*
 * Enter an empty root and own namespaces, become the configured uid, give up
 * capabilities, set limits, Landlock and the system call filter, and report to
 * the supervisor what was reached. Returns 0 or a negative errno with e; the
 * process must not go on then.
 */
must_use int confine(struct net *n, struct err *e);

#endif
