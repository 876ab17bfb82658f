#include "supervisor/crashes.h"

#include <string.h>

static void
forget_old(struct crashes *c, uint64_t now_ms)
{
	size_t old = 0;

	while (old < c->count && now_ms - c->at_ms[old] > CRASHES_WINDOW_MS)
		old++;
	c->count -= old;
	memmove(c->at_ms, c->at_ms + old, c->count * sizeof c->at_ms[0]);
}

bool
crashes_note(struct crashes *c, uint64_t now_ms, uint64_t *delay_ms)
{
	forget_old(c, now_ms);
	if (c->count > 0 && now_ms - c->at_ms[c->count - 1] <= CRASH_SAME_MS) {
		*delay_ms = CRASH_DELAY_MS << (c->count - 1);
		return true;
	}
	if (c->count == CRASHES_MAX)
		return false;
	c->at_ms[c->count++] = now_ms;
	*delay_ms = CRASH_DELAY_MS << (c->count - 1);
	return true;
}
