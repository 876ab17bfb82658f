/*
 * The guard: whether the host of a URL, and the addresses that it has, may be
 * connected to. Pure; every way to write an address ends up here.
 */
#ifndef PRIVSEP_TARGET_H
#define PRIVSEP_TARGET_H

#include "privsep/http_policy.h"

/* The host of a URL, in one form whatever it was written like. */
struct target {
	char host[HTTP_NAME_MAX]; /* lower case, no dot at the end, no brackets
				   */
	bool literal;		  /* it is an address: the next member */
	struct http_address address;
	uint16_t port;
};

struct guard {
	bool allow_private, allow_public;
	const struct http_rule *allow, *deny;
	size_t allow_count, deny_count;
	const uint16_t *ports; /* with none, every port */
	size_t port_count;
};

/* Why not, and which key of the policy would change that. */
struct refusal {
	const char *what, *key;
};

/*
 * Take a host apart: ASCII, as in a URL, an IPv6 address with or without
 * brackets. Decimal, octal, hexadecimal and short forms of an IPv4 address are
 * the address that they mean. Returns 0; -EINVAL if it is no host, -E2BIG if
 * it is too long.
 */
must_use int target_parse(const char *host, uint16_t port, struct target *out);

/* Write a as text. */
#define TARGET_TEXT_MAX 48
void target_text(const struct http_address *a, char out[TARGET_TEXT_MAX]);

/*
 * Before anything is looked up: port, the lists, and names that mean something
 * local. Returns whether t may be looked up; else *why says why not.
 */
must_use bool target_judge(const struct guard *g, const struct target *t,
    struct refusal *why);

/*
 * Whether t, which passed target_judge, may be connected to at a. Returns
 * that, else *why says why not.
 */
must_use bool target_judge_address(const struct guard *g,
    const struct target *t, const struct http_address *a, struct refusal *why);

/* The same for a name whose address only a proxy will know. */
must_use bool target_judge_unresolved(const struct guard *g,
    const struct target *t, struct refusal *why);

#endif
