/* The rules of two profiles as one list of paths. */
#ifndef POLICY_MERGE_H
#define POLICY_MERGE_H

#include "policy/plan.h"

/*
 * Fill paths and globs of plan from its layers. The list is sorted, parents
 * before children. What request or ceiling do not give at all is not in it:
 * then neither is anything above it. 0 or -ENOMEM.
 */
must_use int merge_layers(struct plan *plan);

#endif
