/* What the audit log is told of a program's life: docs/audit.md. */
#ifndef EXEC_EXECUTOR_AUDIT_H
#define EXEC_EXECUTOR_AUDIT_H

#include <sys/resource.h>

#include "exec/executor.h"

/* It was started: what it is, and what it may do. sandbox is what was asked
 * for, packed: sandbox_spec.h. */
void executor_audit_start(struct executor *x, const struct session *s,
    const struct lease *l, const struct order *order, const struct plan *plan,
    struct bytes sandbox);

/* Nothing of its tree is left; usage is init's, with all that it has reaped. */
void executor_audit_gone(struct executor *x, const struct lease *l,
    const struct rusage *usage);

#endif
