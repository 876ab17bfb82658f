/*
 * Whether the kernel has ended a process for want of memory: its own count of
 * such ends in a control group, version 1 or 2: exec's, which its children
 * share, or one of theirs.
 */
#ifndef EXEC_OOM_H
#define EXEC_OOM_H

#include <stdbool.h>
#include <stdint.h>

struct oom {
	int fd;	       /* owned; -1: no such count can be read here */
	uint64_t seen; /* ends that are accounted for */
};

/* Find the count of our own group. Needs /proc and the host's /sys/fs/cgroup.
 */
void oom_open(struct oom *o);
/* The count of the group that dir is, of version 2 or 1. */
void oom_open_in(struct oom *o, int dir, bool v2);
void oom_close(struct oom *o);

/*
 * A process was killed: whether there is an end that no earlier one accounts
 * for. It is this one's from now on. A process of the same group that is none
 * of ours may be taken for it.
 */
bool oom_account(struct oom *o);

#endif
