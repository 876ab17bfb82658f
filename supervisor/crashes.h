/* How often roles have crashed, and what follows from it. */
#ifndef SUPERVISOR_CRASHES_H
#define SUPERVISOR_CRASHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* More than this many crashes within the window and we stay down: each new
 * start is another guess for whoever makes it crash. */
#define CRASHES_MAX	  5
#define CRASHES_WINDOW_MS 60000
/* The first wait before a new start; it doubles with each crash in the window.
 */
#define CRASH_DELAY_MS	  UINT64_C(100)
/* A role that dies takes the other with it: one crash, not two. */
#define CRASH_SAME_MS	  50

struct crashes {
	uint64_t at_ms[CRASHES_MAX];
	size_t count;
};

/*
 * Note a crash at now_ms, a clock that only goes forward. Returns true and the
 * milliseconds to wait before the next start; false: stay down.
 */
must_use bool crashes_note(struct crashes *c, uint64_t now_ms,
    uint64_t *delay_ms);

#endif
