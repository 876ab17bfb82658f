/* The JSON-RPC envelope: text to request, and answers to text. */
#ifndef NET_RPC_H
#define NET_RPC_H

#include "net/connection.h"
#include "net/jsonw.h"

enum rpc_code {
	RPC_INVALID_REQUEST = -32600,
	RPC_UNKNOWN_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_NOT_FOUND = -32004,
	RPC_SESSION_ATTACHED = -32010,
};

/* A request's id: a string, or an integer when text.data is NULL. */
struct rpc_id {
	struct bytes text;
	int64_t number;
};

/* Whom to answer later. Holds a copy of the id; release with rpc_later_done. */
struct rpc_later {
	uint64_t connection; /* serial; 0: nobody */
	struct rpc_id id;
};

/* Handle one whole message of c. */
void rpc_handle(struct connection *c, struct bytes text);

/*
 * Start the result of request id: writes up to where the value goes. The
 * caller writes one value and calls rpc_result_send.
 */
void rpc_result_begin(struct connection *c, const struct rpc_id *id,
    struct jsonw *w, struct buf *text);
void rpc_result_send(struct connection *c, struct jsonw *w);
/* The result {}. */
void rpc_result_empty(struct connection *c, const struct rpc_id *id);

/* Answer with an error. format is for the message. */
void rpc_error(struct connection *c, const struct rpc_id *id, int code,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* An error with a data member: fill is called to write its value. */
void rpc_error_data(struct connection *c, const struct rpc_id *id, int code,
    const char *message, void (*fill)(struct jsonw *w, const void *arg),
    const void *arg);

/*
 * Start a notification: writes up to where the value of params goes; sent by
 * rpc_result_send as well.
 */
void rpc_notify_begin(struct connection *c, const char *method, struct jsonw *w,
    struct buf *text);

/*
 * Remember a request that is answered later; it counts as pending on c.
 * Returns 0; -EBUSY with the error already sent if c has too many; -ENOMEM.
 */
must_use int rpc_later_init(struct rpc_later *l, struct connection *c,
    const struct rpc_id *id);
/* The connection to answer on, or NULL if it has gone. */
struct connection *rpc_later_connection(struct net *n, struct rpc_later *l);
/* The request was answered, or nobody waits any more. */
void rpc_later_done(struct net *n, struct rpc_later *l);

#endif
