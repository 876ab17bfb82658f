/*
 * All that is opened before the lock-down. After it the supervisor opens, on
 * SIGHUP alone, the files that it was configured by and its audit log; and it
 * connects to the audit socket again when a line finds no reader there.
 */
#ifndef SUPERVISOR_OPENING_H
#define SUPERVISOR_OPENING_H

#include "supervisor/child_policy.h"
#include "supervisor/scratch.h"
#include "supervisor/supervisor.h"

struct opening {
	struct server server; /* borrows from the rest */
	enum isolation isolation;
	struct workspaces workspaces;
	struct binary net, exec, http;
	struct config_ceiling ceiling;
	struct compiled *child; /* owned; NULL: the built-in filter */
	struct audit audit;
	struct scratch scratch;
	struct listen_url address;
	int worker_fd; /* -1: files are not served by a program of ours that is
			* sent where they are */
	int listener_fd, null_fd;
	int url_fd; /* -1: the URL goes to standard output */
	struct buf host;
	char path[64];
};

/*
 * Open everything for c, whose workspaces become real paths. config_file and
 * url_file may be NULL. c is borrowed for as long as o is used. Returns
 * EXIT_OK, or the code to exit with and e. o is to be released with
 * opening_done in both cases.
 */
must_use enum exit_code opening_init(struct opening *o, struct config *c,
    const char *config_file, const char *url_file, struct err *e);
void opening_done(struct opening *o);

#endif
