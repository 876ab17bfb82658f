/* Between the two halves of oci_import: what the JSON asks for, and its text.
 */
#ifndef CLI_OCI_WAY_H
#define CLI_OCI_WAY_H

#include "cli/oci.h"

#define IN_VALUES_MAX 64 /* values of a set */

enum relation { ANY, EQUAL, NOT_EQUAL, MASKED };

/* What an entry asks of one argument. */
struct ask {
	enum relation relation;
	uint64_t mask;
	uint64_t values[IN_VALUES_MAX];
	size_t count;
};

/* One way in which a call gets its action. */
struct way {
	const char *name; /* borrowed from the JSON */
	unsigned int arches;
	struct syscall_action action;
	struct ask asks[SYSCALL_ARGS];
};

struct import {
	struct way *ways; /* owned */
	size_t count;
};

/* Whether both ask the same of an argument. */
bool oci_same_ask(const struct ask *a, const struct ask *b);

/* Append the policy text of these ways to out, after leaving out what others
 * say as well. 0; -ENOTSUP if a call has several actions; -E2BIG if there are
 * more rules, tests or values than a policy may have, or the text gets longer
 * than out may; each with e. */
must_use int oci_put_policy(struct import *m, struct syscall_action fallback,
    struct buf *out, struct err *e);

#endif
