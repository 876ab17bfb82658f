/* The first message to each role: its configuration. */
#ifndef SUPERVISOR_HANDOVER_H
#define SUPERVISOR_HANDOVER_H

#include "base/err.h"
#include "privsep/channel.h"
#include "supervisor/supervisor.h"

/*
 * Whether all of the configuration fits its messages, so that it need not be
 * found out later. Returns 0; -EMSGSIZE with e naming what is too long.
 */
must_use int handover_check(const struct server *s, struct err *e);

/* Send EXEC_CONFIG with the workspaces. Errors of channel_send. */
must_use int handover_exec(const struct server *s, struct channel *c);

/* Append [http] of c to out, as sallyport-http reads it. -EMSGSIZE, -ENOMEM. */
must_use int handover_pack_http(const struct config *c, struct buf *out);

/* Send EXEC_HTTP, if http is enabled. Errors of channel_send. */
must_use int handover_http(const struct server *s, struct channel *c);

/* Send NET_POLICY, what of NET_CONFIG may change. Errors of channel_send. */
must_use int handover_net_policy(const struct server *s, struct channel *c);

/* Send NET_CONFIG. Errors of channel_send. */
must_use int handover_net(const struct server *s, struct channel *c);

#endif
