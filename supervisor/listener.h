/* The listening socket, which outlives every net. */
#ifndef SUPERVISOR_LISTENER_H
#define SUPERVISOR_LISTENER_H

#include "supervisor/listen_url.h"

/*
 * Bind and listen at u, non-blocking and close-on-exec; u then holds the port
 * that was chosen for port 0. The socket has TCP_NODELAY, which those accepted
 * from it inherit, tcp(7): net sends whole frames and may not set options.
 * Returns the descriptor, or a negative errno with e.
 */
must_use int listener_open(struct listen_url *u, struct err *e);

#endif
