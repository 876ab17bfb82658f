#include "privsep/target.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

#define PORT 8080

/* --- taking apart -------------------------------------------------------- */

/* What a host is written like, and what it becomes; NULL: it is no host. */
static const struct {
	const char *text, *host;
	bool literal;
} hosts[] = {
    {"example.com", "example.com", false},
    {"EXAMPLE.com.", "example.com", false},
    {"a_b-c.d", "a_b-c.d", false},
    {"xn--bcher-kva.example", "xn--bcher-kva.example", false},
    {"1e100.net", "1e100.net", false},
    {"127.0.0.1", "127.0.0.1", true},
    {"127.0.0.1.", "127.0.0.1", true},
    {"127.1", "127.0.0.1", true},
    {"127.0.1", "127.0.0.1", true},
    {"2130706433", "127.0.0.1", true},
    {"0x7f000001", "127.0.0.1", true},
    {"0X7F.1", "127.0.0.1", true},
    {"0x7f.0x0.0x0.0x1", "127.0.0.1", true},
    {"017700000001", "127.0.0.1", true},
    {"0177.0.0.01", "127.0.0.1", true},
    {"0177.1", "127.0.0.1", true},
    {"0", "0.0.0.0", true},
    {"0x", "0.0.0.0", true},
    {"4294967295", "255.255.255.255", true},
    {"192.168.257", "192.168.1.1", true},
    {"::1", "::1", true},
    {"[::1]", "::1", true},
    {"[0:0:0:0:0:0:0:1]", "::1", true},
    {"[::FFFF:127.0.0.1]", "::ffff:127.0.0.1", true},
    {"", NULL, false},
    {".", NULL, false},
    {"..", NULL, false},
    {"a..b", NULL, false},
    {"example.com..", NULL, false},
    {"127.0.0.1..", NULL, false},
    {".a", NULL, false},
    {"4294967296", NULL, false},
    {"256.1.1.1", NULL, false},
    {"1.2.3.4.5", NULL, false},
    {"1.2.3.256", NULL, false},
    {"1.2.3.08", NULL, false},
    {"a.1", NULL, false},
    {"a.0x1", NULL, false},
    {"99999999999999999999", NULL, false},
    {"0x1ffffffff", NULL, false},
    {"127.0.0.1 ", NULL, false},
    {"a b", NULL, false},
    {"a%2eb", NULL, false},
    {"\xef\xbc\x91", NULL, false},
    {"[::1", NULL, false},
    {"[fe80::1%25lo]", NULL, false},
    {":::1", NULL, false},
};

static void
target_parse_gives_one_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(hosts); i++) {
		struct target t = {.host = "untouched"};
		int r = target_parse(hosts[i].text, PORT, &t);

		if (hosts[i].host == NULL) {
			if (r != -EINVAL || strcmp(t.host, "untouched") != 0)
				fail_msg("\"%s\": %d", hosts[i].text, r);
			continue;
		}
		if (r != 0 || strcmp(t.host, hosts[i].host) != 0 ||
		    t.literal != hosts[i].literal || t.port != PORT)
			fail_msg("\"%s\": %d \"%s\"", hosts[i].text, r, t.host);
	}
}

static void
target_parse_refuses_what_is_too_long(void **state)
{
	char host[HTTP_NAME_MAX + 1];
	struct target t;

	(void)state;
	memset(host, 'a', sizeof host);
	host[HTTP_NAME_MAX] = '\0';
	assert_int_equal(target_parse(host, PORT, &t), -E2BIG);
	host[HTTP_NAME_MAX - 1] = '\0';
	assert_int_equal(target_parse(host, PORT, &t), 0);
}

/* --- judging without a policy -------------------------------------------- */

/* What is refused, and whether allow_private would lift that. */
static const struct {
	const char *host;
	const char *what; /* NULL: it may be reached */
	bool lifted;
} guarded[] = {
    {"8.8.8.8", NULL, false},
    {"1.1.1.1", NULL, false},
    {"93.184.216.34", NULL, false},
    {"9.255.255.255", NULL, false},
    {"11.0.0.0", NULL, false},
    {"100.63.255.255", NULL, false},
    {"100.128.0.0", NULL, false},
    {"126.255.255.255", NULL, false},
    {"128.0.0.0", NULL, false},
    {"169.253.255.255", NULL, false},
    {"169.255.0.0", NULL, false},
    {"172.15.255.255", NULL, false},
    {"172.32.0.0", NULL, false},
    {"192.167.255.255", NULL, false},
    {"192.169.0.0", NULL, false},
    {"198.17.255.255", NULL, false},
    {"198.20.0.0", NULL, false},
    {"223.255.255.255", NULL, false},
    {"2606:4700:4700::1111", NULL, false},
    {"2a00:1450:4001:81b::200e", NULL, false},
    {"example.com", NULL, false},
    {"localhost.example.com", NULL, false},
    {"local", "local name", true},
    {"internal", "local name", true},
    {"notlocalhost", NULL, false},
    {"localhost", "local name", true},
    {"LOCALHOST.", "local name", true},
    {"a.localhost", "local name", true},
    {"a.b.localhost.", "local name", true},
    {"printer.local", "local name", true},
    {"metadata.google.internal", "local name", true},
    {"localhost.localdomain", "local name", true},
    {"ip6-localhost", "local name", true},
    {"router.home.arpa", "local name", true},
    {"127.0.0.1", "loopback address", true},
    {"127.255.255.254", "loopback address", true},
    {"2130706433", "loopback address", true},
    {"0x7f.1", "loopback address", true},
    {"0177.0.0.1", "loopback address", true},
    {"127.1", "loopback address", true},
    {"::1", "loopback address", true},
    {"10.0.0.0", "private address", true},
    {"10.255.255.255", "private address", true},
    {"0xa.1", "private address", true},
    {"172.16.0.0", "private address", true},
    {"172.31.255.255", "private address", true},
    {"192.168.0.0", "private address", true},
    {"192.168.255.255", "private address", true},
    {"100.64.0.0", "carrier NAT address", true},
    {"100.127.255.255", "carrier NAT address", true},
    {"169.254.0.1", "link-local address", true},
    {"169.254.255.255", "link-local address", true},
    {"fe80::1", "link-local address", true},
    {"febf::1", "link-local address", true},
    {"fec0::1", "site-local address", true},
    {"fc00::1", "unique local address", true},
    {"fdff::1", "unique local address", true},
    {"169.254.169.254", "cloud metadata address", false},
    {"0xa9fea9fe", "cloud metadata address", false},
    {"2852039166", "cloud metadata address", false},
    {"169.254.170.2", "cloud metadata address", false},
    {"100.100.100.200", "cloud metadata address", false},
    {"168.63.129.16", "cloud metadata address", false},
    {"192.0.0.192", "cloud metadata address", false},
    {"fd00:ec2::254", "cloud metadata address", false},
    {"fd20:ce::254", "cloud metadata address", false},
    {"0.0.0.0", "unspecified address", false},
    {"0", "unspecified address", false},
    {"0.1.2.3", "unspecified address", false},
    {"::", "unspecified address", false},
    {"192.0.0.1", "reserved address", false},
    {"240.0.0.1", "reserved address", false},
    {"254.1.1.1", "reserved address", false},
    {"4000::1", "reserved address", false},
    {"fe00::1", "reserved address", false},
    {"255.255.255.255", "broadcast address", false},
    {"192.0.2.1", "documentation address", false},
    {"198.51.100.1", "documentation address", false},
    {"203.0.113.1", "documentation address", false},
    {"2001:db8::1", "documentation address", false},
    {"3fff::1", "documentation address", false},
    {"198.18.0.0", "benchmark address", false},
    {"198.19.255.255", "benchmark address", false},
    {"2001:2::1", "benchmark address", false},
    {"192.88.99.1", "6to4 address", false},
    {"2002:7f00:1::", "6to4 address", false},
    {"2002:808:808::1", "6to4 address", false},
    {"224.0.0.1", "multicast address", false},
    {"239.255.255.250", "multicast address", false},
    {"ff02::1", "multicast address", false},
    {"::ffff:127.0.0.1", "IPv4-mapped address", false},
    {"::ffff:7f00:1", "IPv4-mapped address", false},
    {"::ffff:8.8.8.8", "IPv4-mapped address", false},
    {"::127.0.0.1", "IPv4-compatible address", false},
    {"::2", "IPv4-compatible address", false},
    {"::ffff:0:127.0.0.1", "IPv4-translated address", false},
    {"64:ff9b::7f00:1", "NAT64 address", false},
    {"64:ff9b:1::a00:1", "NAT64 address", false},
    {"100::1", "discard address", false},
    {"2001::1", "Teredo address", false},
    {"2001:10::1", "reserved address", false},
    {"2600::5efe:7f00:1", "ISATAP address", false},
    {"2600::200:5efe:a00:1", "ISATAP address", false},
    {"fe80::5efe:127.0.0.1", "link-local address", true},
};

static bool
judge(const struct guard *g, const char *host, uint16_t port,
    struct refusal *why)
{
	struct target t;

	*why = (struct refusal){.what = "", .key = ""};
	assert_int_equal(target_parse(host, port, &t), 0);
	return target_judge(g, &t, why);
}

static void
the_guard_refuses_what_is_special(void **state)
{
	const struct guard g = {.allow_public = true};
	struct refusal why;

	(void)state;
	for (size_t i = 0; i < COUNT(guarded); i++) {
		const char *what = guarded[i].what;
		bool may = judge(&g, guarded[i].host, PORT, &why);

		if (may != (what == NULL) ||
		    (!may && strcmp(why.what, what) != 0))
			fail_msg("%s: %s", guarded[i].host, why.what);
		if (!may && strstr(why.key, "http.allow") == NULL)
			fail_msg("%s: key %s", guarded[i].host, why.key);
	}
}

static void
allow_private_lifts_what_is_private_alone(void **state)
{
	const struct guard g = {.allow_public = true, .allow_private = true};
	struct refusal why;

	(void)state;
	for (size_t i = 0; i < COUNT(guarded); i++) {
		bool want = guarded[i].what == NULL || guarded[i].lifted;

		if (judge(&g, guarded[i].host, PORT, &why) != want)
			fail_msg("%s: %s", guarded[i].host, why.what);
	}
}

static void
a_name_is_judged_by_its_addresses_as_well(void **state)
{
	const struct guard g = {.allow_public = true};
	struct target name, address;
	struct refusal why;

	(void)state;
	assert_int_equal(target_parse("rebind.example", PORT, &name), 0);
	for (size_t i = 0; i < COUNT(guarded); i++) {
		assert_int_equal(target_parse(guarded[i].host, PORT, &address),
		    0);
		if (address.literal &&
		    target_judge_address(&g, &name, &address.address, &why) !=
			(guarded[i].what == NULL))
			fail_msg("%s", guarded[i].host);
	}
}

/* --- judging with lists -------------------------------------------------- */

/* One rule of http.allow and of http.deny, a target, and for a name what it
 * resolves to. */
static const struct {
	const char *allow, *deny, *host;
	uint16_t port;
	const char *address;
	bool may;
} listed[] = {
    {"127.0.0.1:80", NULL, "127.0.0.1", 80, NULL, true},
    {"127.0.0.1:80", NULL, "127.0.0.1", 81, NULL, false},
    {"127.0.0.1:80", NULL, "127.0.0.2", 80, NULL, false},
    {"127.0.0.0/8", NULL, "127.1.2.3", 1, NULL, true},
    {"127.0.0.1", NULL, "::ffff:127.0.0.1", 80, NULL, false},
    {"[::1]:80", NULL, "::1", 80, NULL, true},
    {"::1", NULL, "::1", 9, NULL, true},
    {"fd00::/8", NULL, "fd12::1", 80, NULL, true},
    {"fd00::/8", NULL, "fd00:ec2::254", 80, NULL, true},
    {"169.254.169.254", NULL, "169.254.169.254", 80, NULL, true},
    {"mcp.example", NULL, "mcp.example", 80, "10.0.0.1", true},
    {"MCP.example:80", NULL, "mcp.EXAMPLE.", 80, "10.0.0.1", true},
    {"mcp.example:80", NULL, "mcp.example", 81, "10.0.0.1", false},
    {"mcp.example", NULL, "mcp.example", 80, "169.254.169.254", false},
    {"mcp.example", NULL, "mcp.example", 80, "::ffff:10.0.0.1", false},
    {"mcp.example", NULL, "a.mcp.example", 80, "10.0.0.1", false},
    {"*.example", NULL, "a.b.example", 80, "10.0.0.1", true},
    {"*.example", NULL, "example", 80, "10.0.0.1", false},
    {"*.example", NULL, "badexample", 80, "10.0.0.1", false},
    {"localhost", NULL, "localhost", 80, "127.0.0.1", true},
    {"127.0.0.1", NULL, "localhost", 80, "127.0.0.1", false},
    {"10.0.0.0/8", NULL, "mcp.example", 80, "10.1.1.1", true},
    {"10.0.0.0/8", "10.1.0.0/16", "10.1.1.1", 80, NULL, false},
    {"10.0.0.0/8", "10.1.0.0/16", "10.2.1.1", 80, NULL, true},
    {NULL, "8.8.8.8", "8.8.8.8", 80, NULL, false},
    {NULL, "8.8.8.8:80", "8.8.8.8", 81, NULL, true},
    {NULL, "0.0.0.0/0", "8.8.8.8", 80, NULL, false},
    {NULL, "example.com", "example.com", 80, "8.8.8.8", false},
    {NULL, "*.example.com", "a.example.com", 80, "8.8.8.8", false},
    {"example.com", "8.8.0.0/16", "example.com", 80, "8.8.8.8", false},
};

static void
take_rule(const char *text, struct http_rule *rule, size_t *count)
{
	struct err e = {0};

	*count = text != NULL;
	if (text != NULL && http_rule_parse(bytes_of(text), rule, &e) < 0)
		fail_msg("%s: %s", text, e.text);
}

static void
lists_decide_where_they_name_a_target(void **state)
{
	struct http_rule allow, deny;
	struct guard g = {.allow_public = true, .allow = &allow, .deny = &deny};
	struct refusal why;

	(void)state;
	for (size_t i = 0; i < COUNT(listed); i++) {
		struct target t, a;
		bool may;

		take_rule(listed[i].allow, &allow, &g.allow_count);
		take_rule(listed[i].deny, &deny, &g.deny_count);
		assert_int_equal(target_parse(listed[i].host, listed[i].port,
				     &t),
		    0);
		may = target_judge(&g, &t, &why);
		if (may && listed[i].address != NULL) {
			assert_int_equal(target_parse(listed[i].address, 1, &a),
			    0);
			may = target_judge_address(&g, &t, &a.address, &why);
		}
		if (may != listed[i].may)
			fail_msg("row %zu: %s", i, listed[i].host);
	}
}

static void
without_allow_public_only_the_list_counts(void **state)
{
	struct http_rule rules[2];
	const struct guard g = {.allow = rules, .allow_count = 2};
	struct target name;
	struct refusal why;

	(void)state;
	assert_int_equal(http_rule_parse(bytes_of("8.8.8.8"), &rules[0], NULL),
	    0);
	assert_int_equal(http_rule_parse(bytes_of("a.example"), &rules[1],
			     NULL),
	    0);
	assert_true(judge(&g, "8.8.8.8", PORT, &why));
	assert_false(judge(&g, "8.8.4.4", PORT, &why));
	assert_string_equal(why.key, "http.allow or http.allow_public");
	assert_int_equal(target_parse("a.example", PORT, &name), 0);
	assert_true(target_judge_unresolved(&g, &name, &why));
	assert_int_equal(target_parse("b.example", PORT, &name), 0);
	assert_false(target_judge_unresolved(&g, &name, &why));
}

static void
ports_are_refused_before_anything_else(void **state)
{
	static const uint16_t ports[] = {443, 8443};
	const struct guard g = {.allow_public = true,
	    .ports = ports,
	    .port_count = 2};
	struct refusal why;

	(void)state;
	assert_true(judge(&g, "8.8.8.8", 8443, &why));
	assert_false(judge(&g, "8.8.8.8", 80, &why));
	assert_string_equal(why.key, "http.ports");
}

/* --- rules --------------------------------------------------------------- */

static void
http_rule_parse_refuses_what_is_no_rule(void **state)
{
	static const char *const rows[] = {"", "*", "*.", ".", "a.", ".a",
	    "a b", "a:0", "a:65536", "a:", "a:b", "10.1", "10.0.0.0/33",
	    "10.0.0.0/", "10.0.0.0/8:80", "10.0.0.0:80/8", "::1/129", "[::1",
	    "[::1]:", "[::1]x", "example.com/8", "http://a", "a/b", "a@b",
	    "*.*.a", "\xc3\xbc.example"};
	struct http_rule rule;
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (http_rule_parse(bytes_of(rows[i]), &rule, &e) != -EINVAL)
			fail_msg("\"%s\" is taken", rows[i]);
}

static void
http_policy_survives_packing(void **state)
{
	static const uint8_t rule[] = {3, 0, 0, 0, 'a', '.', 'b'};
	static const uint8_t bad[] = {1, 0, 0, 0, '*'};
	struct http_policy p = {.allow_private = true,
	    .allow = {.data = rule, .len = sizeof rule},
	    .resolver = bytes_of("127.0.0.1:53"),
	    .proxy = bytes_of("http://[::1]:3128"),
	    .max_body = 5,
	    .max_concurrent = 6,
	    .max_redirects = 7};
	struct http_policy got = {.max_body = 1};
	struct buf packed;

	(void)state;
	buf_init(&packed, 4096);
	assert_int_equal(http_policy_pack(&p, &packed), 0);
	assert_int_equal(http_policy_unpack((struct bytes){packed.data,
						packed.len},
			     &got, NULL),
	    0);
	assert_true(got.allow_private);
	assert_false(got.allow_public);
	assert_int_equal(got.allow.len, sizeof rule);
	assert_int_equal(got.max_redirects, 7);
	for (size_t len = 0; len < packed.len; len++)
		assert_int_equal(http_policy_unpack((struct bytes){packed.data,
							len},
				     &got, NULL),
		    -EPROTO);
	buf_clear(&packed);
	p.deny = (struct bytes){.data = bad, .len = sizeof bad};
	assert_int_equal(http_policy_pack(&p, &packed), 0);
	assert_int_equal(http_policy_unpack((struct bytes){packed.data,
						packed.len},
			     &got, NULL),
	    -EPROTO);
	buf_done(&packed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(target_parse_gives_one_form),
	    cmocka_unit_test(target_parse_refuses_what_is_too_long),
	    cmocka_unit_test(the_guard_refuses_what_is_special),
	    cmocka_unit_test(allow_private_lifts_what_is_private_alone),
	    cmocka_unit_test(a_name_is_judged_by_its_addresses_as_well),
	    cmocka_unit_test(lists_decide_where_they_name_a_target),
	    cmocka_unit_test(without_allow_public_only_the_list_counts),
	    cmocka_unit_test(ports_are_refused_before_anything_else),
	    cmocka_unit_test(http_rule_parse_refuses_what_is_no_rule),
	    cmocka_unit_test(http_policy_survives_packing),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
