/* Comparing two system call policies. */
#ifndef SUPERVISOR_POLICY_SYSCALLS_H
#define SUPERVISOR_POLICY_SYSCALLS_H

#include "base/cleanup.h"
#include "base/err.h"

/*
 * Tell on standard output what the policy b allows that a does not, a line for
 * each call with arguments for which it is so. A path that is NULL stands for
 * the built-in policy of programs. Every call that either names is tried with
 * every combination of the values that its tests tell apart.
 *
 * Returns 1 if there was anything, 0 if not; a negative errno with e if a file
 * is no policy, or has more combinations than can be tried.
 */
must_use int policy_syscalls_compare(const char *a, const char *b,
    struct err *e);

#endif
