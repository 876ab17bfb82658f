#include "net/timer.h"

#include "base/clock.h"

static void
fired(lws_sorted_usec_list_t *sul)
{
	struct timer *t = container_of(sul, struct timer, sul);

	t->fn(t);
}

void
timer_set(struct lws_context *lws, struct timer *t, uint64_t ms, timer_fn fn)
{
	t->fn = fn;
	lws_sul_schedule(lws, 0, &t->sul, fired,
	    (lws_usec_t)ms * LWS_US_PER_MS + 1);
}

void
timer_clear(struct timer *t)
{
	lws_sul_cancel(&t->sul);
}

uint64_t
timer_now_ms(void)
{
	return (uint64_t)clock_ms();
}
