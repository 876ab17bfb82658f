/* A session: what a client resumes after its connection was lost. */
#ifndef NET_SESSION_H
#define NET_SESSION_H

#include "base/ids.h"
#include "net/connection.h"

struct process;
struct rpc_id;
TAILQ_HEAD(process_list, process);
struct fs_pool;
struct http_client;
TAILQ_HEAD(fs_pool_list, fs_pool);

#define SESSION_UUID_LEN 36

struct session {
	TAILQ_ENTRY(session) link;
	struct net *net;
	struct policy *policy;		 /* as it was at its beginning; held */
	struct session_id id;		 /* towards exec */
	char uuid[SESSION_UUID_LEN + 1]; /* towards the client */
	struct connection *connection;	 /* NULL while detached */
	struct process_list processes;
	struct fs_pool_list pools; /* its file workers */
	struct http_client *http;  /* its http client; NULL: none */
	uint64_t process_count;
	uint64_t paused_streams; /* wait for room on the connection */
	uint64_t detached_at_ms;
	struct timer retention; /* while detached */
};

/*
 * Make a session for c and have exec open it. Returns NULL, with the error
 * already sent, if there are too many or memory is short.
 */
struct session *session_new(struct connection *c, const struct rpc_id *id);

/* The session with that uuid (compared in constant time), or NULL. */
struct session *session_find(struct net *n, struct bytes uuid);
struct session *session_by_id(struct net *n, uint32_t id);

/* Give a detached session to c. */
void session_attach(struct session *s, struct connection *c);
/* Its connection has gone: keep it for a while, or end it. */
void session_detach(struct session *s);
/* End its processes and forget it. */
void session_free(struct session *s);

/* Read paused streams again, as far as the connection has room. */
void session_resume_streams(struct session *s);

#endif
