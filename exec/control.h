/*
 * What exec and the init of a child say to each other, a record each, on a
 * SOCK_SEQPACKET pair.
 */
#ifndef EXEC_CONTROL_H
#define EXEC_CONTROL_H

#include <stdint.h>

enum control_type {
	/* From init, with exec's ends of the streams: the pty's
	 * master, or [stdin], stdout, stderr; all non-blocking. */
	CONTROL_STREAMS,
	/* From init, before that: it made a placeholder, which is the first b
	 * bytes of the path that is the a-th of the plan's placeholders, and
	 * has inode ino of device dev. */
	CONTROL_MADE,
	CONTROL_EXITED,	   /* from init: a is the program's wait status */
	CONTROL_INTERRUPT, /* to init: SIGINT to the program's group */
	CONTROL_RESIZE,	   /* to init: a rows, b columns */
};

struct control {
	uint32_t type; /* enum control_type */
	uint32_t a, b;
	uint64_t dev, ino;
};

#define CONTROL_STREAMS_MAX 3

#endif
