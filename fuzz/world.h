/*
 * A whole net in this process, with the real libwebsockets, and all that is
 * around it: clients on socket pairs, exec and the supervisor on channels. Its
 * clock stands still except where a harness moves it, so the same input is the
 * same run. There is one world at a time.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include "net/net.h"

/* The path of the URL that net answers to. */
#define WORLD_PATH "/k"

/* A fresh net that follows compat, with small limits. */
struct net *world_begin(enum compat compat);
/*
 * Let all that waits pass, and assert that nothing is left: no connection,
 * session, process, answer or descriptor, and nothing counted on a budget. The
 * clients' ends are to be closed before.
 */
void world_end(void);

/* A client's end of a new connection, not blocking; the caller closes it. */
int world_connect(void);

/* Serve until nothing more happens. */
void world_settle(void);
/* Let time pass, then serve. */
void world_sleep(uint64_t ms);

/* Exec's end of its channel to net; NULL once it was closed. */
struct channel *world_exec(void);
void world_close_exec(void);
/* The supervisor's end. */
struct channel *world_supervisor(void);

#endif
