/* From a request's sandbox object to a plan, for programs and file workers
 * alike. */
#ifndef EXEC_EXECUTOR_PLAN_H
#define EXEC_EXECUTOR_PLAN_H

#include "exec/config.h"

/* What a request says of its confinement, all borrowed. */
struct plan_request {
	struct bytes sandbox; /* packed: sandbox_spec.h */
	struct bytes cwd;     /* where sandbox has none; empty: none at all */
	bool managed_network, network_proxy;
};

/*
 * Decide, within the ceiling of config. Returns 0 with *plan filled, to be
 * released by plan_done; -EPROTO if the object is malformed; else a negative
 * errno with words for the client in e, as of decide.
 */
must_use int executor_plan(const struct exec_config *config,
    const struct plan_request *request, struct plan *plan, struct err *e);

#endif
