/*
 * The section [backend]: where programs run, and the commands that start and
 * reach them there. A type brings commands of its own, which a key replaces.
 */
#ifndef SUPERVISOR_CONFIG_BACKEND_H
#define SUPERVISOR_CONFIG_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "privsep/role.h"
#include "supervisor/list.h"

enum backend_type {
	BACKEND_NATIVE, /* in our own sandbox */
	BACKEND_COMMAND,
	BACKEND_DOCKER,
	BACKEND_PODMAN,
	BACKEND_SSH,
	BACKEND_TYPES,
};

/* What a key of this name says, else its type. */
enum backend_text {
	BACKEND_START,
	BACKEND_SIGNAL,
	BACKEND_TERMINATE,
	BACKEND_FINALIZE,
	BACKEND_PREPARE,
	BACKEND_INSPECT,
	BACKEND_TEXTS,
};

/* In the order of what they give away. */
enum backend_isolated {
	BACKEND_ISOLATED_FALSE,
	BACKEND_ISOLATED_AUTO, /* as inspect says; without one, false */
	BACKEND_ISOLATED_TRUE,
};
enum backend_http {
	BACKEND_HTTP_REFUSE,
	BACKEND_HTTP_AUTO, /* local for the type command, else refused */
	BACKEND_HTTP_LOCAL,
};

struct config_backend {
	uint32_t type;		   /* enum backend_type */
	char *target;		   /* heap; NULL: none */
	char *text[BACKEND_TEXTS]; /* heap; NULL: the type's */
	uint32_t uid, gid;	   /* of its commands; 0: the session's */
	struct list sockets;	   /* that they may use: paths of this host */
	uint32_t isolated;	   /* enum backend_isolated: of the network */
	uint32_t http;		   /* enum backend_http: who makes requests */
	uint32_t files;		   /* enum backend_files */
	char *bind;		   /* heap; HOST:GUEST; NULL: none named */
	char *worker; /* heap; the program of file workers; NULL: none named */
	uint32_t lost_status; /* 256: the type's */
};

void config_backend_done(struct config_backend *b);

/* Whether text is a value of the key. Returns 0 or -EINVAL with e. */
must_use int config_backend_check_target(const char *text, struct err *e);
must_use int config_backend_check_start(const char *text, struct err *e);
must_use int config_backend_check_signal(const char *text, struct err *e);
must_use int config_backend_check_terminate(const char *text, struct err *e);
must_use int config_backend_check_finalize(const char *text, struct err *e);
must_use int config_backend_check_prepare(const char *text, struct err *e);
must_use int config_backend_check_inspect(const char *text, struct err *e);
must_use int config_backend_check_socket(const char *text, struct err *e);
must_use int config_backend_check_worker(const char *text, struct err *e);
must_use int config_backend_check_bind(const char *text, struct err *e);

/* With files = bind: the directory of this host, and the path that it has where
 * programs run, borrowed from b. Empty with another one. */
void config_backend_bind(const struct config_backend *b, struct bytes *host,
    struct bytes *guest);

/* The command in force; "" if there is none. That of inspect is in force if
 * it is to be asked. */
const char *config_backend_text(const struct config_backend *b,
    enum backend_text which);
/* Exit status of start that means it has not come to the program; 256: none
 * does. */
uint32_t config_backend_lost_status(const struct config_backend *b);

/* Whether HTTP requests of clients are made from this host. */
bool config_backend_http_local(const struct config_backend *b);

/* What depends on several keys. Returns 0 or -EINVAL with e. */
must_use int config_backend_check(const struct config_backend *b,
    struct err *e);

#endif
