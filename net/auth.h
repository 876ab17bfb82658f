/* Who may open a WebSocket: judged on the request head, before the upgrade. */
#ifndef NET_AUTH_H
#define NET_AUTH_H

#include "base/buf.h"
#include "net/config.h"

/* A request head as far as it matters. Absent headers have data NULL. */
struct auth_request {
	struct bytes path, origin, host;
	struct bytes version; /* Sec-WebSocket-Version */
};

/*
 * The HTTP status to refuse a request with, 0 to go on: 403 for any Origin (a
 * browser sends one; no client of ours does), 400 for a missing Host and 403
 * for one that is a name other than localhost (DNS rebinding).
 */
int auth_head(const struct auth_request *q);

/*
 * The same for the upgrade on top: 400 for a version other than 13 (RFC 6455
 * section 4.2.1), 404 for another path than config.path where the wire form
 * says so. The path is compared in constant time.
 */
int auth_upgrade(const struct auth_request *q, const struct config *config);

/* Whether the path is the configured one, compared in constant time. */
bool auth_path_is(struct bytes path, const struct config *config);

#endif
