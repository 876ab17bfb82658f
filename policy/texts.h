/*
 * The system call policies as they were when this release was built, for those
 * who explain and compare them. The filters that processes load are compiled
 * from the same files: privsep/filters.h.
 */
#ifndef POLICY_TEXTS_H
#define POLICY_TEXTS_H

#include "policy/compile.h"

#define POLICY_TEXTS_MAX 4 /* files that make one policy */

struct policy_text {
	const char *name; /* "child.policy" */
	const char *text;
};

/* The policy of one process: rules of an earlier text come first. */
struct policy_source {
	const char *role;			    /* "child" */
	struct policy_text texts[POLICY_TEXTS_MAX]; /* unused ones: NULL */
};

/* Ends with a NULL role. */
extern const struct policy_source policy_sources[];

/* The source of role's policy; NULL if there is no such process. */
const struct policy_source *policy_source_find(const char *role);

/* The parsed policy of s, to be freed with syscall_policy_free; NULL when out
 * of memory. Every text of this release parses. */
struct syscall_policy *policy_source_parse(const struct policy_source *s);

/*
 * The text that rule number i of a policy of s comes from: rules are numbered
 * from 0 through all texts. NULL if there is no such rule.
 */
const char *policy_source_of_rule(const struct policy_source *s, size_t i);

#endif
