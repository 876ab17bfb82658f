/*
 * One connection to an exec-server: JSON-RPC messages over a WebSocket. What
 * comes in waits in an inbox until client_next takes it; when the inbox is
 * full nothing more is read, so that a slow user slows the server down.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/url.h"

/* One incoming message, all its fragments: bytes. */
#define CLIENT_MESSAGE_MAX (32u * 1024u * 1024u)
/* Messages in the inbox above which reading stops. */
#define CLIENT_INBOX_MAX   16
/* For the connection to be made, and for each answer of client_call, where
 * nobody asks for another time. */
#define CLIENT_TIMEOUT_MS  30000

struct client;

/* A message received. Its parts are borrowed from root. */
struct message {
	json_t *root;
	int64_t id;	    /* of the request it answers; 0: a notification */
	const char *method; /* of a notification, else NULL */
	json_t *params;	    /* of a notification, may be NULL */
	json_t *result;	    /* of an answer; NULL: it is an error */
	json_t *error;
};

/* Fill m of an object. Takes root. */
void message_of(json_t *root, struct message *m);
void message_done(struct message *m);
#define scoped_message __attribute__((cleanup(message_done))) struct message

struct client_opts {
	const struct url *url; /* a host that begins with + is a socket file */
	int watch_fd;	       /* an epoll descriptor that client_wait watches
				* too; borrowed */
	bool watch_ends;       /* when it is readable, connecting ends:
				* -EINTR */
	int timeout_ms;	       /* for the connection, and each client_call */
};

/*
 * Connect to the server and wait for the upgrade.
 * Returns 0 and the client in *out; a negative errno with a message.
 */
must_use int client_open(const struct client_opts *o, struct client **out,
    struct err *e);
/* Close the connection in an orderly way if that is quick, and free c. */
void client_free(struct client *c);

/* Who listens on the socket file that c is connected to: the user who began
 * it. 0 or a negative errno. */
must_use int client_peer(const struct client *c, uid_t *uid);

/* Queue a message as it is. Takes it. */
must_use int client_post(struct client *c, json_t *message, struct err *e);

/*
 * Queue a request. Takes params, whose absence (out of memory) is an error.
 * Returns 0 and the number that its answer will bear in *id; or a negative
 * errno with a message.
 */
must_use int client_send(struct client *c, const char *method, json_t *params,
    int64_t *id, struct err *e);
/* Queue a notification. Takes params. */
must_use int client_notify(struct client *c, const char *method, json_t *params,
    struct err *e);

/*
 * Send a request and wait for its answer, at most the client's timeout.
 * Takes params. What else comes in meanwhile stays in the inbox.
 * Returns 0 and a new reference in *result; -EPROTO when the server answered
 * with an error, of which *error (may be NULL) becomes a new reference; any
 * other negative errno when the connection failed.
 */
must_use int client_call(struct client *c, const char *method, json_t *params,
    json_t **result, json_t **error, struct err *e);

/* Wait until something came in, watch_fd is readable, the connection is lost
 * or timeout_ms has passed (0: do not wait; negative: no bound). */
void client_wait(struct client *c, int timeout_ms);

/* Take the oldest message into m. False when the inbox is empty. */
must_use bool client_next(struct client *c, struct message *m);

/* 0 while the connection stands or the inbox is not empty, else a negative
 * errno with the reason. */
must_use int client_check(const struct client *c, struct err *e);

#endif
