/* File URIs of path parameters, by the rules of the WHATWG URL standard as far
 * as the protocol uses them. */
#ifndef NET_URI_H
#define NET_URI_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Turn a URI into an absolute path: percent-decoded, dot segments resolved,
 * repeated and trailing slashes collapsed, no NUL added. path is cleared first
 * and has a maximum of its own. Returns 0; or with e
 *   -EINVAL        it is no acceptable URI (-32602 everywhere)
 *   -EADDRNOTAVAIL it names a place that is not on this host: a remote
 *                  authority or a drive letter; e is "'URI' is invalid on
 *                  'linux'"
 *   -ENAMETOOLONG  the path passes PATH_LEN_MAX - 1 bytes
 *   -ENOMEM
 */
must_use int uri_to_path(struct bytes uri, struct buf *path, struct err *e);

/* Append file:// and the path, every byte outside the unreserved characters
 * and '/' percent-encoded in upper case. */
must_use int uri_from_path(struct bytes path, struct buf *out);

#endif
