/* SHA-256, to name policies and filters by their content. No secret goes
 * through it. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include "base/buf.h"

#define SHA256_HEX_SIZE 65 /* bytes, the final NUL included */

/* The digest of data in small hexadecimal digits. */
void sha256_hex(struct bytes data, char out[SHA256_HEX_SIZE]);

#endif
