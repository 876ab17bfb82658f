#include "net/session.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/log.h"
#include "net/connection_audit.h"
#include "net/environment.h"
#include "net/helper.h"
#include "net/http.h"
#include "net/method.h"
#include "net/process.h"

/* A version 4 UUID: RFC 9562 section 5.4. */
static bool
make_uuid(char out[SESSION_UUID_LEN + 1])
{
	unsigned char b[16];

	if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
		return false;
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	(void)snprintf(out, SESSION_UUID_LEN + 1,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
	    "%02x%02x%02x%02x%02x%02x",
	    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
	    b[11], b[12], b[13], b[14], b[15]);
	return true;
}

struct session *
session_find(struct net *n, struct bytes uuid)
{
	struct session *s, *found = NULL;

	if (uuid.len != SESSION_UUID_LEN)
		return NULL;
	TAILQ_FOREACH (s, &n->sessions, link)
		if (CRYPTO_memcmp(s->uuid, uuid.data, uuid.len) == 0)
			found = s;
	return found;
}

struct session *
session_by_id(struct net *n, uint32_t id)
{
	struct session *s;

	TAILQ_FOREACH (s, &n->sessions, link)
		if (s->id.v == id)
			return s;
	return NULL;
}

static bool
has_live_process(const struct session *s)
{
	const struct process *p;

	TAILQ_FOREACH (p, &s->processes, link)
		if (process_is_live(p))
			return true;
	return false;
}

/* The detached session to end first: one without live processes before others,
 * then the one detached longest. */
static struct session *
least_wanted(struct net *n)
{
	struct session *s, *worst = NULL;
	bool worst_live = true;

	TAILQ_FOREACH (s, &n->sessions, link) {
		bool live;

		if (s->connection != NULL)
			continue;
		live = has_live_process(s);
		if (worst == NULL || (worst_live && !live) ||
		    (worst_live == live &&
			s->detached_at_ms < worst->detached_at_ms)) {
			worst = s;
			worst_live = live;
		}
	}
	return worst;
}

struct session *
session_new(struct connection *c, const struct rpc_id *id)
{
	struct net *n = c->net;
	struct session *s;

	if (n->session_count >= n->config.limits.sessions_max) {
		connection_audit_limit(n, c->peer, "sessions_max");
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "busy: %llu sessions are open, which is the limit; try "
		    "again later",
		    (unsigned long long)n->session_count);
		return NULL;
	}
	s = calloc(1, sizeof *s);
	if (s == NULL || !make_uuid(s->uuid)) {
		free(s);
		rpc_error(c, id, RPC_INTERNAL, "out of memory");
		return NULL;
	}
	s->net = n;
	s->id.v = ++n->last_session;
	TAILQ_INIT(&s->processes);
	TAILQ_INIT(&s->pools);
	if (net_exec(n, session_open, .session = s->id.v) < 0) {
		free(s);
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "busy: too much is waiting for the executor; try again "
		    "later");
		return NULL;
	}
	s->policy = policy_hold(n->config.policy);
	s->connection = c;
	c->session = s;
	TAILQ_INSERT_TAIL(&n->sessions, s, link);
	n->session_count++;
	log_info("session_open session=%u peer=%s", s->id.v, c->peer);
	connection_audit_session(c, false);
	return s;
}

void
session_attach(struct session *s, struct connection *c)
{
	timer_clear(&s->retention);
	s->net->detached_count--;
	s->connection = c;
	c->session = s;
	log_info("session_resume session=%u peer=%s", s->id.v, c->peer);
	connection_audit_session(c, true);
}

static void
retention_passed(struct timer *t)
{
	session_free(container_of(t, struct session, retention));
}

void
session_detach(struct session *s)
{
	struct net *n = s->net;
	uint64_t retention = n->config.limits.session_retention;
	struct process *p;

	/* What is under way is not resumed: it ends upstream at once. */
	http_end(s);
	s->connection->session = NULL;
	s->connection = NULL;
	n->detached_count++;
	if (retention == 0 || n->draining ||
	    n->config.limits.detached_sessions_max == 0) {
		session_free(s);
		return;
	}
	s->detached_at_ms = timer_now_ms();
	log_info("session_detach session=%u", s->id.v);
	TAILQ_FOREACH (p, &s->processes, link)
		process_detach(p);
	timer_set(n->lws, &s->retention, retention, retention_passed);
	if (n->detached_count > n->config.limits.detached_sessions_max)
		session_free(least_wanted(n));
}

void
session_free(struct session *s)
{
	struct net *n = s->net;

	log_info("session_close session=%u", s->id.v);
	timer_clear(&s->retention);
	while (!TAILQ_EMPTY(&s->processes))
		process_free(TAILQ_FIRST(&s->processes));
	helper_end_session(s);
	http_end(s);
	if (s->connection != NULL)
		s->connection->session = NULL;
	else
		n->detached_count--;
	net_order(n, session_close, .session = s->id.v);
	TAILQ_REMOVE(&n->sessions, s, link);
	n->session_count--;
	policy_drop(s->policy);
	free(s);
}

void
session_resume_streams(struct session *s)
{
	struct process *p;

	http_resume(s);
	if (s->paused_streams == 0)
		return;
	TAILQ_FOREACH (p, &s->processes, link)
		process_resume_streams(p);
}

/* The session that params ask for, or NULL with the error sent. */
static struct session *
session_for(struct connection *c, const struct rpc_id *id,
    const struct params_initialize *p)
{
	struct bytes want = p->resume_session_id;
	int cut = want.len > 64 ? 64 : (int)want.len;
	struct session *s;

	if (want.data == NULL)
		return session_new(c, id);
	s = session_find(c->net, want);
	if (s == NULL) {
		rpc_error(c, id, RPC_INVALID_REQUEST, "unknown session id %.*s",
		    cut, (const char *)want.data);
		return NULL;
	}
	if (s->connection != NULL) {
		rpc_error(c, id, RPC_SESSION_ATTACHED,
		    "session %.*s is already attached to another connection",
		    cut, (const char *)want.data);
		return NULL;
	}
	session_attach(s, c);
	return s;
}

void
on_initialize(struct connection *c, const struct rpc_id *id,
    struct params_initialize *p)
{
	struct session *s;
	struct jsonw w;
	struct buf text;

	if (c->session != NULL) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "initialize may only be sent once per connection");
		return;
	}
	s = session_for(c, id, p);
	if (s == NULL)
		return;
	c->lifecycle = LIFECYCLE_INITIALIZED;
	timer_clear(&c->deadline);
	rpc_result_begin(c, id, &w, &text);
	jsonw_open(&w, '{');
	jsonw_key(&w, "sessionId");
	jsonw_text(&w, s->uuid);
	if (c->net->config.compat->environment_info_in_initialize) {
		jsonw_key(&w, "environmentInfo");
		environment_info_write(&w, c);
	}
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
	session_resume_streams(s);
}
