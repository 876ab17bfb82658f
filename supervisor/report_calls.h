/* The filters and the files that they are made of, for the report. */
#ifndef SUPERVISOR_REPORT_CALLS_H
#define SUPERVISOR_REPORT_CALLS_H

#include "base/sha256.h"
#include "policy/texts.h"
#include "supervisor/child_policy.h"
#include "supervisor/config.h"

#define CALLS_FILTERS_MAX 16
#define CALLS_FILES_MAX	  16

/* One policy file. */
struct calls_file {
	const char *name;	       /* "net.policy", or a path; borrowed */
	char id[SYSCALL_NAME_MAX];     /* "net"; of one of the configuration
					  "custom": no other has it */
	struct bytes text;	       /* borrowed */
	struct syscall_policy *policy; /* owned, of this file alone */
};

/* One filter: the rules of its files, in order. */
struct calls_filter {
	const char *role;
	struct syscall_policy *policy;	/* owned */
	size_t files[POLICY_TEXTS_MAX]; /* numbers of files */
	size_t ends[POLICY_TEXTS_MAX];	/* rules up to the end of each */
	size_t file_count;
	size_t instructions;
	char sha256[SHA256_HEX_SIZE];
};

struct calls {
	struct calls_file files[CALLS_FILES_MAX];
	size_t file_count;
	struct calls_filter filters[CALLS_FILTERS_MAX];
	size_t filter_count;
	struct policy_file custom; /* of sandbox.child_policy */
};

/* Fill all from what is built in and c: the filters of process_table.h in its
 * order, then those that stand before one of them. Returns 0, or a negative
 * errno with e; calls_done is due in both cases. */
must_use int calls_init(struct calls *all, const struct config *c,
    struct err *e);
void calls_done(struct calls *all);

/* The file that rule number i of a filter comes from. */
const struct calls_file *calls_file_of(const struct calls *all,
    const struct calls_filter *f, size_t i);

/* Whether rule i of a filter can decide on this machine. */
bool calls_rule_counts(const struct calls_filter *f, size_t i);

#endif
