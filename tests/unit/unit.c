#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>

/* The linker's --wrap gives these their names. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned int left; /* allocations until the one that fails */
static bool failed;

void
alloc_fail_at(unsigned int n)
{
	left = n;
	failed = false;
}

int
alloc_failed(void)
{
	return failed;
}

static bool
fails_now(void)
{
	if (left == 0 || --left > 0)
		return false;
	failed = true;
	return true;
}

void *
__wrap_malloc(size_t size)
{
	return fails_now() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return fails_now() ? NULL : __real_calloc(count, size);
}

void *
__wrap_realloc(void *old, size_t size)
{
	return fails_now() ? NULL : __real_realloc(old, size);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */

unsigned int
fds_open(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			count++;
	return count;
}
