#include "net/connection_audit.h"

#include <inttypes.h>
#include <stdio.h>

#include "net/net.h"
#include "net/session.h"

static void
put_number(char text[24], uint64_t n)
{
	(void)snprintf(text, 24, "%" PRIu64, n);
}

void
connection_audit_open(const struct connection *c)
{
	char serial[24];

	put_number(serial, c->serial);
	net_audit(c->net, "connection_open",
	    (const char *[]){"connection", serial, "peer", c->peer, NULL});
}

void
connection_audit_close(const struct connection *c)
{
	char serial[24], code[24];
	const char *reason = c->close_reason != NULL ? c->close_reason : "";

	if (c->lifecycle == LIFECYCLE_HANDSHAKE)
		return; /* no open was told */
	put_number(serial, c->serial);
	put_number(code, c->close_code);
	net_audit(c->net, "connection_close",
	    (const char *[]){"connection", serial, "peer", c->peer, "code",
		code, "reason", reason, NULL});
}

void
connection_audit_session(const struct connection *c, bool resumed)
{
	char serial[24], session[24];

	put_number(serial, c->serial);
	put_number(session, c->session->id.v);
	net_audit(c->net, "session_attach",
	    (const char *[]){"session", session, "connection", serial, "how",
		resumed ? "resumed" : "new", NULL});
}

void
connection_audit_refused(const struct connection *c, int status)
{
	char number[24];

	put_number(number, (uint64_t)status);
	net_audit(c->net, "connection_refused",
	    (const char *[]){"peer", c->peer, "status", number, NULL});
}

void
connection_audit_limit(struct net *n, const char *peer, const char *limit)
{
	net_audit(n, "limit_hit",
	    (const char *[]){"limit", limit, "peer", peer, NULL});
}

void
connection_audit_own_limit(const struct connection *c, const char *limit)
{
	char session[24];

	if (c->session == NULL) {
		connection_audit_limit(c->net, c->peer, limit);
		return;
	}
	put_number(session, c->session->id.v);
	net_audit(c->net, "limit_hit",
	    (const char *[]){"limit", limit, "peer", c->peer, "session",
		session, NULL});
}
