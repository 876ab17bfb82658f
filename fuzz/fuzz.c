#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>

/* A harness has far fewer open. */
#define FDS_MAX 256

/* Of the engine, if there is one. */
extern size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
    __attribute__((weak));

size_t
fuzz_mutate(uint8_t *data, size_t size, size_t max_size)
{
	if (LLVMFuzzerMutate == NULL)
		return size;
	return LLVMFuzzerMutate(data, size, max_size);
}

uint8_t
fuzz_u8(struct reader *r)
{
	uint8_t v = 0;

	return buf_get_u8(r, &v) ? v : 0;
}

uint32_t
fuzz_u32(struct reader *r)
{
	struct bytes b = fuzz_bytes(r, sizeof(uint32_t));
	uint32_t v = 0;

	for (size_t i = 0; i < b.len; i++)
		v |= (uint32_t)b.data[i] << (8 * i);
	return v;
}

struct bytes
fuzz_bytes(struct reader *r, size_t len)
{
	struct bytes out = {.data = r->at,
	    .len = len < r->left ? len : r->left};

	r->at += out.len;
	r->left -= out.len;
	return out;
}

struct bytes
fuzz_until(struct reader *r, uint8_t end)
{
	const uint8_t *at = r->left > 0 ? memchr(r->at, end, r->left) : NULL;
	struct bytes out;

	if (at == NULL)
		return fuzz_rest(r);
	out = fuzz_bytes(r, (size_t)(at - r->at));
	(void)fuzz_bytes(r, 1);
	return out;
}

struct bytes
fuzz_rest(struct reader *r)
{
	return fuzz_bytes(r, r->left);
}

int
fuzz_fds_open(void)
{
	int count = 0;

	for (int fd = 0; fd < FDS_MAX; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Numerical Recipes' generator; its upper half is good enough to choose by. */
uint32_t
fuzz_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 32);
}
