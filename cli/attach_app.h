/* What `sallyport attach` says to the Codex app-server. */
#ifndef CLI_ATTACH_APP_H
#define CLI_ATTACH_APP_H

#include <stdbool.h>

#include "cli/attach_target.h"

/* The oldest app-server that is known to do what is asked of it here. */
#define ATTACH_APP_VERSION "0.171.0"

struct attach_app;

struct attach_app_opts {
	const struct attach_target *target;
	char *const *argv; /* the app-server, if the target is stdio */
	int watch_fd;	   /* an epoll descriptor, borrowed; when readable, what
			    * is waited for is given up: -EINTR */
	int timeout_ms;	   /* for the connection, and for each answer */
};

/*
 * Connect, shake hands with the experimental part of its interface, and check
 * its version.
 * Returns 0 and the connection in *out; -EPROTONOSUPPORT if it is too old or
 * tells no version; -EPERM if another user, not root, listens on its socket
 * file: nothing is said to it then; -EREMOTEIO if it answered with an error;
 * another negative errno if it cannot be reached, breaks the protocol, or is
 * too slow. Text of the app-server's in e is not to be trusted.
 */
must_use int attach_app_open(const struct attach_app_opts *o,
    struct attach_app **out, struct err *e);
void attach_app_free(struct attach_app *a);

/*
 * Register the server at url, which is a secret, as environment id.
 * Returns 0; -ENOSYS if the app-server does not know how; else as above.
 */
must_use int attach_app_add(struct attach_app *a, const char *id,
    const char *url, struct err *e);

/* Wait until watch_fd is readable or the app-server said something. */
void attach_app_wait(struct attach_app *a);
/* Drop what it said. Returns 0 while the connection stands. */
must_use int attach_app_check(struct attach_app *a, struct err *e);

/* Whether user_agent ("name/1.2.3 (...)") tells least or a later version. One
 * with a suffix ("1.2.3-alpha") is before that without. */
must_use bool attach_app_is_version(const char *user_agent, const char *least);

#endif
