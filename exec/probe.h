/* What this host lets exec do, found out once at start by doing it. */
#ifndef EXEC_PROBE_H
#define EXEC_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

struct probe {
	unsigned int landlock_abi; /* 0: no Landlock */
	uint64_t bounding;	   /* our bounding set, once it is final */
	bool userns;		   /* children get their own user namespace */
	bool raise_oom_score;	   /* ours is negative, a child's must not be */
};

/* Needs /proc and the capabilities of the start. */
void probe_run(struct probe *p);

/* "landlock=7 userns=yes cgroup=none limits=rlimit" into out[0..size). */
void probe_text(const struct probe *p, char *out, size_t size);

#endif
