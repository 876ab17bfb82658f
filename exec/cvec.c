#include "exec/cvec.h"

#include <errno.h>
#include <string.h>

#include "privsep/pack.h"

int
cvec_make(struct cvec *c, struct bytes list)
{
	struct reader r;
	struct bytes s;
	char *at;

	*c = (struct cvec){0};
	reader_init(&r, list.data, list.len);
	while (strings_next(&r, &s))
		c->count++;
	/* A length of four bytes precedes each string: room for its NUL. */
	c->v = calloc(c->count + 1, sizeof c->v[0]);
	c->bytes = malloc(list.len + 1);
	if (c->v == NULL || c->bytes == NULL) {
		cvec_done(c);
		return -ENOMEM;
	}
	at = c->bytes;
	reader_init(&r, list.data, list.len);
	for (size_t i = 0; strings_next(&r, &s); i++) {
		c->v[i] = at;
		if (s.len > 0)
			memcpy(at, s.data, s.len);
		at += s.len;
		*at++ = '\0';
	}
	return 0;
}

void
cvec_done(struct cvec *c)
{
	free(c->v);
	free(c->bytes);
	*c = (struct cvec){0};
}

const char *
cvec_value(const struct cvec *c, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < c->count; i++)
		if (strncmp(c->v[i], name, len) == 0 && c->v[i][len] == '=')
			return c->v[i] + len + 1;
	return NULL;
}
