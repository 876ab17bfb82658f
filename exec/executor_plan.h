/* From a request's sandbox object to a plan, for programs and file workers
 * alike. */
#ifndef EXEC_EXECUTOR_PLAN_H
#define EXEC_EXECUTOR_PLAN_H

#include "exec/config.h"
#include "exec/probe.h"
#include "exec/template.h"
#include "privsep/role.h"

/* What a request says of its confinement, all borrowed. */
struct plan_request {
	struct bytes sandbox; /* packed: sandbox_spec.h */
	struct bytes cwd;     /* where sandbox has none; empty: none at all */
	bool managed_network, network_proxy;
	/* For the files of a backend whose programs have a directory of this
	 * host under another path: that one alone is to be seen, there. */
	bool bound;
	const struct template *template; /* the session's */
	const struct probe *probe;
	enum layer *missing; /* out: set to what the host lacks; may be NULL */
};

/*
 * Decide, within the ceiling of config. Returns 0 with *plan filled, to be
 * released by plan_done; -EPROTO if the object is malformed; else a negative
 * errno with words for the client in e, as of decide.
 */
must_use int executor_plan(const struct exec_config *config,
    const struct plan_request *request, struct plan *plan, struct err *e);

/* What kind of refusal a negative errno of executor_plan is. */
enum refuse_reason executor_plan_reason(int r);

#endif
