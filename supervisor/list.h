/* An owned list of strings with a maximum. */
#ifndef SUPERVISOR_LIST_H
#define SUPERVISOR_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct list {
	char **items; /* heap, each item too */
	size_t count;
};

/* Append a copy of s. Returns 0; -E2BIG if l holds max items; -ENOMEM. */
must_use int list_add(struct list *l, const char *s, size_t max);
/* Whether an item equals s. */
bool list_has(const struct list *l, const char *s);
/* Free all items; l is then empty. */
void list_clear(struct list *l);
/* Append all items to out as a packed list: privsep/pack.h. -EMSGSIZE,
 * -ENOMEM. */
must_use int list_pack(const struct list *l, struct buf *out);

#endif
