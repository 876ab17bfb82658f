/*
 * A line of the audit log: {"v":1,"time":"...Z","role":"exec",
 * "event":"process_start","session":"3",...}. Values are strings but v, the
 * version of the schema. A role can neither choose its "role" nor repeat a key.
 */
#ifndef SUPERVISOR_AUDIT_TEXT_H
#define SUPERVISOR_AUDIT_TEXT_H

#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "privsep/role.h"

#define AUDIT_VERSION	 1
#define AUDIT_LINE_MAX	 (128u * 1024u) /* bytes; a value may grow sixfold */
#define AUDIT_PAIRS_MAX	 32
#define AUDIT_PACKED_MAX (16u * 1024u) /* bytes of packed pairs: msg.def */

/*
 * Append one line to out. event and the names in pairs (packed: name, value,
 * ...) are lower-case letters, digits and '_'; values are any bytes, what is
 * no UTF-8 becomes U+FFFD. Returns 0; -EPROTO with e if a name is malformed,
 * repeated or one of ours; -EMSGSIZE; -ENOMEM. out is unchanged on failure.
 */
must_use int audit_format(struct buf *out, const struct timespec *now,
    enum role role, struct bytes event, struct bytes pairs, struct err *e);

/*
 * Put ,"name":"value" before the end of the last line of out; value is plain
 * text that needs no escape. Returns 0, -EMSGSIZE or -ENOMEM; out is unchanged
 * on failure.
 */
must_use int audit_extend(struct buf *out, const char *name, const char *value);

/* The value of name in packed pairs; empty if it is not among them. */
struct bytes audit_find(struct bytes pairs, const char *name);

#endif
