/* Bytes as a string of JSON. */
#ifndef SUPERVISOR_JSONTEXT_H
#define SUPERVISOR_JSONTEXT_H

#include "base/buf.h"

/* Append v in quotes; what is no UTF-8 becomes U+FFFD. -EMSGSIZE, -ENOMEM. */
must_use int jsontext_put(struct buf *out, struct bytes v);

#endif
