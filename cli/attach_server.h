/*
 * The server that a keeper has: a child `sallyport serve`. Its URL comes on
 * its standard output, so that no argument and no file holds it. It is asked
 * to stop when its parent dies, by the kernel.
 */
#ifndef CLI_ATTACH_SERVER_H
#define CLI_ATTACH_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"

#define ATTACH_URL_MAX 512 /* bytes of a URL, its NUL included */

struct attach_server {
	pid_t pid;    /* 0: there is none */
	int pid_fd;   /* readable when it has ended; -1 like the others */
	int url_fd;   /* its standard output */
	int log_fd;   /* its standard error */
	bool serving; /* url is whole */
	bool stopping;
	unsigned int signals; /* sent to make it stop */
	int64_t signal_at_ms; /* the next, if it is stopping */
	char url[ATTACH_URL_MAX];
	size_t url_len;
	char log[LOG_LINE_MAX]; /* a line that is not yet whole */
	size_t log_len;
};

void attach_server_init(struct attach_server *s);

/* Start argv, whose first item is the executable's path. Returns 0 or a
 * negative errno with e. */
must_use int attach_server_start(struct attach_server *s, char *const *argv,
    struct err *e);

/* Read what there is of the URL. */
void attach_server_read_url(struct attach_server *s);

/*
 * Read what there is of the log, and hand each whole line, or piece of one
 * that is too long, to put. False if there was nothing.
 */
bool attach_server_read_log(struct attach_server *s,
    void (*put)(void *user, const char *line, size_t len), void *user);

/* Ask it to stop; attach_server_on_time presses for it. now_ms: of
 * CLOCK_MONOTONIC. */
void attach_server_stop(struct attach_server *s, int64_t now_ms);
void attach_server_on_time(struct attach_server *s, int64_t now_ms);

/* Reap it if it has ended, and say how in how. False while it runs. */
must_use bool attach_server_reap(struct attach_server *s, struct err *how);

#endif
