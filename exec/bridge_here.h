/* This host's end of a file worker that serves elsewhere. */
#ifndef EXEC_BRIDGE_HERE_H
#define EXEC_BRIDGE_HERE_H

#include <stdint.h>

struct bridge_here {
	int channel_fd; /* to net, taken */
	int in, out;	/* what the command says and hears; non-blocking */
	int note;	/* its error output, the same */
	/* A program to be sent before anything else: a file, or -1. */
	int program_fd;
	uint64_t program_len;
};

/*
 * Stand in for a worker with ROLE_NET at the channel's other end: send the
 * program, wait for the worker's first line, then pass on what comes, until
 * net closes its end. What is out of reach is told with FS_LOST. May run under
 * policy/syscalls/bridge.policy. Blocks SIGPIPE and SIGXFSZ. Returns the exit
 * status: 0 at the end of the channel, else 1.
 */
int bridge_here_run(const struct bridge_here *h);

#endif
