/* Giving up everything but the network. */
#ifndef HTTP_CONFINE_H
#define HTTP_CONFINE_H

#include "http/config.h"
#include "privsep/channel.h"

/*
 * Go to an empty read-only root in namespaces of our own, the network
 * excepted, become c->uid or stay in a user namespace, drop all capabilities,
 * set limits, Landlock and the system call filter, and report to exec what was
 * reached. Returns 0, or a negative errno with e naming the step; there is no
 * way on from a failure.
 */
must_use int confine(const struct config *c, struct channel *exec,
    struct err *e);

#endif
