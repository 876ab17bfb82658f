/*
 * An app-server that is our child: one JSON message a line on its standard
 * input and output. Its standard error is ours. The functions are those of
 * client.h, with the same meaning.
 */
#ifndef CLI_ATTACH_PIPE_H
#define CLI_ATTACH_PIPE_H

#include "cli/client.h"

struct attach_pipe;

/* Start argv, found by PATH. watch_fd is borrowed, as in client_opts. */
must_use int attach_pipe_open(char *const *argv, int watch_fd,
    struct attach_pipe **out, struct err *e);
/* Close its input, which asks it to end, and press for that; free p. */
void attach_pipe_free(struct attach_pipe *p);

/* Takes message. */
must_use int attach_pipe_send(struct attach_pipe *p, json_t *message,
    struct err *e);
void attach_pipe_wait(struct attach_pipe *p, int timeout_ms);
must_use bool attach_pipe_next(struct attach_pipe *p, struct message *m);
must_use int attach_pipe_check(const struct attach_pipe *p, struct err *e);

#endif
