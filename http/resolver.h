/*
 * Names to addresses by c-ares, in our own loop: libcurl's resolver would
 * start threads and load libraries. The host's files are read at the start,
 * and the descriptors of queries are the only ones that come later.
 */
#ifndef HTTP_RESOLVER_H
#define HTTP_RESOLVER_H

#include "base/err.h"
#include "privsep/http_policy.h"

/* Addresses of a name that count. */
#define ADDRESSES_MAX 16

struct resolver;
struct lookup;

/* count is 0 when there are none; then why says so. Called once, unless the
 * look-up was forgotten; never from within resolver_find. */
typedef void lookup_fn(void *owner, const struct http_address *addresses,
    size_t count, const char *why);

/* server is "IP:PORT" to ask in the place of the host's resolver, or empty.
 * Returns NULL with e. Reads files. */
struct resolver *resolver_new(int epfd, struct bytes server, struct err *e);
void resolver_free(struct resolver *r);

/* Look host up: lower case, a valid name. Returns NULL if memory is short or
 * too many look-ups are under way. */
struct lookup *resolver_find(struct resolver *r, const char *host,
    lookup_fn *fn, void *owner);
/* Its owner does not want to hear of it any more. */
void lookup_forget(struct lookup *l);

/* Milliseconds until resolver_turn has something to do, -1: nothing. */
int resolver_timeout_ms(struct resolver *r);
/* Hand out what is known and look after timeouts. */
void resolver_turn(struct resolver *r);

#endif
