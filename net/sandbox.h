/* The sandbox member of a request. */
#ifndef NET_SANDBOX_H
#define NET_SANDBOX_H

#include <jansson.h>

#include "base/err.h"
#include "privsep/pack.h"

/*
 * Read a sandbox object (NULL when absent) into the members of s that speak of
 * it. strict: windowsSandboxLevel is required. Returns 0; -EINVAL with e
 * naming the member.
 */
must_use int sandbox_decode(json_t *object, bool strict, struct spec *s,
    struct err *e);

#endif
