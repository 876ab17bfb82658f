/*
 * The configuration read anew while the server runs. What can change counts for
 * the sessions to come; the rest stays as it was until the next start.
 */
#ifndef SUPERVISOR_RELOAD_H
#define SUPERVISOR_RELOAD_H

#include "privsep/channel.h"
#include "supervisor/child_policy.h"
#include "supervisor/config_carry.h"
#include "supervisor/supervisor.h"

struct reload {
	struct config config;
	struct config_ceiling ceiling;
	struct compiled *child; /* owned; NULL: the built-in filter */
	/* What the server is then: borrows from these, and what has not changed
	 * from the one before. */
	struct server server;
	struct config_changes changes;
};

/*
 * Read what now was started with (now->options) again and make everything that
 * follows from it. Returns a new one, or NULL with a line for each complaint in
 * errors.
 */
struct reload *reload_read(const struct server *now, struct buf *errors);
/* NULL is fine. */
void reload_free(struct reload *r);

/* Send it to exec: EXEC_CONFIG and so on to EXEC_APPLY, which is answered by
 * EXEC_APPLIED with number. Errors of channel_send. */
must_use int reload_send(const struct reload *r, struct channel *exec,
    uint32_t number);

#endif
