/*
 * The decision: what a request asks for, within what the policy allows. Pure;
 * the same input gives the same answer. Starts and file workers are decided
 * alike.
 */
#ifndef POLICY_DECIDE_H
#define POLICY_DECIDE_H

#include "base/cleanup.h"
#include "policy/plan.h"

/* The sandbox member of a request; the values of enum sandbox_kind. */
enum decide_sandbox {
	DECIDE_SANDBOX_NULL,
	DECIDE_SANDBOX_DISABLED,
	DECIDE_SANDBOX_EXTERNAL,
	DECIDE_SANDBOX_UNRESTRICTED,
	DECIDE_SANDBOX_RESTRICTED,
};

/* All borrowed. */
struct decide_request {
	enum decide_sandbox sandbox;
	bool network_enabled; /* its network member, where the kind has one */
	bool managed_network; /* asks for rules per domain or port */
	bool network_proxy;   /* asks for a proxy to be launched */
	/* Of DECIDE_SANDBOX_RESTRICTED: */
	const struct profile_entry *entries;
	size_t entry_count;
	struct profile_names names;
	uint32_t glob_scan_max_depth; /* 0: not given */
};

/* The most that a request can get. */
struct decide_ceiling {
	enum plan_view view; /* not PLAN_VIEW_EMPTY */
	bool network_enabled;
	enum plan_unix_sockets unix_sockets;
	/* Spelled out by the administrator: every request gets a view of its
	 * own, also one that restricts nothing, and none runs as root. */
	bool custom;
	/* Borrowed. With PLAN_VIEW_MINIMAL a rule on "/" counts as the minimal
	 * list; with PLAN_VIEW_OPEN "/" can be written. */
	const struct plan_path *paths;
	size_t path_count; /* at most PLAN_PATHS_MAX */
};

/* The shipped policies; the values of enum preset. */
enum decide_preset {
	DECIDE_PRESET_WORKSPACE,
	DECIDE_PRESET_OPEN,
	DECIDE_PRESET_STRICT,
};

/* What a preset is made of, borrowed by the ceiling. */
struct decide_places {
	const char *const *workspaces; /* can be written */
	size_t workspace_count;
	const char *const *read_only; /* wherever they lie */
	size_t read_only_count;
};

/*
 * Fill *ceiling, which borrows paths and what places names. Scratch space,
 * workspaces and read-only files together are at most PLAN_PATHS_MAX.
 */
void decide_ceiling_of(enum decide_preset preset, bool network_enabled,
    const struct decide_places *places, struct plan_path paths[PLAN_PATHS_MAX],
    struct decide_ceiling *ceiling);

/*
 * Returns 0 with *plan filled, to be released by plan_done; or, with *plan
 * untouched and words for the client in e, -ENOTSUP if what is asked for cannot
 * be enforced; -EINVAL, -E2BIG as of profile_of_entries, and -E2BIG past
 * SANDBOX_GLOBS_MAX patterns, SANDBOX_GLOB_BYTES_MAX bytes of them or
 * PLAN_PLACEHOLDERS_MAX placeholders; -ENOMEM.
 */
must_use int decide(const struct decide_request *request,
    const struct decide_ceiling *ceiling, struct plan *plan, struct err *e);

#endif
