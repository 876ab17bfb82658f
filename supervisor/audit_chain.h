/*
 * The hash chain of the audit log. Each line ends in ,"seq":"N","hash":"H"}
 * where H is the SHA-256, or with a key the HMAC-SHA-256, of the hash of the
 * line before (64 digits; zeros before the first) followed by the line's bytes
 * up to ,"hash": . So a line that was changed, taken out, put in or moved
 * breaks it. The last lines can be taken away unseen unless their number or
 * hash is known from elsewhere, and who has the key, or where there is none
 * anybody who may write the file, can make a new chain.
 */
#ifndef SUPERVISOR_AUDIT_CHAIN_H
#define SUPERVISOR_AUDIT_CHAIN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

#define AUDIT_KEY_MIN 16   /* bytes of a key */
#define AUDIT_KEY_MAX 4096 /* the same */

struct audit_chain {
	bool on;
	uint64_t seq;		    /* of the last line; 0: there is none */
	char hash[SHA256_HEX_SIZE]; /* of the last line */
	uint8_t *key;		    /* owned; NULL: none */
	size_t key_len;
};

/* A chain without lines. */
void audit_chain_init(struct audit_chain *c);
/* Wipes the key. */
void audit_chain_done(struct audit_chain *c);

/* Read the key: a regular file, ours, closed to group and others. Returns 0 or
 * a negative errno with e. */
must_use int audit_chain_read_key(struct audit_chain *c, const char *path,
    struct err *e);

/*
 * Add seq and hash to line, the whole of a line with its newline, and put the
 * chain as it is after it into *next, which shares c's key. Returns 0,
 * -EMSGSIZE or -ENOMEM.
 */
must_use int audit_chain_seal(const struct audit_chain *c, struct buf *line,
    struct audit_chain *next);

/* A line apart: what the hash covers, and what it says. */
struct audit_link {
	struct bytes covered;
	uint64_t seq;
	char hash[SHA256_HEX_SIZE];
};

/* Take a line, without its newline, apart. False if it does not end as one of
 * a chain does. */
must_use bool audit_chain_parse(struct bytes line, struct audit_link *link);

/* The hash that link should have after prev. Returns 0 or -ENOMEM. */
must_use int audit_chain_hash(const struct audit_chain *c, const char *prev,
    struct bytes covered, char out[SHA256_HEX_SIZE]);

/* Go on after the last line of a chain in tail, the end of a file; without one
 * c is unchanged. */
void audit_chain_resume(struct audit_chain *c, struct bytes tail);

#endif
