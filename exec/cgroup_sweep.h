/*
 * Groups that a server left behind when it was killed. Ours are known by the
 * name, which only a process with rights over the group above can give, by the
 * owner, and by a lock that a living exec holds on each of them.
 */
#ifndef EXEC_CGROUP_SWEEP_H
#define EXEC_CGROUP_SWEEP_H

#include <stdbool.h>

#include "base/cleanup.h"

/* "sallyport-" and 32 hexadecimal digits, the final NUL included. */
#define CGROUP_NAME_MAX 43

/* A name that no other has: 0, or -EIO. */
must_use int cgroup_name_make(char out[CGROUP_NAME_MAX]);
/* Whether name is of that form. */
must_use bool cgroup_name_is_ours(const char *name);

/* Take the lock of a directory of ours. 0, or -EWOULDBLOCK. */
must_use int cgroup_lock(int dir);

/*
 * Remove what dead servers of this user have left in base, and kill what is
 * still in it. What cannot be removed stays for the next time.
 */
void cgroup_sweep(int base);

/*
 * Kill what is in base/name and the two levels below it, and remove them. 0,
 * also if there is no such group; -EBUSY if processes are still in it, with
 * wait after a second of trying; another negative errno.
 */
must_use int cgroup_remove_tree(int base, const char *name, bool wait);

/* End what is in that group and below it: at once where the kernel can. */
void cgroup_kill_all(int dir);

#endif
