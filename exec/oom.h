/*
 * Whether the kernel has ended a process for want of memory: its own count of
 * such ends in exec's control group, which its children share, version 1 or 2.
 */
#ifndef EXEC_OOM_H
#define EXEC_OOM_H

#include <stdbool.h>
#include <stdint.h>

struct oom {
	int fd;	       /* owned; -1: no such count can be read here */
	uint64_t seen; /* ends that are accounted for */
};

/* Find the count. Needs /proc and the host's /sys/fs/cgroup. */
void oom_open(struct oom *o);
void oom_close(struct oom *o);

/*
 * A process was killed: whether there is an end that no earlier one accounts
 * for. It is this one's from now on. A process of the same group that is none
 * of ours may be taken for it.
 */
bool oom_account(struct oom *o);

#endif
