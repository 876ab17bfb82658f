/* An allocator for libraries that do not survive it when there is no memory. */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

/*
 * As malloc(3), but it ends the process instead of returning NULL. For jansson,
 * whose parser drops bytes of a string that it has no room for and then copies
 * past the end of what it has kept. Free it with free(3).
 */
void *alloc_or_end(size_t size);

#endif
