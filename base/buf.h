/*
 * A byte buffer with a maximum, and a reader that only moves forward.
 * Integers are little-endian. A string is a u32 length and its bytes.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Borrowed bytes. data may be NULL when len is 0. */
struct bytes {
	const uint8_t *data;
	size_t len;
};

struct buf {
	uint8_t *data; /* heap, owned */
	size_t len;    /* bytes used */
	size_t cap;    /* bytes allocated */
	size_t max;    /* len never passes this */
};

/* Make b an empty buffer that may grow to max bytes. Allocates nothing. */
void buf_init(struct buf *b, size_t max);
/* Free the memory of b; b is then empty with the same maximum. */
void buf_done(struct buf *b);
/* Forget the contents and keep the memory. */
void buf_clear(struct buf *b);

#define scoped_buf __attribute__((cleanup(buf_done))) struct buf

/*
 * Appending. Each returns 0; -EMSGSIZE if b would pass its maximum; -ENOMEM.
 * On failure b is unchanged. src is borrowed and may be NULL when len is 0.
 */
must_use int buf_reserve(struct buf *b, size_t extra);
must_use int buf_put(struct buf *b, const void *src, size_t len);
must_use int buf_put_u8(struct buf *b, uint8_t v);
must_use int buf_put_u32(struct buf *b, uint32_t v);
must_use int buf_put_u64(struct buf *b, uint64_t v);
must_use int buf_put_string(struct buf *b, const void *src, size_t len);
must_use int buf_put_cstring(struct buf *b, const char *s);
/* Append formatted text without its NUL; -EINVAL if the format fails. */
must_use int buf_printf(struct buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Remove len bytes (at most b->len) from the front. */
void buf_consume(struct buf *b, size_t len);

/* A cursor over borrowed bytes. After a failed get it stays failed. */
struct reader {
	const uint8_t *at;
	size_t left;
	bool failed;
};

void reader_init(struct reader *r, const void *data, size_t len);

/*
 * Reading. Each returns true and writes its output, or returns false, leaves
 * the output alone and marks r as failed. Strings are borrowed from the
 * reader's bytes; one longer than max bytes is a failure.
 */
must_use bool buf_get_u8(struct reader *r, uint8_t *out);
must_use bool buf_get_u32(struct reader *r, uint32_t *out);
must_use bool buf_get_u64(struct reader *r, uint64_t *out);
must_use bool buf_get_string(struct reader *r, struct bytes *out, size_t max);
/* True if nothing failed and no byte is left: the end of every decoder. */
must_use bool buf_get_end(const struct reader *r);

/* Whether b holds exactly the text s. */
bool bytes_is(struct bytes b, const char *s);
/* Whether both hold the same bytes. */
bool bytes_equal(struct bytes a, struct bytes b);
/* Borrow a C string. */
struct bytes bytes_of(const char *s);
/* Whether b holds a NUL byte, so that it cannot become a C string. */
bool bytes_has_nul(struct bytes b);
/* Copy b into a new NUL-terminated heap string; NULL when out of memory. */
char *bytes_dup(struct bytes b);

#endif
