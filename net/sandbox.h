/* The sandbox member of a request: process/start and every fs/ method. */
#ifndef NET_SANDBOX_H
#define NET_SANDBOX_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "privsep/sandbox_spec.h"

struct sandbox {
	enum sandbox_kind kind;
	bool
	    network_enabled; /* its network member; with SANDBOX_DISABLED too */
	struct buf packed;   /* owned: sandbox_spec_pack; empty for null */
};

/*
 * Read a sandbox object (NULL when absent). strict: windowsSandboxLevel is
 * required, and members that nothing here depends on are checked as well.
 * Returns 0; -EINVAL with e naming the member, also for an object past
 * SANDBOX_SPEC_MAX, SANDBOX_ENTRIES_MAX or SANDBOX_ROOTS_MAX; -ENOMEM.
 * sandbox_done is due in all cases.
 */
must_use int sandbox_decode(const json_t *object, bool strict,
    struct sandbox *out, struct err *e);
void sandbox_done(struct sandbox *s);

/* What of it a backend that confines nothing cannot enforce, in the protocol's
 * order and words; NULL: nothing. isolated: there is no network there. */
const char *sandbox_unenforceable(const struct sandbox *s, bool isolated);

#endif
