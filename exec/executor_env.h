/* The environment of a program that starts. */
#ifndef EXEC_EXECUTOR_ENV_H
#define EXEC_EXECUTOR_ENV_H

#include "exec/executor.h"
#include "policy/plan.h"
#include "privsep/pack.h"

/* Bytes of one: as much as a request's, and the base. */
#define EXECUTOR_ENV_MAX (PROCESS_SPEC_MAX + 4 * ENV_CONFIG_MAX)

/*
 * Append to out, of at most EXECUTOR_ENV_MAX bytes, the list of NAME=VALUE that
 * spec's program in session s gets under plan. Names that were dropped go to
 * log and audit. 0, or a negative errno of env_decide with e.
 */
must_use int executor_env(struct executor *x, const struct session *s,
    const struct spec *spec, const struct plan *plan, struct buf *out,
    struct err *e);

#endif
