/*
 * The log of a role: what it writes to its descriptor 2 arrives here through a
 * pipe and leaves line by line on our own, with the role's name in front.
 */
#ifndef SUPERVISOR_ROLELOG_H
#define SUPERVISOR_ROLELOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "privsep/role.h"

struct rolelog {
	enum role role;
	int fd; /* the pipe's reading end, owned; -1: at its end */
	size_t len;
	uint64_t dropped; /* lines, since our own descriptor was full */
	char line[LOG_LINE_MAX];
};

/*
 * Make the pipe. The writing end goes to *write_fd, non-blocking as well: a
 * role loses lines rather than wait for whoever reads ours. Returns 0 or a
 * negative errno.
 */
must_use int rolelog_open(struct rolelog *l, enum role role, int *write_fd);
/* Forward what has arrived, a bounded amount at a time. False at the end. */
bool rolelog_read(struct rolelog *l);
/* Forward the rest and close. */
void rolelog_close(struct rolelog *l);

#endif
