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

/* Empty the capability bounding set; needs CAP_SETPCAP. 0 or a negative
 * errno. */
must_use int child_drop_bounding(void);

#endif
