/* Loading a compiled system call policy into this process. */
#ifndef PRIVSEP_LOCKDOWN_H
#define PRIVSEP_LOCKDOWN_H

#include <linux/filter.h>

#include "base/cleanup.h"

/*
 * Load filter with seccomp(2), SECCOMP_SET_MODE_FILTER. no_new_privs must be
 * set or the process hold CAP_SYS_ADMIN. It cannot be undone and every
 * descendant inherits it. Uses only raw system calls, so it may run after
 * clone. Returns 0 or a negative errno.
 */
must_use int lockdown(const struct sock_fprog *filter);

#endif
