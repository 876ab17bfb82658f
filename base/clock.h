/* The time that deadlines are told by. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC; never negative. Fit to be called between
 * clone and execve. */
int64_t clock_ms(void);

#endif
