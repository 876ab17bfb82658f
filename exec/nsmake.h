/*
 * Namespaces that a short-lived process makes and hands over as descriptors:
 * the user namespace of an id-mapped mount, and a session's network. Run by
 * the session's helper only.
 */
#ifndef EXEC_NSMAKE_H
#define EXEC_NSMAKE_H

#include <sys/types.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Who a session's children are. */
struct identity {
	uid_t uid; /* on the host */
	gid_t gid;
	uid_t inside_uid; /* in their own user namespace */
	gid_t inside_gid;
};

/*
 * A user namespace for a mount on which owner:group of the file system are
 * child's host ids and all other ids are what they are. A descriptor, or a
 * negative errno with e. Needs CAP_SETUID and CAP_SETGID, and CAP_SETFCAP
 * unless owner is 0.
 */
must_use int nsmake_idmap(uid_t owner, gid_t group,
    const struct identity *child, struct err *e);

/*
 * A network namespace in which loopback, and nothing else, is up. It belongs
 * to a user namespace of its own, so no capability over the host's network is
 * needed; where there are none it takes root and CAP_NET_ADMIN. A descriptor,
 * or a negative errno with e.
 */
must_use int nsmake_loopback(struct err *e);

#endif
