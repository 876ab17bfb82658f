/* Paths as text, with no look at any file. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>

#include "base/buf.h"

/* Whether path is absolute and canonical: "/", or components that are neither
 * empty nor "." nor "..", each after a slash; no NUL; shorter than
 * PATH_LEN_MAX. */
bool path_is_canonical(struct bytes path);

/* Whether name is such a path without its first slash, or empty. */
bool path_is_subpath(struct bytes name);

#endif
