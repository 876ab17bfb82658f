/*
 * The program's half of a start: from init's fork to execve. After clone, so
 * it allocates nothing and uses only calls that are safe there.
 */
#ifndef EXEC_CHILD_H
#define EXEC_CHILD_H

#include "exec/init_streams.h"
#include "exec/order.h"

/*
 * Wait for a byte on go, which says that the id maps are written, confine this
 * process step by step and execute the program. A step that fails is told on
 * the order's status pipe.
 */
_Noreturn void child_run(const struct order *order,
    const struct streams *streams, int go);

/* Take the capabilities in present, which holds the bounding set, out of it;
 * needs CAP_SETPCAP. 0 or a negative errno. */
must_use int child_drop_bounding(uint64_t present);
/* Give up all others. 0; -EPERM if one is left, with bounding in that set too;
 * another negative errno. */
must_use int child_drop_caps(bool bounding);

#endif
