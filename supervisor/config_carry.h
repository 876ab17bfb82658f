/* From one configuration to the next in a server that runs. */
#ifndef SUPERVISOR_CONFIG_CARRY_H
#define SUPERVISOR_CONFIG_CARRY_H

#include "supervisor/config.h"

/* Names of keys, "section.key" with a blank between them. */
struct config_changes {
	struct buf changed; /* taken over: they count from now on */
	struct buf kept;    /* as they were: they need a restart */
};

void config_changes_init(struct config_changes *c);
void config_changes_done(struct config_changes *c);

/*
 * Give next, which was read but not finished, the values of now wherever a key
 * cannot change while the server runs, and tell what differs. has_http is
 * whether sallyport-http was opened. Returns 0 or -ENOMEM.
 */
must_use int config_carry(struct config *next, const struct config *now,
    bool has_http, struct config_changes *c);

#endif
