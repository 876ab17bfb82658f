/*
 * What a start may do, fully resolved: nothing is left to decide when it is
 * carried out.
 */
#ifndef POLICY_PLAN_H
#define POLICY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_PATHS_MAX 64

/* The files that a command sees before paths are made writable in it. */
enum plan_view {
	PLAN_VIEW_HOST,	   /* the host's root, read-only */
	PLAN_VIEW_MINIMAL, /* what a dynamically linked program needs */
	PLAN_VIEW_OPEN,	   /* the host's root as it is; no file ceiling */
};

/* In order of strength: of two rules for one path the later wins. */
enum plan_access { PLAN_READ, PLAN_WRITE, PLAN_DENY };

/* One path of a view. */
struct plan_path {
	const char *path; /* absolute, canonical, borrowed */
	enum plan_access access;
};

struct plan {
	enum plan_view view;
	bool network_enabled; /* the host's network, else loopback alone */
	/* The network was restricted for a request with a sandbox object, and
	 * its program shall know: CODEX_SANDBOX_NETWORK_DISABLED. */
	bool tell_network_disabled;
	/* Parents before children; the longest prefix of a path decides. */
	const struct plan_path *paths; /* borrowed from the ceiling */
	size_t path_count;
};

#endif
