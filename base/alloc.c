#include "base/alloc.h"

#include <stdlib.h>

#include "base/log.h"

void *
alloc_or_end(size_t size)
{
	void *p = malloc(size);

	if (p == NULL) {
		log_error("out_of_memory bytes=%zu", size);
		abort();
	}
	return p;
}
