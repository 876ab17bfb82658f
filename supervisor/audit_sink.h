/* Where the lines of the audit log go: a file, standard error or a socket. */
#ifndef SUPERVISOR_AUDIT_SINK_H
#define SUPERVISOR_AUDIT_SINK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum audit_output {
	AUDIT_NONE,
	AUDIT_FILE,
	AUDIT_STDERR,
	AUDIT_SOCKET, /* Unix, datagrams: one line each */
};

struct audit_sink {
	enum audit_output output;
	int fd;	     /* owned, but of AUDIT_STDERR; -1: there is none */
	int dir_fd;  /* owned; the directory of the file, else -1 */
	char *path;  /* owned; of the file or socket */
	size_t torn; /* bytes at the end that are no whole line, */
	bool ended;  /* and have got their newline */
};

/* The word for an output: "none", "file", "stderr" or "socket". */
const char *audit_output_name(enum audit_output output);

/*
 * Open the output. A file is made with mode 0600 or exists already, regular,
 * with one name, ours, closed to others and not to be written by its group; it
 * is only appended to. path is absolute; NULL for the outputs without one.
 * Returns 0 or a negative errno with e. audit_sink_close is due in both cases.
 */
must_use int audit_sink_open(struct audit_sink *s, enum audit_output output,
    const char *path, struct err *e);
void audit_sink_close(struct audit_sink *s);

/*
 * Open the same name anew, in the directory that was opened first: the file
 * may have been renamed. Returns 0, or a negative errno with e, and then the
 * old one goes on.
 */
must_use int audit_sink_reopen(struct audit_sink *s, struct err *e);

/*
 * Read the end of a file, len bytes at most, into out. Returns 0 (also for an
 * output that is no file: then nothing is read) or a negative errno.
 */
must_use int audit_sink_tail(const struct audit_sink *s, size_t len,
    struct buf *out);

/*
 * Write a line, its newline included. Returns 0, or a negative errno; then
 * nothing of it is left, or s->torn bytes are, which the next line ends before
 * it begins. Does not wait for whoever reads standard error or the socket.
 */
must_use int audit_sink_write(struct audit_sink *s, struct bytes line);

#endif
