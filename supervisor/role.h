/* One role as a process: its start, its two descriptors to us, its end. */
#ifndef SUPERVISOR_ROLE_H
#define SUPERVISOR_ROLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "privsep/channel.h"
#include "supervisor/rolelog.h"

struct role_process {
	enum role role;
	pid_t pid;		 /* 0: there is none */
	int pidfd;		 /* owned; -1 */
	struct channel *channel; /* owned; NULL: at its end or broken */
	struct rolelog log;
	bool ready;	      /* its report has come and is as it should be */
	uint64_t ready_by_ms; /* until when it has to come */
};

struct role_start {
	int binary_fd; /* borrowed */
	int null_fd;   /* borrowed: /dev/null */
	int extra[2];  /* borrowed: ROLE_FD_EXEC and on */
	size_t extra_count;
};

/* Make p one that is not running. */
void role_init(struct role_process *p, enum role role);

/*
 * Start p with descriptors as role.h of privsep says and nothing else of ours:
 * no environment but TZ, default signals, an own session (a terminal's Ctrl-C
 * is for the supervisor alone), and death with our own. Returns 0 or a
 * negative errno with e; p is then not running.
 */
must_use int role_start(struct role_process *p, const struct role_start *how,
    struct err *e);

/* SIGKILL, and no word with it any more. p stays until it is reaped. */
void role_kill(struct role_process *p);

/* If p has ended: forget it, forward the rest of its log, and return true with
 * its wait status. */
bool role_reap(struct role_process *p, int *status);

#define ROLE_END_MAX 48 /* bytes, the final NUL included */

/* A wait status in words: "killed by SIGKILL". */
void role_describe_end(int status, char text[ROLE_END_MAX]);

/*
 * Wait for those children that are neither net nor exec: inits whose exec has
 * died, and which were killed with it. Returns whether any other process of
 * ours is left.
 */
bool role_reap_orphans(const struct role_process *net,
    const struct role_process *exec);

#endif
