/*
 * The decision: what a request asks for, within what the policy allows. Pure;
 * the same input gives the same answer.
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

struct decide_request {
	enum decide_sandbox sandbox;
	bool network_enabled; /* its network member, where the kind has one */
	bool managed_network; /* asks for rules per domain or port */
	bool network_proxy;   /* asks for a proxy to be launched */
};

/* The most that a request can get. */
struct decide_ceiling {
	enum plan_view view;
	bool network_enabled;
	const struct plan_path *paths; /* borrowed by every plan */
	size_t path_count;	       /* at most PLAN_PATHS_MAX */
};

/*
 * Returns NULL with *plan filled, or the reason, in words for the client, why
 * the request cannot be enforced; *plan is then untouched.
 */
must_use const char *decide(const struct decide_request *request,
    const struct decide_ceiling *ceiling, struct plan *plan);

#endif
