/*
 * What this host lets exec do, found out once at start by doing it, and what
 * follows for what it may serve.
 */
#ifndef EXEC_PROBE_H
#define EXEC_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "exec/config.h"
#include "exec/mount_type.h"
#include "policy/plan.h"
#include "privsep/layer.h"

struct probe {
	/* By enum layer: 0 if it works, else why not; -1: not tried. */
	int errnum[LAYER_COUNT];
	/* The kind of file system of a workspace that maps no ids; else "". */
	char unmapped[MOUNT_TYPE_MAX];
	unsigned int landlock_abi; /* 0: no Landlock */
	uint64_t bounding;	   /* our bounding set, once it is final */
	bool userns;		   /* children get their own user namespace */
	bool own_proc;		   /* children get their own /proc */
	bool raise_oom_score;	   /* ours is negative, a child's must not be */
	/* No namespace of any kind can be had: children are held by Landlock
	 * and their filters alone. */
	bool bare;
	bool netns; /* a session gets a network of its own */
};

/* User namespaces and mounts of our own have been tried, nothing else. */
void probe_init(struct probe *p);

/* Try what takes no namespaces, under the system call filter. */
void probe_layers(struct probe *p);

/* Whether this policy goes on where no namespaces can be had. */
bool probe_may_be_bare(const struct exec_config *c);

/*
 * Try everything, in the place where sessions will be made and locked down as
 * when they are. Needs /proc.
 */
void probe_run(struct probe *p, const struct exec_config *c);

#define PROBE_TEXT_MAX 1024 /* bytes, the final NUL included */

/*
 * "seccomp=yes userns=EPERM ... landlock=7 ...": a layer's key, and yes, an
 * errno or untried; of id-mapped mounts "EINVAL:overlay", the file system's
 * kind behind it; with EXEC_FLAG_PROBE also preset.NAME=, yes or the key of
 * the layer that is missing for it.
 */
void probe_text(const struct probe *p, const struct exec_config *c,
    char out[PROBE_TEXT_MAX]);

/*
 * Whether anything can be served: what every command needs, or a workspace, is
 * there, or the policy does without. 0, or -ENOTSUP with e, which names the
 * layer and what to change.
 */
must_use int probe_serves(const struct probe *p, const struct exec_config *c,
    struct err *e);

/* The same for one plan: LAYER_NONE, or the layer that is missing, with e. */
must_use enum layer probe_lacks(const struct probe *p,
    const struct exec_config *c, const struct plan *plan, struct err *e);

#endif
