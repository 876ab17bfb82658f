/* Whether the lines of audit files are those of one unbroken chain. */
#ifndef SUPERVISOR_AUDIT_VERIFY_H
#define SUPERVISOR_AUDIT_VERIFY_H

#include "supervisor/audit_chain.h"

struct audit_verify {
	struct audit_chain chain; /* key, and the last line that was right */
	const char
	    *head; /* a hash that has to come by; NULL: none, or it did */
	/* Of the present file */
	uint64_t line;	/* of the line looked at, from 1 */
	uint64_t first; /* seq of its first line */
	uint64_t torn;	/* bytes of the line before, if it was torn */
};

/*
 * Look at the next file of the chain, oldest first. Memory is bounded whatever
 * the file holds. Returns 0; -EBADMSG with e, "line N: ...", at the first line
 * that is not as it should be; any other negative errno with e if it cannot be
 * read.
 */
must_use int audit_verify_file(struct audit_verify *v, int fd, struct err *e);

#endif
