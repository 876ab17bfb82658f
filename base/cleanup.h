/*
 * Scope-bound ownership. A variable declared with one of these is released
 * when its scope ends, on every return. Initialise at declaration.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define must_use __attribute__((warn_unused_result))

static inline void
cleanup_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void
cleanup_free(void *p)
{
	free(*(void **)p);
}

/* Moves ownership of an fd out of a scoped variable. */
static inline int
fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Closes *fd if it is open and marks it closed. */
static inline void
fd_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

#define scoped_fd   __attribute__((cleanup(cleanup_fd))) int
#define scoped_free __attribute__((cleanup(cleanup_free)))

#endif
