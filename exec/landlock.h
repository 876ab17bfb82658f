/*
 * The Landlock domain of a child: the paths of its plan once more, by the
 * kernel's other mechanism. By raw system calls, after clone and after the
 * mounts, since a rule holds on to a directory and not to its name.
 */
#ifndef EXEC_LANDLOCK_H
#define EXEC_LANDLOCK_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "policy/plan.h"

/* The first ABI that keeps abstract unix sockets of others out of reach. */
#define LANDLOCK_SCOPE_ABI 6

/* The kernel's Landlock ABI, 0 if there is none. */
unsigned int landlock_abi(void);

/*
 * Confine this process for good; no_new_privs must be set. abi is at most the
 * kernel's; what it lacks is left out. Devices below /dev may be written and
 * ioctl'ed, none made; so may be what /proc lets its owner write. With
 * scope_abstract the abstract unix sockets of others are out of reach.
 * 0 or a negative errno.
 */
must_use int landlock_confine(const struct plan *plan, unsigned int abi,
    bool scope_abstract);

#endif
