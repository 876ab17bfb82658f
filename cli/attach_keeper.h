/*
 * The keeper: a small process of its own that owns the control socket of one
 * runtime id and, as its child, the server. It speaks with nobody but this
 * user's commands of `sallyport attach`, counts their leases, and is gone
 * soon after the last one.
 */
#ifndef CLI_ATTACH_KEEPER_H
#define CLI_ATTACH_KEEPER_H

#include "cli/attach_runtime.h"

/* Leases at a time. */
#define ATTACH_LEASES_MAX 64

/* Descriptors that a keeper inherits. */
enum { KEEPER_DIR_FD = 3, KEEPER_LISTENER_FD, KEEPER_FDS_END };

/*
 * The command of sallyport-tool that is the keeper, for attach_lease.c alone:
 * attach-keeper KEY DIGEST SALLYPORT serve [OPTION]...
 * Returns the exit status.
 */
int command_attach_keeper(int argc, char **argv);

#endif
