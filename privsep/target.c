#include "privsep/target.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What may lift a refusal, besides http.allow with the very address. */
enum lift {
	LIFT_PRIVATE, /* http.allow_private, or http.allow with the name */
	LIFT_NAME,    /* http.allow with the name */
	LIFT_NEVER,
};

struct range {
	uint8_t bytes[16];
	uint8_t prefix; /* bits */
	enum lift lift;
	const char *what;
};

/* Special ranges: the first that holds counts, so exceptions come first. */
static const struct range ranges4[] = {
    {{169, 254, 169, 254}, 32, LIFT_NEVER, "cloud metadata address"},
    {{169, 254, 170, 2}, 32, LIFT_NEVER, "cloud metadata address"},
    {{169, 254, 170, 23}, 32, LIFT_NEVER, "cloud metadata address"},
    {{100, 100, 100, 200}, 32, LIFT_NEVER, "cloud metadata address"},
    {{168, 63, 129, 16}, 32, LIFT_NEVER, "cloud metadata address"},
    {{192, 0, 0, 192}, 32, LIFT_NEVER, "cloud metadata address"},
    {{0}, 8, LIFT_NAME, "unspecified address"},
    {{10}, 8, LIFT_PRIVATE, "private address"},
    {{100, 64}, 10, LIFT_PRIVATE, "carrier NAT address"},
    {{127}, 8, LIFT_PRIVATE, "loopback address"},
    {{169, 254}, 16, LIFT_PRIVATE, "link-local address"},
    {{172, 16}, 12, LIFT_PRIVATE, "private address"},
    {{192, 0, 0}, 24, LIFT_NAME, "reserved address"},
    {{192, 0, 2}, 24, LIFT_NAME, "documentation address"},
    {{192, 88, 99}, 24, LIFT_NAME, "6to4 address"},
    {{192, 168}, 16, LIFT_PRIVATE, "private address"},
    {{198, 18}, 15, LIFT_NAME, "benchmark address"},
    {{198, 51, 100}, 24, LIFT_NAME, "documentation address"},
    {{203, 0, 113}, 24, LIFT_NAME, "documentation address"},
    {{224}, 4, LIFT_NEVER, "multicast address"},
    {{255, 255, 255, 255}, 32, LIFT_NEVER, "broadcast address"},
    {{240}, 4, LIFT_NAME, "reserved address"},
};

/* Those that hold an IPv4 address are refused whatever that is: no name needs
 * to have one, and what they reach is the kernel's or a gateway's choice. */
static const struct range ranges6[] = {
    {{0xfd, 0, 0x0e, 0xc2, [14] = 2, 0x54}, 128, LIFT_NEVER,
	"cloud metadata address"},
    {{0xfd, 0x20, 0, 0xce, [14] = 2, 0x54}, 128, LIFT_NEVER,
	"cloud metadata address"},
    {{0}, 128, LIFT_NAME, "unspecified address"},
    {{[15] = 1}, 128, LIFT_PRIVATE, "loopback address"},
    {{0}, 96, LIFT_NEVER, "IPv4-compatible address"},
    {{[10] = 0xff, 0xff}, 96, LIFT_NEVER, "IPv4-mapped address"},
    {{[8] = 0xff, 0xff}, 96, LIFT_NEVER, "IPv4-translated address"},
    {{0, 0x64, 0xff, 0x9b}, 96, LIFT_NEVER, "NAT64 address"},
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 48, LIFT_NEVER, "NAT64 address"},
    {{1}, 64, LIFT_NEVER, "discard address"},
    {{0x20, 1}, 32, LIFT_NEVER, "Teredo address"},
    {{0x20, 1, 0, 2}, 48, LIFT_NAME, "benchmark address"},
    {{0x20, 1}, 23, LIFT_NAME, "reserved address"},
    {{0x20, 1, 0x0d, 0xb8}, 32, LIFT_NAME, "documentation address"},
    {{0x20, 2}, 16, LIFT_NEVER, "6to4 address"},
    {{0x3f, 0xff}, 20, LIFT_NAME, "documentation address"},
    {{0xfc}, 7, LIFT_PRIVATE, "unique local address"},
    {{0xfe, 0x80}, 10, LIFT_PRIVATE, "link-local address"},
    {{0xfe, 0xc0}, 10, LIFT_PRIVATE, "site-local address"},
    {{0xff}, 8, LIFT_NEVER, "multicast address"},
};

/* All of global unicast; the rest of IPv6 is given to nobody. */
static const struct range global6 = {{0x20}, 3, LIFT_NEVER, ""};
static const struct range other6 = {{0}, 0, LIFT_NAME, "reserved address"};
static const struct range isatap = {{0}, 0, LIFT_NEVER, "ISATAP address"};

/* Names that mean this machine or its network, wherever they resolve to; one
 * that begins with a dot stands for all below it. */
static const char *const local_names[] = {"localhost", ".localhost", ".local",
    ".internal", ".localdomain", "ip6-localhost", "ip6-loopback",
    "broadcasthost", ".home.arpa"};

/* --- taking apart -------------------------------------------------------- */

/* A part of an IPv4 address as old resolvers read it: 0x is hexadecimal, 0
 * octal. False if it is no number. */
static bool
parse_part(const char *text, size_t len, uint64_t *out)
{
	unsigned int base = 10;
	uint64_t v = 0;

	if (len >= 2 && text[0] == '0' &&
	    tolower((unsigned char)text[1]) == 'x') {
		base = 16;
		text += 2;
		len -= 2;
	} else if (len >= 2 && text[0] == '0') {
		base = 8;
	} else if (len == 0) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		int c = tolower((unsigned char)text[i]);
		unsigned int digit = isdigit(c) ? (unsigned int)(c - '0')
				     : c >= 'a' && c <= 'f'
					 ? (unsigned int)(c - 'a') + 10
					 : 99;

		if (digit >= base)
			return false;
		if (v <= UINT32_MAX)
			v = v * base + digit;
	}
	*out = v;
	return true;
}

/* Whether the last part of host is a number, or looks like one: then host is
 * an IPv4 address or nothing. */
static bool
ends_in_number(const char *host)
{
	const char *last = strrchr(host, '.');
	uint64_t v;

	last = last == NULL ? host : last + 1;
	return parse_part(last, strlen(last), &v) ||
	       (last[0] != '\0' && strspn(last, "0123456789") == strlen(last));
}

static bool
parse_ipv4(const char *host, struct http_address *out)
{
	uint64_t parts[4], value = 0;
	size_t count = 0;

	for (const char *at = host;; at++) {
		size_t len = strcspn(at, ".");

		if (count == 4 || !parse_part(at, len, &parts[count]))
			return false;
		count++;
		at += len;
		if (*at == '\0')
			break;
	}
	for (size_t i = 0; i + 1 < count; i++) {
		if (parts[i] > 255)
			return false;
		value |= parts[i] << (24 - 8 * i);
	}
	/* The last part fills all the bytes that are left. */
	if (parts[count - 1] >= UINT64_C(1) << (8 * (5 - count)))
		return false;
	value |= parts[count - 1];
	for (size_t i = 0; i < 4; i++)
		out->bytes[i] = (uint8_t)(value >> (24 - 8 * i));
	out->len = 4;
	return true;
}

static bool
parse_ipv6(const char *host, struct http_address *out)
{
	char copy[INET6_ADDRSTRLEN];
	size_t len = strlen(host);

	if (host[0] == '[' && len > 2 && host[len - 1] == ']') {
		host++;
		len -= 2;
	}
	if (len >= sizeof copy)
		return false;
	memcpy(copy, host, len);
	copy[len] = '\0';
	out->len = 16;
	return inet_pton(AF_INET6, copy, out->bytes) == 1;
}

static bool
is_name(const char *host)
{
	for (const char *at = host; *at != '\0'; at++) {
		if (!isalnum((unsigned char)*at) && strchr("-_.", *at) == NULL)
			return false;
		if (*at == '.' && (at == host || at[1] == '.' || at[1] == '\0'))
			return false;
	}
	return host[0] != '\0';
}

void
target_text(const struct http_address *a, char out[TARGET_TEXT_MAX])
{
	int family = a->len == 4 ? AF_INET : AF_INET6;

	if (inet_ntop(family, a->bytes, out, TARGET_TEXT_MAX) == NULL)
		out[0] = '\0';
}

int
target_parse(const char *host, uint16_t port, struct target *out)
{
	struct target t = {.port = port};
	size_t len = strlen(host);

	if (len > 0 && host[len - 1] == '.')
		len--;
	if (len >= sizeof t.host)
		return -E2BIG;
	for (size_t i = 0; i < len; i++)
		t.host[i] = (char)tolower((unsigned char)host[i]);
	if (strchr(t.host, ':') != NULL)
		t.literal = parse_ipv6(t.host, &t.address);
	else if (ends_in_number(t.host))
		t.literal = parse_ipv4(t.host, &t.address);
	else if (is_name(t.host)) {
		*out = t;
		return 0;
	}
	if (!t.literal)
		return -EINVAL;
	target_text(&t.address, t.host);
	*out = t;
	return 0;
}

/* --- judging ------------------------------------------------------------- */

static bool
is_local_name(const char *host)
{
	size_t len = strlen(host);

	for (size_t i = 0; i < sizeof local_names / sizeof local_names[0];
	     i++) {
		const char *name = local_names[i];
		size_t n = strlen(name);

		if (strcmp(host, name) == 0 ||
		    (name[0] == '.' &&
			(strcmp(host, name + 1) == 0 ||
			    (len > n && strcmp(host + len - n, name) == 0))))
			return true;
	}
	return false;
}

static bool
in_range(const struct range *r, const struct http_address *a)
{
	unsigned int whole = r->prefix / 8u, rest = r->prefix % 8u;

	if (memcmp(r->bytes, a->bytes, whole) != 0)
		return false;
	return rest == 0 ||
	       (r->bytes[whole] ^ a->bytes[whole]) >> (8 - rest) == 0;
}

/* What is special about a; NULL if nothing is. */
static const struct range *
range_of(const struct http_address *a)
{
	bool four = a->len == 4;
	const struct range *table = four ? ranges4 : ranges6;
	size_t count = four ? sizeof ranges4 / sizeof ranges4[0]
			    : sizeof ranges6 / sizeof ranges6[0];
	static const uint8_t isatap_id[] = {0, 0x5e, 0xfe};

	for (size_t i = 0; i < count; i++)
		if (in_range(&table[i], a))
			return &table[i];
	if (four)
		return NULL;
	if (!in_range(&global6, a))
		return &other6;
	/* The first byte of the interface says whether it is unique. */
	if ((a->bytes[8] & ~2) == 0 &&
	    memcmp(a->bytes + 9, isatap_id, sizeof isatap_id) == 0)
		return &isatap;
	return NULL;
}

static bool
names(const struct http_rule *rules, size_t count, const struct target *t)
{
	for (size_t i = 0; i < count; i++)
		if (http_rule_names(&rules[i], t->host, t->port))
			return true;
	return false;
}

static bool
holds(const struct http_rule *rules, size_t count, const struct http_address *a,
    uint16_t port)
{
	for (size_t i = 0; i < count; i++)
		if (http_rule_holds(&rules[i], a, port))
			return true;
	return false;
}

static bool
refuse(struct refusal *why, const char *what, const char *key)
{
	*why = (struct refusal){.what = what, .key = key};
	return false;
}

static bool
is_port_allowed(const struct guard *g, uint16_t port)
{
	for (size_t i = 0; i < g->port_count; i++)
		if (g->ports[i] == port)
			return true;
	return g->port_count == 0;
}

bool
target_judge(const struct guard *g, const struct target *t, struct refusal *why)
{
	if (!is_port_allowed(g, t->port))
		return refuse(why, "port", "http.ports");
	if (!t->literal && names(g->deny, g->deny_count, t))
		return refuse(why, "denied name", "http.deny");
	if (t->literal)
		return target_judge_address(g, t, &t->address, why);
	if (g->allow_private || !is_local_name(t->host) ||
	    names(g->allow, g->allow_count, t))
		return true;
	return refuse(why, "local name", "http.allow or http.allow_private");
}

bool
target_judge_unresolved(const struct guard *g, const struct target *t,
    struct refusal *why)
{
	if (g->allow_public || names(g->allow, g->allow_count, t))
		return true;
	return refuse(why, "name that is not listed",
	    "http.allow or http.allow_public");
}

bool
target_judge_address(const struct guard *g, const struct target *t,
    const struct http_address *a, struct refusal *why)
{
	const struct range *range = range_of(a);
	bool named = !t->literal && names(g->allow, g->allow_count, t);

	if (holds(g->deny, g->deny_count, a, t->port))
		return refuse(why, "denied address", "http.deny");
	if (holds(g->allow, g->allow_count, a, t->port))
		return true;
	if (range == NULL) {
		if (g->allow_public || named)
			return true;
		return refuse(why, "address that is not listed",
		    "http.allow or http.allow_public");
	}
	if (range->lift == LIFT_PRIVATE && (g->allow_private || named))
		return true;
	if (range->lift == LIFT_NAME && named)
		return true;
	return refuse(why, range->what,
	    range->lift == LIFT_PRIVATE ? "http.allow or http.allow_private"
					: "http.allow");
}
