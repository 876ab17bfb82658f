/*
 * A child's streams: pipes, or a pty of its own. Init makes them, with the
 * child's file system ids, so that the child may open /dev/stdout again; exec
 * only passes its ends on to net.
 */
#ifndef EXEC_INIT_STREAMS_H
#define EXEC_INIT_STREAMS_H

#include "exec/order.h"

struct streams {
	int child[3];	  /* 0, 1, 2 of the program; -1: see below */
	int master;	  /* of a pty: the program opens its other end */
	unsigned int pty; /* its number in /dev/pts */
};

/*
 * Make them and send exec its ends over the order's control socket. Without
 * pipe_stdin child[0] is -1, for /dev/null; with tty or quiet all of them are.
 * 0 or a negative errno. Safe after clone.
 */
must_use int streams_make(struct streams *s, const struct order *o);
void streams_close(struct streams *s);

#endif
