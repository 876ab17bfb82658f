/*
 * The Landlock domain of a child: the paths of its plan once more, by the
 * kernel's other mechanism. By raw system calls, after clone and after the
 * mounts, since a rule holds on to a directory and not to its name.
 */
#ifndef EXEC_LANDLOCK_H
#define EXEC_LANDLOCK_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "exec/order.h"

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

/*
 * The same where the view is the host's own: what lies in /dev, /proc, /run,
 * /sys and /tmp, which a view of its own would not show, stays out of reach but
 * for harmless devices, the terminal tty (-1: none), /proc to read, and what
 * the plan opens there. Names of files can be seen everywhere.
 */
must_use int landlock_confine_bare(const struct order *o, int tty);

/* Signals of this process and of what it starts reach nobody else. 0 or a
 * negative errno. */
must_use int landlock_scope_signals(void);

#endif
