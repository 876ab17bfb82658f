/*
 * What net and sallyport-http give up before they take a byte from outside:
 * all rights, in one order of steps. Their room (privsep/jail.h) comes before
 * it, their filter (privsep/lockdown.h) after it.
 */
#ifndef PRIVSEP_ROLE_DROP_H
#define PRIVSEP_ROLE_DROP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "privsep/privdrop.h"

struct role_rlimit {
	int resource;
	rlim_t value; /* soft and hard */
};

struct role_drop {
	uid_t uid; /* to become, or 0: stay, as there is no other id for us */
	gid_t gid;
	bool bare;    /* entered no namespaces */
	bool connect; /* TCP connections may be made */
	/* Whose end is ours: who started us. Until the change of ids that
	 * start has seen to it, so getppid(2) before that is the one. */
	pid_t parent;
	const struct role_rlimit *rlimits; /* beside no core and no fork */
	size_t rlimit_count;
};

/*
 * Whether there is a right to empty the capability bounding set: not for a
 * plain user outside a user namespace, to whom the set means nothing, as
 * no_new_privs is set.
 */
bool role_drop_bounds(uid_t uid, bool bare);

/*
 * Empty bounding set, ids, no capabilities, limits, death with the parent, not
 * dumpable, no_new_privs, and a Landlock domain without files. Returns the ABI
 * of Landlock, 0 if the host has none, or a negative errno with e naming the
 * step.
 */
must_use int role_drop(const struct role_drop *d, struct err *e);

#endif
