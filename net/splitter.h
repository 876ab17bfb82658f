/*
 * Cuts large base64 strings out of a message while it arrives, so that memory
 * stays near their decoded size. Only the strings of three members of params
 * are cut: dataBase64, chunk and bodyBase64; what follows of them after
 * SPLITTER_INLINE_MAX characters is decoded straight into a memfd, and the
 * text keeps a token in the place of the string. The token holds 128 random
 * bits, so a client cannot write one.
 */
#ifndef NET_SPLITTER_H
#define NET_SPLITTER_H

#include "base/buf.h"

/* A string up to this long stays in the text: characters. */
#define SPLITTER_INLINE_MAX (64u * 1024u)
/* Cut strings of one message. */
#define SPLITTER_BLOBS_MAX  4
/* "\x7f", 32 hex digits, a digit. */
#define SPLITTER_TOKEN_LEN  34

/* A string that was cut out. */
struct blob {
	int fd;	      /* memfd with the decoded bytes, sealed when complete */
	uint64_t len; /* bytes in it */
	/* Where it is no base64: the offset in the string and the byte there,
	 * or bad_at equal to the string's length when it ends too early. */
	bool bad;
	uint64_t bad_at;
	uint8_t bad_byte;
};

struct splitter {
	/* Where the scan stands. */
	bool in_string, escaped, after_colon;
	bool eligible; /* the current string may be cut */
	uint32_t depth;
	size_t string_start;	   /* of the current string, in the text */
	size_t key_start, key_len; /* of the last string that ended */
	/* The string that is being cut, if any. */
	struct blob *current;
	uint64_t chars;	    /* of it, so far */
	uint8_t pending[8]; /* of them, not decoded yet: up to 4 */
	size_t pending_len;
	char nonce[33];
	struct blob blobs[SPLITTER_BLOBS_MAX];
	size_t blob_count;
};

/* Ready for a first message. Returns 0 or -EIO if there are no random bits. */
must_use int splitter_init(struct splitter *s);
/* Close what nobody took and start over for the next message. An all-zero
 * splitter is fine. */
void splitter_reset(struct splitter *s);

/*
 * Take len more bytes of the message, appending to text what stays of them.
 * Returns 0; -EMSGSIZE past text's maximum or SPLITTER_BLOBS_MAX; -ENOMEM; the
 * error of memfd_create(2) or write(2).
 */
must_use int splitter_feed(struct splitter *s, struct buf *text,
    const uint8_t *data, size_t len);

/* Decoded bytes that are in memfds now. */
uint64_t splitter_blob_bytes(const struct splitter *s);

/* The blob that a string of the text stands for, or NULL if it is no token. */
struct blob *splitter_find(struct splitter *s, struct bytes string);

#endif
