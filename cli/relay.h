/*
 * The life of one remote process as seen by its user: what it prints comes
 * out, what the user types goes in, signals are passed on.
 */
#ifndef CLI_RELAY_H
#define CLI_RELAY_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"
#include "cli/client.h"
#include "cli/terminal.h"

struct relay_opts {
	struct client *client;	   /* borrowed; the process has been started */
	int epoll_fd;		   /* borrowed; the client watches it */
	const char *process_id;	   /* borrowed */
	bool tty;		   /* it runs on a terminal */
	bool can_close_stdin;	   /* the server has process/closeStdin */
	bool can_resize;	   /* the server has process/resize */
	struct terminal *terminal; /* borrowed; made raw if tty */
};

/*
 * Forward until the process is closed. Blocks the signals that are passed on.
 * Returns 0 and the status to exit with in *status; or a negative errno with a
 * message when the connection broke.
 */
must_use int relay_run(const struct relay_opts *opts, int *status,
    struct err *e);

#endif
