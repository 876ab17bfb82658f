/*
 * The audit log: one JSON object a line,
 * {"time":"...Z","role":"exec","event":"process_start","session":"3",...}.
 * Values are strings. A role can neither choose its "role" nor repeat a key.
 */
#ifndef SUPERVISOR_AUDIT_H
#define SUPERVISOR_AUDIT_H

#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "privsep/role.h"

#define AUDIT_LINE_MAX	(128u * 1024u) /* bytes; a value may grow sixfold */
#define AUDIT_PAIRS_MAX 32

struct audit {
	int fd; /* append only, owned; -1: there is no audit file */
};

/* Open or make the regular file at path, mode 0600; NULL: none. Returns 0 or a
 * negative errno with e. */
must_use int audit_open(struct audit *a, const char *path, struct err *e);
void audit_close(struct audit *a);

/*
 * Append one line to out. event and the names in pairs (packed: name, value,
 * ...) are lower-case letters, digits and '_'; values are any bytes, what is
 * no UTF-8 becomes U+FFFD. Returns 0; -EPROTO with e if a name is malformed,
 * repeated or one of ours; -EMSGSIZE; -ENOMEM. out is unchanged on failure.
 */
must_use int audit_format(struct buf *out, const struct timespec *now,
    enum role role, struct bytes event, struct bytes pairs, struct err *e);

/*
 * Write what a role told us. Without an audit file what an administrator
 * should see all the same goes to the log. Returns 0, also if the disk is
 * full, which is logged; -EPROTO with e if the message is malformed.
 */
must_use int audit_write(struct audit *a, enum role role, struct bytes event,
    struct bytes pairs, struct err *e);

/* An event of our own; pairs: name, value, ..., NULL. */
void audit_own(struct audit *a, const char *event, const char *const *pairs);

#endif
