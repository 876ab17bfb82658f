/* A share in the server of a runtime id, held through its keeper. */
#ifndef CLI_ATTACH_LEASE_H
#define CLI_ATTACH_LEASE_H

#include "cli/attach_runtime.h"
#include "cli/attach_server.h"

struct attach_lease {
	int fd; /* readable when there is something for attach_lease_read */
	char url[ATTACH_URL_MAX];
};

struct attach_lease_opts {
	const char *runtime_id;
	char *const *server_argv; /* path of sallyport, "serve", options */
	int end_fd;		  /* borrowed; readable: do not wait longer */
	int timeout_ms;		  /* until the server serves */
};

/*
 * Start or join the server of the runtime id, and wait until it serves. What
 * it logs goes to standard error, here and in attach_lease_read.
 * Returns 0 and the lease in *l; -ECANCELED if the server did not start or has
 * other options; -ETIMEDOUT; -EINTR by end_fd; another negative errno.
 */
must_use int attach_lease_open(struct attach_lease *l,
    const struct attach_lease_opts *o, struct err *e);

/* Take what the keeper says. Returns 0 while the server runs; -EPIPE with how
 * it ended. */
must_use int attach_lease_read(struct attach_lease *l, struct err *e);

/* Give the lease back, and if it was the last wait until the server is gone.
 * A lease without a descriptor (-1) is none. */
void attach_lease_release(struct attach_lease *l);

/* The first digits of the SHA-256 of runtime_id, which name its files and its
 * environment. */
void attach_lease_key(const char *runtime_id, char key[ATTACH_KEY_SIZE]);

#endif
