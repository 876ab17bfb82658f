/*
 * Bytes on their way to a descriptor of ours that may be slow. It is never
 * made non-blocking: the setting would be shared with whoever gave it to us.
 */
#ifndef CLI_OUTLET_H
#define CLI_OUTLET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Above this many waiting bytes nothing more is to be put in. */
#define OUTLET_FULL    (256u * 1024u)
/* What one put may add: the largest chunk that a message can hold. */
#define OUTLET_PUT_MAX (32u * 1024u * 1024u)

struct outlet {
	int fd;		/* borrowed */
	bool broken;	/* the reader has gone; what comes is dropped */
	size_t written; /* bytes at the front of waiting that are out */
	struct buf waiting;
};

void outlet_init(struct outlet *o, int fd);
void outlet_done(struct outlet *o);

/*
 * Add the bytes of len characters of base64. Returns 0; -EINVAL if it is not
 * base64; -EMSGSIZE for more than OUTLET_PUT_MAX; -ENOMEM.
 */
must_use int outlet_put_base64(struct outlet *o, const char *text, size_t len);

/*
 * Write what the descriptor takes now. A reader that has gone marks o as
 * broken and is no error. Returns 0 or a negative errno of write.
 */
must_use int outlet_flush(struct outlet *o);

bool outlet_is_empty(const struct outlet *o);
bool outlet_is_full(const struct outlet *o);

#endif
