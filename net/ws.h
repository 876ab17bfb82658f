/* The libwebsockets side of net: its context, its callbacks and its writes. */
#ifndef NET_WS_H
#define NET_WS_H

#include "net/connection.h"

/* Make the context and put the poller's set into its loop. Before lock-down.
 * Returns 0 or -ENOMEM. */
must_use int ws_init(struct net *n);
void ws_done(struct net *n);

/* Serve one turn: waits until something happens or a timer is due. */
void ws_turn(struct net *n);
/* Let that come to its end: there may be no event that it waits for. */
void ws_wake(struct net *n);

/* Hand over an accepted socket; fd is taken. */
void ws_adopt(struct net *n, int fd, const char *peer);

#endif
