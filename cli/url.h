/* The address of a server: ws://HOST[:PORT][/PATH][?QUERY]. */
#ifndef CLI_URL_H
#define CLI_URL_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

#define URL_MAX	 4096 /* bytes of a whole URL, its NUL included */
#define URL_PORT 80   /* where the URL names none */

struct url {
	char host[256];	     /* a name or address, without brackets */
	char authority[272]; /* HOST:PORT, for the Host header and for people */
	char path[URL_MAX];  /* begins with a slash; the query belongs to it */
	uint16_t port;
};

/*
 * Take text apart into u. Returns 0; -EINVAL with a message that never
 * repeats the path, which is the server's secret.
 */
must_use int url_parse(const char *text, struct url *u, struct err *e);

#endif
