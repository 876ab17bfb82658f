/* A packed list as a NULL-terminated vector of C strings, for execve. */
#ifndef EXEC_CVEC_H
#define EXEC_CVEC_H

#include <stddef.h>

#include "base/buf.h"

struct cvec {
	char **v;    /* owned, NULL-terminated */
	char *bytes; /* owned, what v points into */
	size_t count;
};

/* list was checked and holds no NUL byte. 0; -ENOMEM. */
must_use int cvec_make(struct cvec *c, struct bytes list);
void cvec_done(struct cvec *c);

/* The value of NAME in a vector of NAME=VALUE strings, or NULL. */
const char *cvec_value(const struct cvec *c, const char *name);

#endif
