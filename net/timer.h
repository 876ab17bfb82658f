/* One-shot timers of net's loop. */
#ifndef NET_TIMER_H
#define NET_TIMER_H

#include <libwebsockets.h>
#include <stdint.h>

struct timer;
typedef void (*timer_fn)(struct timer *t);

/* Embedded in its owner; all zero bytes are an unset timer. The callback finds
 * the owner with container_of. */
struct timer {
	lws_sorted_usec_list_t sul;
	timer_fn fn;
};

#define container_of(ptr, type, member)                                        \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Call fn once, in ms milliseconds from now (0: in the next turn of the loop).
 * A timer that is set already is moved. */
void timer_set(struct lws_context *lws, struct timer *t, uint64_t ms,
    timer_fn fn);

/* Unset it; an unset one is fine. Must precede the owner's end. */
void timer_clear(struct timer *t);

/* Milliseconds of a clock that only moves forward. */
uint64_t timer_now_ms(void);

#endif
