/*
 * Exec, file workers and sallyport-http as net sees them. Exec is honest: it
 * answers what it was asked, and notes what it was told; the others send
 * whatever the input says.
 */
#ifndef FUZZ_FAR_H
#define FUZZ_FAR_H

#include "fuzz/fuzz.h"
#include "fuzz/world.h"

void far_begin(void);
/* Close everything. */
void far_end(void);

/* Take what net has sent to all of them. Asserts what exec relies on: that
 * sessions are opened once and closed once, and that nothing is asked for one
 * that is not open, or for a lease of another session. */
void far_take(void);

/* One event of exec, that the input chooses: a start, a worker or an http
 * client is answered, a process writes, reads, ends or closes a stream. */
void far_exec_event(struct reader *r);
/* A message of a worker or of http, honest or not. */
void far_helper_event(struct reader *r);

#endif
