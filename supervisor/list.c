#include "supervisor/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
list_add(struct list *l, const char *s, size_t max)
{
	char **grown, *copy;

	if (l->count >= max)
		return -E2BIG;
	copy = strdup(s);
	if (copy == NULL)
		return -ENOMEM;
	grown = reallocarray(l->items, l->count + 1, sizeof *grown);
	if (grown == NULL) {
		free(copy);
		return -ENOMEM;
	}
	l->items = grown;
	l->items[l->count++] = copy;
	return 0;
}

bool
list_has(const struct list *l, const char *s)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->items[i], s) == 0)
			return true;
	return false;
}

void
list_clear(struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct list){0};
}

int
list_pack(const struct list *l, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < l->count && r == 0; i++)
		r = buf_put_cstring(out, l->items[i]);
	return r;
}
