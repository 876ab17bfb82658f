/*
 * Init, process 1 of a child's pid namespace: finishes the view, makes the
 * streams, starts the program and gives up every right; then it only reaps,
 * reports and passes on. When it goes, the kernel ends everything below it.
 */
#ifndef EXEC_INIT_H
#define EXEC_INIT_H

#include "exec/order.h"

/* After clone, in the new process. Safe there: it allocates nothing. */
_Noreturn void init_run(const struct order *order);

#endif
