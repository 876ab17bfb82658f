/* What the arguments of a watched process point to. */
#ifndef SUPERVISOR_POLICY_TRACEE_H
#define SUPERVISOR_POLICY_TRACEE_H

#include <sys/socket.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/limits.h"

/* Copy a string of at most PATH_LEN_MAX bytes with its NUL. Returns 0;
 * -EFAULT if it cannot be read; -ENAMETOOLONG. */
must_use int tracee_string(pid_t pid, uint64_t address, char out[PATH_LEN_MAX]);

/* Copy a socket address of len bytes. Returns 0, -EFAULT or -EINVAL. */
must_use int tracee_sockaddr(pid_t pid, uint64_t address, uint64_t len,
    struct sockaddr_storage *out);

/*
 * The path that name means to the process, relative to the descriptor dirfd
 * (AT_FDCWD: its directory): absolute, canonical, links of every directory on
 * the way followed in the process's own view as far as it can be seen. Returns
 * 0; -ENOENT if it has no path (a pipe); -ENAMETOOLONG.
 */
must_use int tracee_path(pid_t pid, int dirfd, const char *name,
    char out[PATH_LEN_MAX]);

#endif
