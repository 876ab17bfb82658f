/* SHA-256, to name policies and filters by their content, and to chain the
 * lines of the audit log. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include "base/buf.h"

#define SHA256_SIZE	32
#define SHA256_HEX_SIZE 65 /* bytes, the final NUL included */

/* The digest of data. */
void sha256(struct bytes data, uint8_t out[SHA256_SIZE]);
/* The same in small hexadecimal digits. */
void sha256_hex(struct bytes data, char out[SHA256_HEX_SIZE]);

/*
 * HMAC-SHA-256 (RFC 2104) of data, in small hexadecimal digits. Returns 0 or
 * -ENOMEM. What is derived from key is wiped.
 */
must_use int hmac_sha256_hex(struct bytes key, struct bytes data,
    char out[SHA256_HEX_SIZE]);

#endif
