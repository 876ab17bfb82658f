/*
 * What ends a command but itself: totals of control groups, and the clock. The
 * groups of sessions and leases, and why a program ended.
 */
#ifndef EXEC_EXECUTOR_LIMITS_H
#define EXEC_EXECUTOR_LIMITS_H

#include "exec/executor.h"
#include "exec/order.h"

/* The group of a session that is being opened, if there are totals. 0, or a
 * negative errno with e. */
must_use int executor_limits_session(struct executor *x, struct session *s,
    struct err *e);

/* The session is at its end: let its group go. */
void executor_limits_session_done(struct executor *x, struct session *s);

/* What a lease gets before its init is made. */
struct limits_entry {
	struct cgroup own;	/* its own group, if it gets one */
	uint64_t refused_forks; /* in the group it is counted in, so far */
};

/*
 * The groups that the lease to be numbered id enters, into the order. *entry is
 * to be given up with executor_limits_drop, or passed to executor_limits_start.
 * 0 or a negative errno.
 */
must_use int executor_limits_order(struct executor *x, const struct session *s,
    uint32_t id, struct order *order, struct limits_entry *entry);
void executor_limits_drop(const struct session *s, struct cgroup *own);

/* The lease takes entry, and from now on the clock runs, if it is a program's.
 */
void executor_limits_start(struct executor *x, struct lease *l,
    const struct limits_entry *entry, bool program);

/* End what has had its time; the next such time or -1. */
int64_t executor_limits_deadlines(struct executor *x, int64_t now_ms);

/* Whether, since the lease started, its group had no room for a process. */
bool executor_limits_lack_processes(const struct executor *x, struct lease *l);

/* Of a program that ended with that wait status. To be asked once. */
enum end_reason executor_limits_why(struct executor *x, struct lease *l,
    uint32_t status);

#endif
