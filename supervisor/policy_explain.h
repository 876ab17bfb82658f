/* What the parts of sallyport policy explain share. */
#ifndef SUPERVISOR_POLICY_EXPLAIN_H
#define SUPERVISOR_POLICY_EXPLAIN_H

#include "supervisor/policy_command.h"

#define EXPLAIN_LINE_MAX (16u * 1024u) /* bytes of one reason */

/* A key that decides. */
struct policy_reason {
	const struct config *config;
	enum config_key key;
	const char *item; /* of a list; NULL: the key's only value */
	const char *label, *value;
	const char *more; /* NULL, or what follows it */
};

/* Print what is asked for, after who, and why; a NUL is put behind why.
 * Returns POLICY_YES or POLICY_NO, as allowed says, or POLICY_ERROR. */
int policy_explain_answer(const char *who, bool allowed, const char *what,
    struct buf *why);
int policy_explain_key(const char *who, bool allowed, const char *what,
    const struct policy_reason *reason);
/* Complain; returns POLICY_ERROR. */
int policy_explain_fail(const char *text);

/* Of "HOST:PORT": what the network of commands does, and what http/request
 * does. POLICY_YES if either gets there. */
int policy_explain_net(const struct config *c, const char *target);

#endif
