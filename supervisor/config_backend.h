/*
 * The section [backend]: where programs run, and the commands that start and
 * reach them there. A type brings commands of its own, which a key replaces.
 */
#ifndef SUPERVISOR_CONFIG_BACKEND_H
#define SUPERVISOR_CONFIG_BACKEND_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
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
	BACKEND_TEXTS,
};

struct config_backend {
	uint32_t type;		   /* enum backend_type */
	char *target;		   /* heap; NULL: none */
	char *text[BACKEND_TEXTS]; /* heap; NULL: the type's */
	uint32_t uid, gid;	   /* of its commands; 0: the session's */
	struct list sockets;	   /* that they may use: paths of this host */
	uint32_t isolated;	   /* 0 or 1: there is no network there */
	uint32_t local_files;	   /* 0 or 1: workspaces are the same there */
	uint32_t lost_status;	   /* 256: the type's */
};

void config_backend_done(struct config_backend *b);

/* Whether text is a value of the key. Returns 0 or -EINVAL with e. */
must_use int config_backend_check_target(const char *text, struct err *e);
must_use int config_backend_check_start(const char *text, struct err *e);
must_use int config_backend_check_signal(const char *text, struct err *e);
must_use int config_backend_check_terminate(const char *text, struct err *e);
must_use int config_backend_check_finalize(const char *text, struct err *e);
must_use int config_backend_check_socket(const char *text, struct err *e);

/* The command in force; "" if there is none. */
const char *config_backend_text(const struct config_backend *b,
    enum backend_text which);
/* Exit status of start that means it has not come to the program; 256: none
 * does. */
uint32_t config_backend_lost_status(const struct config_backend *b);

/* What depends on several keys. Returns 0 or -EINVAL with e. */
must_use int config_backend_check(const struct config_backend *b,
    struct err *e);

#endif
