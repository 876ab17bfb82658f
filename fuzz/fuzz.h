/*
 * What the harnesses share. A harness is fuzz_NAME.c: it tests one input and
 * keeps nothing from one input to the next. With a fuzzing engine the engine
 * has main; without one replay.c has.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Test one input of at most FUZZ_LEN_MAX bytes (meson.build), return 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Optional: change the size bytes of data in place. Returns how many there are
 * then, at most max_size. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
    unsigned int seed);

/* The engine's own mutation of data; without an engine nothing changes. */
size_t fuzz_mutate(uint8_t *data, size_t size, size_t max_size);

/* Take from an input; where it has ended, 0 or no bytes. */
uint8_t fuzz_u8(struct reader *r);
uint32_t fuzz_u32(struct reader *r);
/* Up to the next byte end, which is dropped, or to the end of the input. */
struct bytes fuzz_until(struct reader *r, uint8_t end);
/* At most len bytes. */
struct bytes fuzz_bytes(struct reader *r, size_t len);
struct bytes fuzz_rest(struct reader *r);

/* How many descriptors are open: as many before as after what leaks none. The
 * lowest that is free would not tell: what leaks may lie above it. */
int fuzz_fds_open(void);

static inline struct bytes
fuzz_view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

/* A next number of a sequence that *state stands for. */
uint32_t fuzz_random(uint64_t *state);

#endif
