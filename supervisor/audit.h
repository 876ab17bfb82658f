/*
 * The audit log: a JSON object a line (audit_text.h), to one output
 * (audit_sink.h), so many a second (audit_rate.h) and the ends of what was told
 * besides (audit_begun.h), chained if asked for (audit_chain.h).
 */
#ifndef SUPERVISOR_AUDIT_H
#define SUPERVISOR_AUDIT_H

#include "supervisor/audit_begun.h"
#include "supervisor/audit_chain.h"
#include "supervisor/audit_rate.h"
#include "supervisor/audit_sink.h"
#include "supervisor/audit_text.h"
#include "supervisor/config_audit.h"

struct audit {
	struct audit_sink sink;
	struct audit_chain chain;
	struct audit_rate *rate;   /* owned */
	struct audit_begun *begun; /* owned */
	bool stop_on_error;	   /* [audit] on_error = stop */
	bool failed;		   /* and an error was there */
	uint64_t lost;	/* lines since the last one that was written */
	int lost_errno; /* of the first of them */
};

/*
 * Open what c names and write the first line, audit_open. Returns 0 or a
 * negative errno with e. audit_close is due in both cases.
 */
must_use int audit_open(struct audit *a, const struct config_audit *c,
    struct err *e);
void audit_close(struct audit *a);

/* The output was moved away, or is to be found anew. Returns 0, or a negative
 * errno with e, and then the old one goes on. */
must_use int audit_reopen(struct audit *a, struct err *e);

/* Take from c what may change while we run: rate, burst and on_error. */
void audit_adjust(struct audit *a, const struct config_audit *c);

/*
 * Write what a role told us. Without an output what an administrator should
 * see all the same goes to the log. Returns 0, also if the line could not be
 * written: that is logged, counted, and told by the line audit_gap as soon as
 * one can be; -EPROTO with e if the message is malformed.
 */
must_use int audit_write(struct audit *a, enum role role, struct bytes event,
    struct bytes pairs, struct err *e);

/* An event of our own, never dropped for being one of many; pairs: name,
 * value, ..., NULL. */
void audit_own(struct audit *a, const char *event, const char *const *pairs);

/* Whether the server is to end since a line could not be written. */
bool audit_failed(const struct audit *a);

#endif
