/* What a role must have reached before the server may serve. */
#ifndef SUPERVISOR_READINESS_H
#define SUPERVISOR_READINESS_H

#include <stdbool.h>

#include "base/err.h"
#include "privsep/msg.h"

struct readiness {
	bool root;	       /* we were started as root */
	uint32_t uid, gid;     /* our own */
	uint32_t net_uid;      /* what net becomes if root; gid alike */
	uint64_t role_caps;    /* all that exec may hold */
	uint32_t landlock_abi; /* the kernel's; 0: none */
	/* Namespaces (ROLE_NS_*) that the host does not give, if the policy
	 * does without; with one of mounts there is no capability either. */
	uint32_t lacks;
};

/*
 * Compare what role reports with what it has to be. Returns 0, or -EPERM with
 * e naming everything that is missing.
 */
must_use int readiness_check(enum role role, const struct readiness *want,
    const struct msg_role_ready *got, struct err *e);

#endif
