/*
 * What sallyport-http may do, as it travels from the supervisor through exec,
 * and the rules of its lists: pure, shared by who checks a configuration and
 * by who obeys it.
 */
#ifndef PRIVSEP_HTTP_POLICY_H
#define PRIVSEP_HTTP_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

#define HTTP_NAME_MAX 254 /* bytes of a host name, its NUL included */

/* An address: 4 or 16 bytes in network order. */
struct http_address {
	uint8_t bytes[16];
	uint8_t len; /* 4 or 16 */
};

/* Where a connection goes. */
struct http_endpoint {
	struct http_address address;
	uint16_t port;
};

/*
 * One line of http.allow or http.deny:
 *
 *   example.com  example.com:8443  *.example.com   names
 *   10.1.2.3  10.1.2.3:80  10.0.0.0/8  [::1]:80  fd00::/8   addresses
 */
struct http_rule {
	char name[HTTP_NAME_MAX]; /* lower case; empty: an address */
	bool below;		  /* "*.": what is below the name, not it */
	struct http_address address;
	uint8_t prefix; /* bits of it that count */
	uint16_t port;	/* 0: any */
};

/* Returns 0, or -EINVAL with e. */
must_use int http_rule_parse(struct bytes text, struct http_rule *out,
    struct err *e);

/* Whether the rule is about that host, in lower case and without a dot at its
 * end, or about that address; each on that port. */
bool http_rule_names(const struct http_rule *r, const char *host,
    uint16_t port);
bool http_rule_holds(const struct http_rule *r, const struct http_address *a,
    uint16_t port);

/* "IP:PORT", an IPv6 address in brackets. Returns 0, or -EINVAL with e. */
must_use int http_endpoint_parse(struct bytes text, struct http_endpoint *out,
    struct err *e);

/* The value of http.proxy: "http://IP:PORT". Returns 0, or -EINVAL with e. */
must_use int http_proxy_parse(struct bytes text, struct http_endpoint *out,
    struct err *e);

/* Views are borrowed. */
struct http_policy {
	bool allow_private, allow_public;
	struct bytes allow, deny; /* lists of rules */
	struct bytes ports;	  /* list of numbers; empty: all */
	struct bytes env;	  /* list: name, value, ... */
	struct bytes resolver;	  /* "IP:PORT"; empty: the host's */
	struct bytes proxy;	  /* empty: none */
	struct bytes ca_file;	  /* absolute path; empty: the host's */
	uint64_t max_body;	  /* bytes, decoded, not streamed */
	uint32_t max_concurrent, max_redirects;
};

/* Append p to out. -EMSGSIZE, -ENOMEM. */
must_use int http_policy_pack(const struct http_policy *p, struct buf *out);
/* Decode and check every bound and rule. Returns 0 or -EPROTO with e. The
 * views in p point into packed. */
must_use int http_policy_unpack(struct bytes packed, struct http_policy *p,
    struct err *e);

#endif
