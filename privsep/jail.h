/*
 * An empty room for a role that needs no files and no network of its own:
 * new mount, network, IPC and UTS namespaces and an empty read-only root.
 */
#ifndef PRIVSEP_JAIL_H
#define PRIVSEP_JAIL_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "privsep/report.h"

/*
 * Enter it. Started as root this needs CAP_SYS_ADMIN; started as a plain user
 * a user namespace is made first, in which the caller keeps its id and holds
 * every capability until it drops them. Sockets that are already open stay
 * usable. Needs /proc and allocates nothing. The namespaces it is in
 * afterwards are told in *entered, since the empty root has no /proc to ask.
 * Returns 0, or a negative errno with e naming the step.
 */
must_use int jail_enter(struct namespaces *entered, struct err *e);

/*
 * The same on a host that lacks some of the namespaces (ROLE_NS_*), which are
 * left out; without a mount namespace nothing is entered at all.
 */
must_use int jail_enter_without(uint32_t lacks, struct namespaces *entered,
    struct err *e);

/* The same, but the network stays the caller's: for a role that is to use it.
 */
must_use int jail_enter_networked(struct namespaces *entered, struct err *e);

/*
 * For a plain user: enter a new user namespace in which the caller's uid and
 * gid are mapped to themselves and it holds every capability. Returns 0, or a
 * negative errno with e.
 */
must_use int jail_enter_userns(struct err *e);

#endif
