/* What the parts of sallyport policy diff share. */
#ifndef SUPERVISOR_POLICY_DIFF_H
#define SUPERVISOR_POLICY_DIFF_H

#include "supervisor/policy_command.h"

/* Two configurations, and whether b was found to allow more than a. */
struct policy_diff {
	const struct config *a, *b;
	struct policy_ceiling in_a, in_b;
	bool widened;
};

/* Print that something is wider, and note it. */
void policy_diff_tell(struct policy_diff *d, const char *what, const char *in_b,
    const char *in_a);

/* Compare every key but limits and those whose meaning is compared as a whole:
 * paths, sockets and the system call policy. Returns 0 or -ENOMEM. */
must_use int policy_diff_keys(struct policy_diff *d);
void policy_diff_limits(struct policy_diff *d);

/* --- for tests ------------------------------------------------------------ */

/* Whether it has been said of a key what makes it wider. */
bool policy_diff_knows(int key);
/* The value of a limit with 0 as what it means there: perhaps no limit. */
uint64_t policy_diff_limit(unsigned int row, uint64_t value);

#endif
