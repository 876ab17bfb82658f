/* The start-up report of a role: what the kernel says of it. */
#ifndef PRIVSEP_REPORT_H
#define PRIVSEP_REPORT_H

#include "privsep/channel.h"

/* The inode numbers of the namespaces of a process, to compare. */
struct namespaces {
	uint64_t user, mnt, net, pid, ipc, uts;
};

/* Read those of this process. Needs /proc. Returns 0 or a negative errno. */
must_use int namespaces_read(struct namespaces *out);

/* ROLE_NS_* bits of those that differ. */
uint32_t namespaces_differ(const struct namespaces *a,
    const struct namespaces *b);

/*
 * Fill r with ids, capabilities, no_new_privs, seccomp mode and dumpable as
 * the kernel tells them by system calls alone (no /proc is needed, so it works
 * after lock-down: getresuid, getresgid, getgroups, capget, prctl). The other
 * members are left alone.
 */
must_use int report_fill(struct msg_role_ready *r);

#endif
