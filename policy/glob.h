/*
 * Patterns over absolute paths, character by character (UTF-8; a byte that is
 * none is a character of its own):
 *
 *   *       any run of characters within a component
 *   ?       one character, not '/'
 *   **      any run of characters; so are three stars and more
 *   ** and a slash   any number of whole components, also none
 *   [...]   one of a class, [!...] and [^...] none of it; ranges; ']' first
 *           is itself; no '/' inside
 *
 * Everything else is itself; there is no escape.
 */
#ifndef POLICY_GLOB_H
#define POLICY_GLOB_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Make pattern, which may be relative to cwd, absolute and canonical: "." and
 * empty components go, ".." takes a component without wildcards with it. cwd
 * is an absolute canonical path, or empty when there is none. out is cleared
 * first and has a maximum of its own. Returns 0; with e -EINVAL if the pattern
 * is malformed, ".." follows a wildcard or a cwd is missing; -ENAMETOOLONG if
 * out would pass its maximum; -ENOMEM.
 */
must_use int glob_resolve(struct bytes pattern, struct bytes cwd,
    struct buf *out, struct err *e);

/* --- of what glob_resolve made ------------------------------------------ */

/* Whether it has a wildcard at all. */
bool glob_is_pattern(struct bytes pattern);
/* The directory before the first component with a wildcard: the length of its
 * path, at least 1. Nothing outside it matches. */
size_t glob_base(struct bytes pattern);
/* Whether it matches everything below its base and nothing else. */
bool glob_is_subtree(struct bytes pattern);
/* Whether it matches every direct child of its base, and nothing else. */
bool glob_is_children(struct bytes pattern);

/* Whether pattern matches the whole of path, or of a directory above it. Never
 * true of "/", as a pattern is about what lies below a directory. Time
 * is bounded by the product of their lengths. */
bool glob_covers(struct bytes pattern, struct bytes path);

#endif
