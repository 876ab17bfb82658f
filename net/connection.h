/*
 * One WebSocket, from accept to its end: incoming messages bounded before they
 * are kept, outgoing ones queued.
 */
#ifndef NET_CONNECTION_H
#define NET_CONNECTION_H

#include "base/buf.h"
#include "net/framewatch.h"
#include "net/net.h"
#include "net/splitter.h"

/* Where in the life of a connection (protocol, "Lifecycle"). */
enum lifecycle {
	LIFECYCLE_HANDSHAKE,   /* HTTP so far */
	LIFECYCLE_OPEN,	       /* upgraded */
	LIFECYCLE_INITIALIZED, /* initialize was answered */
	LIFECYCLE_READY,       /* the initialized notification came */
};

/* Answers of all connections that may wait with a descriptor of their own. */
#define FILE_ANSWERS_MAX 1024u

struct fs_handle;
struct fs_watch;

struct outgoing {
	TAILQ_ENTRY(outgoing) link;
	struct buf text; /* LWS_PRE free bytes, then the message */
	size_t sent;	 /* bytes of text */
	/* A file whose base64 follows the text, and what follows that. */
	int fd; /* -1: none */
	uint64_t offset;
	uint64_t charged; /* of it on the message budget */
	const char *tail;
	bool over; /* the last fragment was handed out */
};

struct connection {
	TAILQ_ENTRY(connection) link;
	struct net *net;
	struct lws *wsi;
	int fd;		 /* the library owns it; for socket_watch */
	uint64_t serial; /* never used twice */
	enum lifecycle lifecycle;
	char peer[64]; /* "127.0.0.1:40000", for the log */
	struct framewatch framewatch;
	struct buf in;		  /* text of a message that arrives in pieces */
	struct splitter splitter; /* large strings of it */
	size_t in_raw;		  /* bytes of it received so far */
	size_t in_charged;	  /* of them on the global budget */
	TAILQ_HEAD(, outgoing) out;
	size_t out_bytes, out_count;
	bool rx_paused;	  /* too much is queued to take more requests */
	uint64_t pending; /* requests without an answer */
	/* The audit log has it that they are too many; until none is left. */
	bool pending_told;
	struct session *session;
	TAILQ_HEAD(, fs_handle) handles;
	TAILQ_HEAD(, fs_watch) watches;
	uint64_t handle_count, watch_count;
	struct timer deadline; /* of the handshake, then of initialize */
	struct timer ping;
	struct timer message; /* while a counted message is incomplete */
	bool ping_due;
	uint16_t close_code;	  /* 0 until we want to close */
	const char *close_reason; /* a literal of at most 100 bytes */
	bool close_sent;
	uint64_t linger_until_ms; /* when it is cut at the latest */
};

/* A new one for an accepted socket; NULL when out of memory. */
struct connection *connection_new(struct net *n, const char *peer);
/* Detach its session and forget it. */
void connection_free(struct connection *c);

/* The upgrade is done: wait for initialize, start pinging. */
void connection_opened(struct connection *c);

/*
 * Take len bytes of a message of which remaining more bytes are announced;
 * final: the message ends here and is handled. Returns 0; -EMSGSIZE past
 * RPC_MESSAGE_MAX; -ENOBUFS if the global budget is used up; -ENOMEM.
 */
must_use int connection_append(struct connection *c, const void *data,
    size_t len, size_t remaining, bool final);

/* Make text an empty outgoing message: headroom only. */
must_use int connection_message(struct buf *text);
/* Queue a message; its memory is taken. Dropped when the close was decided. */
void connection_queue(struct connection *c, struct buf *text);

/*
 * Close with a code of RFC 6455 section 7.4; reason is a literal. What the peer
 * still sends is thrown away until it closes as well; one that
 * is silent or does not read is cut after CLOSE_LINGER_MS, one that goes on
 * sending after CLOSE_LINGER_MAX_MS.
 */
void connection_close(struct connection *c, uint16_t code, const char *reason);

/*
 * Queue a message whose middle is the base64 of a file: text, then what pread
 * finds in fd from its start to its end, at most FS_READ_MAX bytes, then tail
 * (a literal). Both text and fd are taken. The file is read as the socket
 * takes it, so it costs one fragment of memory; of a file that lies in memory,
 * charged bytes are on the message budget and leave it with the file.
 */
void connection_queue_file(struct connection *c, struct buf *text, int fd,
    uint64_t charged, const char *tail);

/*
 * What to send next: the coming fragment of the first queued message, at most
 * RPC_FRAGMENT_MAX bytes with LWS_PRE writable bytes in front, valid until the
 * next call; NULL data if nothing is queued. It counts as sent. -EIO in *error
 * if the file that it comes from cannot be read on: drop the connection.
 */
struct bytes connection_next(struct connection *c, bool *first, bool *final,
    int *error);

/* Something came in after the close was decided: wait on for the rest. */
void connection_linger(struct connection *c);
/* Something came in after the close frame was sent and was thrown away: wait on
 * for the peer's own, and end with that. */
void connection_discarded(struct connection *c);

/* Whether so much is queued that no more requests should be read. Streams pause
 * well before, so only unread answers come to this. */
bool connection_is_flooded(const struct connection *c);

/* Whether so much is queued that streams should pause. */
bool connection_is_full(const struct connection *c);
/* The connection with that serial, or NULL if it has gone. */
struct connection *connection_find(struct net *n, uint64_t serial);

#endif
