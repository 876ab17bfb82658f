/* The network process: what its parts share. */
#ifndef NET_NET_H
#define NET_NET_H

#include <errno.h>
#include <stdint.h>
#include <sys/queue.h>

#include "net/config.h"
#include "net/poller.h"
#include "net/timer.h"
#include "privsep/channel.h"
#include "privsep/tell.h"

/* Bytes of a file per fragment, a multiple of three so that the base64 of the
 * fragments is that of the whole. */
#define FILE_PIECE (192u * 1024u)

struct connection;
struct session;

TAILQ_HEAD(connection_list, connection);
TAILQ_HEAD(session_list, session);
struct process;
TAILQ_HEAD(finished_list, process);

struct net {
	struct config config;
	struct lws_context *lws;
	struct lws_vhost *vhost;
	struct poller *poller;
	struct channel *supervisor, *exec;
	struct tell tell; /* to the audit log */
	struct watch supervisor_watch, exec_watch, listener_watch;
	struct connection_list connections;
	struct session_list sessions;
	uint64_t connection_count, session_count, detached_count;
	uint64_t process_count;	       /* of all sessions, not closed */
	struct finished_list finished; /* closed processes, oldest first */
	uint64_t finished_count, finished_bytes;
	uint64_t file_answers;	  /* queued ones that hold a descriptor */
	uint64_t message_bytes;	  /* of limits.message_budget in use */
	uint64_t last_connection; /* serial given out last */
	uint32_t last_session, last_number;
	struct timer drain_timer;
	struct timer accept_timer; /* until accepting is tried again */
	bool draining, stop;
	int exit_status;
	uint8_t scratch[STREAM_READ_MAX]; /* one read of a stream */
	/* One fragment of a file that is being sent, raw and as text. */
	uint8_t file_raw[FILE_PIECE];
	uint8_t file_text[LWS_PRE + FILE_PIECE / 3 * 4 + 16];
};

/* Serve until the supervisor ends us. Returns the exit status. */
int net_run(struct net *n);

/*
 * Ask exec for something. A negative result means that nothing was sent and the
 * requester is to be told that we are busy: the queue is crowded, or memory or
 * descriptors are short here. Only a channel that is gone ends this generation.
 */
#define net_exec(n, name, ...)                                                 \
	(channel_crowded((n)->exec) ? -ENOBUFS : net_send(n, name, __VA_ARGS__))
/* Tell exec what must not be lost, such as the end of a session. Failing to is
 * the end of this generation, which ends all that would be left over. */
#define net_order(n, name, ...)                                                \
	do {                                                                   \
		if (net_send(n, name, __VA_ARGS__) < 0)                        \
			net_stop((n), 1);                                      \
	} while (0)
#define net_send(n, name, ...)                                                 \
	net_exec_sent((n), channel_send_##name((n)->exec,                      \
			       &(struct msg_##name){__VA_ARGS__}, NULL, 0))
/* Take the result of a channel_send: waits for writability where needed.
 * Returns r. */
int net_exec_sent(struct net *n, int r);

/*
 * Count len more bytes that net holds for a client, in memory or in a memfd,
 * on limits.message_budget. -ENOBUFS and nothing counted beyond it.
 */
must_use int net_charge(struct net *n, uint64_t len);
void net_release(struct net *n, uint64_t len);

/* Tell the audit log; pairs is name, value, ..., NULL. Numbers are text. */
void net_audit(struct net *n, const char *event, const char *const *pairs);

/* Stop the loop; main returns status. */
void net_stop(struct net *n, int status);

/* The supervisor asked to close every connection. */
void net_drain(struct net *n, uint32_t timeout_ms);
/* Called when a connection has gone: ends the drain with the last one. */
void net_drain_check(struct net *n);

#endif
