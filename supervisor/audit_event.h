/* Events of the supervisor's own for the audit log: docs/audit.md. */
#ifndef SUPERVISOR_AUDIT_EVENT_H
#define SUPERVISOR_AUDIT_EVENT_H

#include "privsep/msg.h"
#include "supervisor/config_carry.h"
#include "supervisor/supervisor.h"

/* Clients are served from now on, by these rules. */
void audit_server_start(const struct server *s);

/* The configuration was read again: refused for reason, or in force as in s. */
void audit_reload(const struct server *s, const struct config_changes *c,
    const char *reason);

/* The last line: nothing of ours is left. */
void audit_server_end(const struct server *s, enum exit_code code);

/* A role is locked down, and this is what it reached. */
void audit_role_ready(const struct server *s, enum role role,
    const struct msg_role_ready *got);

#endif
