/* A policy as text, as the parser reads it. */
#ifndef POLICY_SYSCALL_PRINT_H
#define POLICY_SYSCALL_PRINT_H

#include "policy/syscall_text.h"

/*
 * Append p, which may have been parsed from several texts, as one text. A rule
 * behind one that leaves nothing to it is left out: it never decides. The test
 * is as it was written. -EMSGSIZE, -ENOMEM.
 */
must_use int syscall_print(const struct syscall_policy *p, struct buf *out);

/* Append an action as rules have it: allow, kill, or the name of an errno.
 * -EMSGSIZE, -ENOMEM. */
must_use int syscall_print_action(struct syscall_action a, struct buf *out);

/* Whether rule i of p can never decide: an earlier one of its call has no
 * test, or the same text as test, for all of its architectures. */
bool syscall_print_is_hidden(const struct syscall_policy *p, size_t i);

#endif
