/*
 * The runtime directory: for each server that commands of `sallyport attach`
 * share, the control socket of its keeper and a lock file. The directory is
 * this user's alone, and both ends of a connection check who the other is.
 */
#ifndef CLI_ATTACH_RUNTIME_H
#define CLI_ATTACH_RUNTIME_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/err.h"

/* A name made of the runtime id: hexadecimal digits. Bytes, the NUL included.
 */
#define ATTACH_KEY_SIZE 17

/*
 * Open, and make if need be, $XDG_RUNTIME_DIR/sallyport, or /run/sallyport for
 * root without that variable. Refused unless it is a directory of this user
 * that nobody else can enter, so it does not matter who owns its parent.
 * Returns 0 and the descriptor in *dir_fd, or a negative errno.
 */
must_use int attach_runtime_open(int *dir_fd, struct err *e);

/*
 * Take the lock under which a keeper is looked for, made and unmade, waiting
 * timeout_ms for it. Closing *lock_fd gives it back.
 * Returns 0; -EAGAIN if it is taken; another negative errno.
 */
must_use int attach_runtime_lock(int dir_fd, const char *key, int timeout_ms,
    int *lock_fd, struct err *e);

/* Connect to the keeper. Returns 0; -ECONNREFUSED or -ENOENT if there is
 * none; -EACCES if it is another user's; another negative errno. */
must_use int attach_runtime_connect(int dir_fd, const char *key, int *fd,
    struct err *e);

/* Make the control socket, in the place of one that a dead keeper left. The
 * caller holds the lock. */
must_use int attach_runtime_listen(int dir_fd, const char *key, int *fd,
    struct err *e);

/* Whether the process at the other end of fd is this user's. */
must_use bool attach_runtime_is_own(int fd);

/* Remove the control socket and the lock file. The caller holds the lock. */
void attach_runtime_remove(int dir_fd, const char *key);

#endif
