/*
 * http/request as net sees it: the session's sallyport-http, opened by the
 * first request and ended when none has come for a while or the connection is
 * gone; and what it is doing.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "net/method.h"
#include "net/session.h"

struct http_request;
TAILQ_HEAD(http_request_list, http_request);

struct http_client {
	struct session *session;
	struct channel *channel; /* NULL until it is open */
	struct watch watch;
	uint32_t number;    /* of HTTP_OPEN */
	struct timer timer; /* how long it may open, then: may be idle */
	struct http_request_list requests;
};

struct http_request {
	TAILQ_ENTRY(http_request) link;
	struct net *net;
	struct http_client *client;
	uint32_t number;
	struct rpc_later later; /* until it is answered */
	struct bytes id;	/* requestId; heap, owned */
	bool stream, answered;
	uint64_t seq;  /* of the last bodyDelta */
	uint32_t owed; /* bytes taken and not yet allowed again */

	/* To be sent once the client is open */
	char *method;	     /* owned; for the audit log too */
	uint64_t body_bytes; /* of the response so far, for it as well */
	struct bytes url;    /* heap, owned */
	struct buf headers;
	int body_fd;	  /* owned; -1: none */
	uint64_t charged; /* of the body on the message budget */
	uint64_t timeout_ms;
	uint32_t flags;

	/* Of a response that is answered as a whole */
	uint32_t status; /* 0: none yet */
	struct buf fields;
};

/* --- http_client.c ------------------------------------------------------- */

/* Give r, which is in no list, to the session's client. It is answered in
 * every case. */
void http_submit(struct session *s, struct http_request *r);
/* The session or its connection is over: forget all of it. */
void http_end(struct session *s);
/* The connection's queue has got shorter: streams may go on. */
void http_resume(struct session *s);
/* Say that r may have more, if its connection takes it. */
void http_grant(struct http_request *r);
/* Its client broke the contract: end that. */
void http_discard(struct http_client *h, const char *why);

/* From exec; net.c dispatches. */
void http_on_opened(struct net *n, struct msg *m);
void http_on_refused(struct net *n, const struct msg_http_refused *m);

/* --- http_answer.c ------------------------------------------------------- */

void http_request_free(struct http_request *r);
/* Answer with an error, or end the stream with it, and free r. */
void http_fail(struct http_request *r, int code, const char *text);
/* Take a message about r. False if it breaks the contract. */
must_use bool http_answer(struct http_request *r, struct msg *m);

#endif
