/* The other executables: where they are, and a descriptor of each. */
#ifndef SUPERVISOR_BINARY_H
#define SUPERVISOR_BINARY_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"

struct binary {
	int fd; /* O_PATH, owned; what is written to the path later, under a
		 * new inode, is never started */
	char path[PATH_LEN_MAX];
};

/* Our own executable's real path. Returns 0 or a negative errno with e. */
must_use int binary_self(char path[PATH_LEN_MAX], struct err *e);

/*
 * Find and open the executable of a room (net: sallyport-net): beside our own
 * in the build tree, in the directory that belongs to our own if the
 * installation was moved as a whole, or where it was to be installed. Returns
 * 0 or a negative errno with e.
 */
must_use int binary_open(struct binary *b, const char *room, const char *name,
    struct err *e);
void binary_close(struct binary *b);

#endif
