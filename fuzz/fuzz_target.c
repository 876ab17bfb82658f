/*
 * Reaches target_parse, target_judge, target_judge_address,
 * target_judge_unresolved, http_rule_parse and the other parsers of [http]. The
 * input is a line of a port and flags, a host, and then rules: one that begins
 * with '+' allows, one with '-' denies; '=' begins an endpoint or a proxy.
 *
 * Asserts that a literal address is what the C library reads in the same text,
 * that its text means it again, that what is denied is refused, and that no
 * address of this machine, its networks or a cloud's metadata is allowed
 * unless something says so.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "privsep/target.h"

#define RULES_MAX 16

struct rules {
	struct http_rule rule[RULES_MAX];
	size_t count;
};

static void
check_literal(const char *host, const struct target *t)
{
	struct target again;
	struct in6_addr six;
	struct in_addr four;

	if (t->address.len == 4) {
		size_t len = strlen(host);
		scoped_free char *copy = strdup(host);

		assert(copy != NULL);
		if (len > 0 && copy[len - 1] == '.')
			copy[len - 1] = '\0';
		/* It takes no "0x" for 0. */
		if (inet_aton(copy, &four) == 1)
			assert(memcmp(&four, t->address.bytes, 4) == 0);
		else
			assert(strpbrk(copy, "xX") != NULL);
	} else {
		assert(inet_pton(AF_INET6, t->host, &six) == 1);
		assert(memcmp(&six, t->address.bytes, 16) == 0);
	}
	assert(target_parse(t->host, t->port, &again) == 0);
	assert(again.literal && again.address.len == t->address.len);
	assert(
	    memcmp(again.address.bytes, t->address.bytes, t->address.len) == 0);
	assert(strcmp(again.host, t->host) == 0);
}

/* What must not be reached without a word. */
static bool
is_special(const struct http_address *a)
{
	const uint8_t *b = a->bytes;

	if (a->len == 4)
		return b[0] == 0 || b[0] == 10 || b[0] == 127 || b[0] >= 224 ||
		       (b[0] == 100 && b[1] >> 6 == 1) ||
		       (b[0] == 169 && b[1] == 254) ||
		       (b[0] == 172 && b[1] >> 4 == 1) ||
		       (b[0] == 192 && b[1] == 168) ||
		       (b[0] == 168 && b[1] == 63 && b[2] == 129 && b[3] == 16);
	/* Anything but global unicast, and what holds an IPv4 address. */
	return b[0] >> 5 != 1 || (b[0] == 0x20 && b[1] == 2) ||
	       (b[0] == 0x20 && b[1] == 1 && b[2] == 0 && b[3] == 0);
}

static bool
is_named(const struct rules *r, const struct target *t)
{
	for (size_t i = 0; i < r->count; i++)
		if (http_rule_names(&r->rule[i], t->host, t->port))
			return true;
	return false;
}

static bool
is_held(const struct rules *r, const struct http_address *a, uint16_t port)
{
	for (size_t i = 0; i < r->count; i++)
		if (http_rule_holds(&r->rule[i], a, port))
			return true;
	return false;
}

static void
check_address(const struct guard *g, const struct rules *allow,
    const struct rules *deny, const struct target *t,
    const struct http_address *a)
{
	struct refusal why = {0};
	bool listed =
	    is_held(allow, a, t->port) || (!t->literal && is_named(allow, t));

	if (!target_judge_address(g, t, a, &why)) {
		assert(why.what != NULL && why.key != NULL);
		return;
	}
	assert(!is_held(deny, a, t->port));
	assert(!is_special(a) || g->allow_private || listed);
	assert(g->allow_public || is_special(a) || listed || g->allow_private);
}

static void
judge(const struct guard *g, const struct rules *allow,
    const struct rules *deny, const struct target *t)
{
	static const struct http_address any[] = {{.bytes = {127, 0, 0, 1},
						      .len = 4},
	    {.bytes = {10, 1, 2, 3}, .len = 4},
	    {.bytes = {169, 254, 169, 254}, .len = 4},
	    {.bytes = {93, 184, 216, 34}, .len = 4},
	    {.bytes = {[15] = 1}, .len = 16},
	    {.bytes = {[10] = 0xff, 0xff, 127, 0, 0, 1}, .len = 16},
	    {.bytes = {0x26, 0x06, [15] = 1}, .len = 16}};
	struct refusal why = {0};

	if (!target_judge(g, t, &why)) {
		assert(why.what != NULL && why.key != NULL);
		return;
	}
	assert(t->literal || !is_named(deny, t));
	if (t->literal) {
		check_address(g, allow, deny, t, &t->address);
		return;
	}
	for (size_t i = 0; i < sizeof any / sizeof any[0]; i++)
		check_address(g, allow, deny, t, &any[i]);
	if (target_judge_unresolved(g, t, &why))
		assert(g->allow_public || is_named(allow, t));
}

static void
take_rule(struct bytes line, struct rules *allow, struct rules *deny)
{
	struct bytes text = {.data = line.data + 1, .len = line.len - 1};
	struct rules *rules = line.data[0] == '+' ? allow : deny;
	struct http_endpoint endpoint;
	struct err e = {0};
	int r;

	if (line.data[0] == '=') {
		r = http_endpoint_parse(text, &endpoint, &e);
		assert(r == 0 ? endpoint.port != 0 : e.text[0] != '\0');
		if (http_proxy_parse(text, &endpoint, &e) == 0)
			assert(endpoint.port != 0);
		return;
	}
	if (rules->count == RULES_MAX)
		return;
	r = http_rule_parse(text, &rules->rule[rules->count], &e);
	assert(r == 0 || (r == -EINVAL && e.text[0] != '\0'));
	rules->count += r == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rules allow = {.count = 0}, deny = {.count = 0};
	scoped_free char *host = NULL;
	struct bytes head;
	struct target t;
	struct guard g;
	uint16_t ports[] = {443, 80};
	struct reader r;

	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	head = fuzz_until(&r, '\n');
	host = bytes_dup(fuzz_until(&r, '\n'));
	assert(host != NULL);
	while (r.left > 0) {
		struct bytes line = fuzz_until(&r, '\n');

		if (line.len > 0)
			take_rule(line, &allow, &deny);
	}
	g = (struct guard){.allow_private = head.len > 0 && (head.data[0] & 1),
	    .allow_public = head.len > 0 && (head.data[0] & 2),
	    .allow = allow.rule,
	    .allow_count = allow.count,
	    .deny = deny.rule,
	    .deny_count = deny.count,
	    .ports = ports,
	    .port_count = head.len > 0 && (head.data[0] & 4) ? 2 : 0};
	if (target_parse(host, head.len > 1 ? 443 : 8443, &t) < 0)
		return 0;
	assert(t.host[0] != '\0' && t.host[strlen(t.host) - 1] != '.');
	if (t.literal)
		check_literal(host, &t);
	judge(&g, &allow, &deny, &t);
	return 0;
}
