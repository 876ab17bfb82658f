/* Connections and refusals, for the audit log. */
#ifndef NET_CONNECTION_AUDIT_H
#define NET_CONNECTION_AUDIT_H

#include "net/connection.h"

/* It was upgraded. */
void connection_audit_open(const struct connection *c);
/* The same, ending. */
void connection_audit_close(const struct connection *c);
/* It has session s: a new one, or one that is resumed. */
void connection_audit_session(const struct connection *c, bool resumed);
/* The upgrade was answered with status. */
void connection_audit_refused(const struct connection *c, int status);
/* A limit of [limits] was reached by peer. */
void connection_audit_limit(struct net *n, const char *peer, const char *limit);
/* The same by the client of c, with its session if it has one. */
void connection_audit_own_limit(const struct connection *c, const char *limit);

#endif
