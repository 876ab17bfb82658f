/* Where the Codex app-server is that an environment is registered with. */
#ifndef CLI_ATTACH_TARGET_H
#define CLI_ATTACH_TARGET_H

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/url.h"

enum attach_kind {
	ATTACH_WS,
	ATTACH_UNIX,  /* a WebSocket on a socket file */
	ATTACH_STDIO, /* a command's standard input and output, by lines */
};

struct attach_target {
	enum attach_kind kind;
	struct url url; /* of the first two; its host is never a name */
};

/*
 * Read ws://HOST[:PORT][/PATH], unix:PATH or stdio into t. HOST is localhost,
 * which is 127.0.0.1 here whatever a resolver says, ::1 or an address 127.x:
 * the server's URL is one of this host and leads nowhere on another, and its
 * path is a secret. PATH is an existing socket of this user or root.
 * Returns 0; -EACCES with a message when it is, or may be, another host or
 * another user's socket; -EINVAL, or why the socket file cannot be found.
 */
must_use int attach_target_parse(const char *text, struct attach_target *t,
    struct err *e);

#endif
