#include "http/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "privsep/pack.h"

/* The rules of a list that http_policy_unpack has checked. */
static int
take_rules(struct bytes list, const struct http_rule **out, size_t *count)
{
	struct http_rule *rules;
	struct reader r;
	struct bytes s;
	size_t n;

	if (!strings_check(list, HTTP_RULES_MAX, HTTP_RULE_MAX, &n))
		return -EPROTO;
	rules = calloc(n + 1, sizeof *rules);
	if (rules == NULL)
		return -ENOMEM;
	*out = rules;
	*count = n;
	reader_init(&r, list.data, list.len);
	for (size_t i = 0; strings_next(&r, &s); i++)
		if (http_rule_parse(s, &rules[i], NULL) < 0)
			return -EPROTO;
	return 0;
}

static int
take_ports(struct bytes list, struct guard *g)
{
	uint16_t *ports;
	struct reader r;
	struct bytes s;
	size_t n;

	if (!strings_check(list, HTTP_RULES_MAX, 5, &n))
		return -EPROTO;
	ports = calloc(n + 1, sizeof *ports);
	if (ports == NULL)
		return -ENOMEM;
	g->ports = ports;
	g->port_count = n;
	reader_init(&r, list.data, list.len);
	for (size_t i = 0; strings_next(&r, &s); i++) {
		char text[6] = "";
		uint64_t v;

		memcpy(text, s.data, s.len);
		if (num_parse_u64(text, 1, UINT16_MAX, &v) < 0)
			return -EPROTO;
		ports[i] = (uint16_t)v;
	}
	return 0;
}

static int
take_proxy(struct config *c)
{
	struct bytes text = c->policy.proxy;

	if (text.len == 0)
		return 0;
	if (text.len >= sizeof c->proxy_text ||
	    http_proxy_parse(text, &c->proxy, NULL) < 0)
		return -EPROTO;
	c->has_proxy = true;
	memcpy(c->proxy_text, text.data, text.len);
	return 0;
}

int
config_take(struct config *c, const struct msg_http_config *m, struct err *e)
{
	struct guard *g = &c->guard;
	struct bytes packed = m->policy;
	int r;

	*c = (struct config){.uid = m->uid,
	    .gid = m->gid,
	    .log_level = m->log_level,
	    .bare = m->bare != 0};
	c->packed = malloc(packed.len + 1);
	if (c->packed == NULL)
		return err_set(e, ENOMEM, "config");
	memcpy(c->packed, packed.data, packed.len);
	packed.data = c->packed;
	r = http_policy_unpack(packed, &c->policy, e);
	if (r < 0)
		return r;
	g->allow_private = c->policy.allow_private;
	g->allow_public = c->policy.allow_public;
	r = take_rules(c->policy.allow, &g->allow, &g->allow_count);
	if (r == 0)
		r = take_rules(c->policy.deny, &g->deny, &g->deny_count);
	if (r == 0)
		r = take_ports(c->policy.ports, g);
	if (r == 0)
		r = take_proxy(c);
	return r < 0 ? err_errno(e, -r, "config") : 0;
}

static void
free_const(const void *p)
{
	free((void *)(uintptr_t)p);
}

void
config_done(struct config *c)
{
	free(c->packed);
	free_const(c->guard.allow);
	free_const(c->guard.deny);
	free_const(c->guard.ports);
	*c = (struct config){0};
}

struct bytes
config_variable(const struct config *c, struct bytes name)
{
	struct bytes key, value;
	struct reader r;

	reader_init(&r, c->policy.env.data, c->policy.env.len);
	while (strings_next(&r, &key) && strings_next(&r, &value))
		if (bytes_equal(key, name))
			return value;
	return (struct bytes){0};
}
