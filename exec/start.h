/* From the first message to the loop. */
#ifndef EXEC_START_H
#define EXEC_START_H

#include "exec/config.h"
#include "privsep/channel.h"

/*
 * Take the configuration from supervisor into *c, go to a place of our own,
 * probe the host, lock down, report and serve until the end. supervisor is
 * taken once the loop runs. 0 after an orderly stop, or a negative errno with
 * e; *c is to be released in any case.
 */
must_use int start_serve(struct channel *supervisor, struct exec_config *c,
    struct err *e);

#endif
