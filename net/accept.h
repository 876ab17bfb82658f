/* New sockets from the listener that the supervisor opened. */
#ifndef NET_ACCEPT_H
#define NET_ACCEPT_H

#include "net/net.h"

/* Accept from now on. Returns 0 or a negative errno of epoll_ctl(2). */
must_use int accept_start(struct net *n);
/* Accept no more. */
void accept_stop(struct net *n);

#endif
