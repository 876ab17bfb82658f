/*
 * Giving up rights for good, by raw system calls: nothing here allocates, so
 * all of it may run after clone. Each step is read back; a step that the
 * kernel took but did not carry out is -EPERM.
 */
#ifndef PRIVSEP_PRIVDROP_H
#define PRIVSEP_PRIVDROP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/cleanup.h"

#define CAP_BIT(cap) (UINT64_C(1) << (cap))

/* The calling thread's capability sets, a bit per capability(7). */
struct caps {
	uint64_t effective, permitted, inheritable, bounding;
};

must_use int privdrop_caps_read(struct caps *out);

/*
 * Keep exactly keep (a subset of what is permitted) as effective and permitted
 * and empty the inheritable and ambient sets. With drop_bounding the bounding
 * set becomes keep as well, which needs CAP_SETPCAP beforehand.
 */
must_use int privdrop_caps(uint64_t keep, bool drop_bounding);

/* Drop all but keep from the bounding set. Needs CAP_SETPCAP. */
must_use int privdrop_bounding(uint64_t keep);

/*
 * No supplementary groups, then gid and uid, real, effective and saved. With
 * clear_groups false the groups are left (a plain user may not clear them).
 */
must_use int privdrop_ids(uid_t uid, gid_t gid, bool clear_groups);

/* Soft and hard limit of resource become value, or the present hard limit if
 * that is lower. */
must_use int privdrop_rlimit(int resource, rlim_t value);

/* PR_SET_NO_NEW_PRIVS: an execve gives no rights from now on. */
must_use int privdrop_no_new_privs(void);

/* PR_SET_DUMPABLE 0: no core, and /proc/PID belongs to root. */
must_use int privdrop_undumpable(void);

/*
 * A Landlock domain in which no file can be touched, no TCP port bound or
 * connected, and abstract sockets and signals of others are out of reach, as
 * far as the kernel's Landlock ABI goes. Needs no_new_privs. Returns the ABI
 * used; 0 if the kernel has no Landlock; a negative errno.
 */
must_use int privdrop_landlock_nothing(void);
/* The same, but TCP connections may be made. */
must_use int privdrop_landlock_network(void);

/*
 * Have the kernel kill this process when parent ends, even while it is stopped.
 * The kernel forgets that when ids of the process change, those of file access
 * too, so it is to be said after the last change. Returns 0; -ESRCH if the
 * parent has ended already; another negative errno.
 */
must_use int privdrop_end_with_parent(pid_t parent);

/* Close every descriptor from first on. */
must_use int privdrop_close_from(int first);

#endif
