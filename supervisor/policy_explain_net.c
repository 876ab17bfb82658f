/*
 * Two ways lead to a host: the network of commands, and http/request, whose
 * guard is asked by the very functions that sallyport-http asks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "privsep/target.h"
#include "supervisor/policy_explain.h"

static const char by_command[] = "commands ";
static const char by_http[] = "http/request ";

/* --- commands ------------------------------------------------------------- */

static bool
is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 ||
	       strncmp(host, "127.", 4) == 0 || strcmp(host, "[::1]") == 0;
}

static int
explain_command(const struct config *c, const char *host, const char *target)
{
	bool enabled = c->network == NETWORK_ENABLED;
	const char *own = "what is reached is the session's own loopback, not "
			  "the host's";
	const struct policy_reason reason = {.config = c,
	    .key = KEY_NETWORK,
	    .label = "network",
	    .value = enabled ? "enabled" : "restricted",
	    .more = !enabled && is_loopback(host) ? own : NULL};

	return policy_explain_key(by_command, enabled || is_loopback(host),
	    target, &reason);
}

/* --- the guard ------------------------------------------------------------ */

/* A guard that borrows nothing. */
struct rules {
	struct http_rule *allow, *deny; /* owned */
	uint16_t *ports;		/* owned */
	struct guard guard;
};

static int
parse_rules(const struct list *from, struct http_rule **out)
{
	*out = calloc(from->count + 1, sizeof **out);
	if (*out == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < from->count; i++) {
		int r =
		    http_rule_parse(bytes_of(from->items[i]), &(*out)[i], NULL);

		if (r < 0)
			return r;
	}
	return 0;
}

static int
rules_init(struct rules *r, const struct config_http *h)
{
	int result;
	uint64_t port;

	*r = (struct rules){0};
	result = parse_rules(&h->allow, &r->allow);
	if (result == 0)
		result = parse_rules(&h->deny, &r->deny);
	r->ports = calloc(h->ports.count + 1, sizeof *r->ports);
	if (r->ports == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < h->ports.count && result == 0; i++) {
		result = num_parse_u64(h->ports.items[i], 1, UINT16_MAX, &port);
		if (result == 0)
			r->ports[i] = (uint16_t)port;
	}
	r->guard = (struct guard){.allow_private = h->allow_private != 0,
	    .allow_public = h->allow_public != 0,
	    .allow = r->allow,
	    .deny = r->deny,
	    .allow_count = h->allow.count,
	    .deny_count = h->deny.count,
	    .ports = r->ports,
	    .port_count = h->ports.count};
	return result;
}

static void
rules_done(struct rules *r)
{
	free(r->allow);
	free(r->deny);
	free(r->ports);
}

static bool
is_about(const struct http_rule *rule, const struct target *t)
{
	return t->literal ? http_rule_holds(rule, &t->address, t->port)
			  : http_rule_names(rule, t->host, t->port);
}

/* The item of a list that is about t, or NULL. */
static const char *
find_item(const struct list *items, const struct http_rule *rules,
    const struct target *t)
{
	for (size_t i = 0; i < items->count; i++)
		if (is_about(&rules[i], t))
			return items->items[i];
	return NULL;
}

/* --- http/request --------------------------------------------------------- */

static int
refuse_special(const struct refusal *why, const char *what)
{
	scoped_buf text;

	buf_init(&text, EXPLAIN_LINE_MAX);
	if (buf_printf(&text, "built-in: %s; %s would let it pass", why->what,
		why->key) < 0)
		return policy_explain_fail("out of memory");
	return policy_explain_answer(by_http, false, what, &text);
}

static int
explain_refusal(const struct config *c, const struct rules *r,
    const struct target *t, const struct refusal *why, const char *what)
{
	const char *deny = find_item(&c->http.deny, r->deny, t);
	struct policy_reason reason = {.config = c,
	    .key = KEY_HTTP_ALLOW_PUBLIC,
	    .label = "http.allow_public",
	    .value = "false",
	    .more = why->what};

	if (strcmp(why->key, "http.ports") == 0) {
		reason.key = KEY_HTTP_PORTS;
		reason.label = "http.ports";
		reason.value = c->http.ports.items[0];
		reason.more = "the port is in no line of it";
	} else if (strcmp(why->key, "http.deny") == 0 && deny != NULL) {
		reason.key = KEY_HTTP_DENY;
		reason.item = reason.value = deny;
		reason.label = "http.deny";
		reason.more = NULL;
	} else if (strstr(why->key, "http.allow_public") == NULL) {
		return refuse_special(why, what);
	}
	return policy_explain_key(by_http, false, what, &reason);
}

/* What let it pass: a line of http.allow, or for what is special
 * http.allow_private, or for all else http.allow_public. */
static int
explain_pass(const struct config *c, const struct rules *r,
    const struct target *t, const char *what)
{
	const struct guard bare = {.allow_public = true};
	const char *allow = find_item(&c->http.allow, r->allow, t);
	struct refusal special;
	struct policy_reason reason = {.config = c,
	    .key = KEY_HTTP_ALLOW_PUBLIC,
	    .label = "http.allow_public",
	    .value = "true"};

	if (allow != NULL) {
		reason.key = KEY_HTTP_ALLOW;
		reason.item = reason.value = allow;
		reason.label = "http.allow";
	} else if (!target_judge(&bare, t, &special)) {
		reason.key = KEY_HTTP_ALLOW_PRIVATE;
		reason.label = "http.allow_private";
		reason.more = special.what;
	}
	if (!t->literal)
		reason.more = c->http.proxy != NULL
				  ? "http.proxy looks up its address"
				  : "the address that it has is judged again "
				    "when it is connected to";
	return policy_explain_key(by_http, true, what, &reason);
}

static int
explain_target(const struct config *c, const struct rules *r,
    const struct target *t, const char *what)
{
	struct refusal why;

	if (!target_judge(&r->guard, t, &why) ||
	    (!t->literal && !target_judge_unresolved(&r->guard, t, &why)))
		return explain_refusal(c, r, t, &why, what);
	return explain_pass(c, r, t, what);
}

static int
explain_http(const struct config *c, const struct target *t, const char *what)
{
	struct rules rules;
	int code;

	if (!c->http.enabled)
		return policy_explain_key(by_http, false, what,
		    &(struct policy_reason){.config = c,
			.key = KEY_HTTP_ENABLED,
			.label = "http.enabled",
			.value = "false"});
	if (rules_init(&rules, &c->http) < 0)
		code = policy_explain_fail("out of memory");
	else
		code = explain_target(c, &rules, t, what);
	rules_done(&rules);
	return code;
}

int
policy_explain_net(const struct config *c, const char *target)
{
	const char *colon = strrchr(target, ':');
	scoped_free char *host = NULL;
	struct target t;
	uint64_t port;
	int command, http;

	if (colon == NULL || colon == target ||
	    num_parse_u64(colon + 1, 1, UINT16_MAX, &port) < 0)
		return policy_explain_fail("want HOST:PORT");
	host = strndup(target, (size_t)(colon - target));
	if (host == NULL)
		return policy_explain_fail("out of memory");
	if (target_parse(host, (uint16_t)port, &t) < 0)
		return policy_explain_fail("that is no host");
	command = explain_command(c, host, target);
	http = explain_http(c, &t, target);
	if (command == POLICY_ERROR || http == POLICY_ERROR)
		return POLICY_ERROR;
	return command == POLICY_YES ? command : http;
}
