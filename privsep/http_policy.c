#include "privsep/http_policy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "privsep/pack.h"

static int
bad_rule(const char *text, struct err *e)
{
	return err_set(e, EINVAL,
	    "\"%.100s\" is no host[:port], IP[:port] or IP/BITS", text);
}

static bool
parse_address(const char *text, struct http_address *out)
{
	if (inet_pton(AF_INET, text, out->bytes) == 1)
		out->len = 4;
	else if (inet_pton(AF_INET6, text, out->bytes) == 1)
		out->len = 16;
	else
		return false;
	return true;
}

static bool
parse_port(const char *text, uint16_t *out)
{
	uint64_t v;

	if (num_parse_u64(text, 1, UINT16_MAX, &v) < 0)
		return false;
	*out = (uint16_t)v;
	return true;
}

/* Cut ":port" off text, which may be in brackets; those go as well. Returns
 * the host, or NULL if text is malformed. */
static char *
cut_port(char *text, uint16_t *port)
{
	char *close, *colon;

	if (text[0] != '[') {
		colon = strchr(text, ':');
		/* Two of them: an IPv6 address without brackets. */
		if (colon == NULL || strchr(colon + 1, ':') != NULL)
			return text;
		*colon = '\0';
		return parse_port(colon + 1, port) ? text : NULL;
	}
	close = strchr(text, ']');
	if (close == NULL)
		return NULL;
	*close = '\0';
	if (close[1] == '\0')
		return text + 1;
	return close[1] == ':' && parse_port(close + 2, port) ? text + 1 : NULL;
}

static bool
parse_name(char *text, struct http_rule *out)
{
	size_t len;
	bool letter = false;

	if (strncmp(text, "*.", 2) == 0) {
		out->below = true;
		text += 2;
	}
	len = strlen(text);
	if (len == 0 || len >= sizeof out->name || text[0] == '.' ||
	    text[len - 1] == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!isalnum(c) && strchr("-_.", c) == NULL)
			return false;
		letter |= isalpha(c) != 0;
		out->name[i] = (char)tolower(c);
	}
	/* 10.1 and the like are neither a name nor an address. */
	return letter;
}

int
http_rule_parse(struct bytes text, struct http_rule *out, struct err *e)
{
	char copy[HTTP_RULE_MAX + 1], *host, *slash;
	struct http_rule rule = {0};
	uint64_t bits;

	if (text.len == 0 || text.len > HTTP_RULE_MAX || bytes_has_nul(text))
		return err_set(e, EINVAL, "want 1 to %u bytes", HTTP_RULE_MAX);
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	slash = strchr(copy, '/');
	if (slash != NULL)
		*slash = '\0';
	host = cut_port(copy, &rule.port);
	if (host == NULL)
		return bad_rule(copy, e);
	if (parse_address(host, &rule.address)) {
		bits = rule.address.len * 8u;
		if (slash != NULL &&
		    (rule.port != 0 ||
			num_parse_u64(slash + 1, 0, bits, &bits) < 0))
			return bad_rule(host, e);
		rule.prefix = (uint8_t)bits;
	} else if (slash != NULL || !parse_name(host, &rule)) {
		return bad_rule(host, e);
	}
	*out = rule;
	return 0;
}

bool
http_rule_names(const struct http_rule *r, const char *host, uint16_t port)
{
	size_t len = strlen(host), want = strlen(r->name);

	if (want == 0 || (r->port != 0 && r->port != port))
		return false;
	if (!r->below)
		return strcmp(r->name, host) == 0;
	return len > want + 1 && host[len - want - 1] == '.' &&
	       strcmp(host + len - want, r->name) == 0;
}

bool
http_rule_holds(const struct http_rule *r, const struct http_address *a,
    uint16_t port)
{
	unsigned int whole = r->prefix / 8u, rest = r->prefix % 8u;

	if (r->name[0] != '\0' || r->address.len != a->len ||
	    (r->port != 0 && r->port != port) ||
	    memcmp(r->address.bytes, a->bytes, whole) != 0)
		return false;
	return rest == 0 ||
	       (r->address.bytes[whole] ^ a->bytes[whole]) >> (8 - rest) == 0;
}

int
http_endpoint_parse(struct bytes text, struct http_endpoint *out, struct err *e)
{
	struct http_endpoint endpoint = {0};
	char copy[64], *host = NULL;

	if (text.len < sizeof copy && !bytes_has_nul(text)) {
		memcpy(copy, text.data, text.len);
		copy[text.len] = '\0';
		host = cut_port(copy, &endpoint.port);
	}
	if (host == NULL || endpoint.port == 0 ||
	    !parse_address(host, &endpoint.address))
		return err_set(e, EINVAL, "want IP:PORT");
	*out = endpoint;
	return 0;
}

int
http_proxy_parse(struct bytes text, struct http_endpoint *out, struct err *e)
{
	static const char scheme[] = "http://";
	const size_t len = sizeof scheme - 1;

	if (text.len < len || memcmp(text.data, scheme, len) != 0 ||
	    http_endpoint_parse((struct bytes){.data = text.data + len,
				    .len = text.len - len},
		out, NULL) < 0)
		return err_set(e, EINVAL, "want http://IP:PORT");
	return 0;
}

static int
put(struct buf *out, struct bytes s)
{
	return buf_put_string(out, s.data, s.len);
}

int
http_policy_pack(const struct http_policy *p, struct buf *out)
{
	const struct bytes texts[] = {p->allow, p->deny, p->ports, p->env,
	    p->resolver, p->proxy, p->ca_file};
	int r = buf_put_u8(out, p->allow_private);

	if (r == 0)
		r = buf_put_u8(out, p->allow_public);
	if (r == 0)
		r = buf_put_u64(out, p->max_body);
	if (r == 0)
		r = buf_put_u32(out, p->max_concurrent);
	if (r == 0)
		r = buf_put_u32(out, p->max_redirects);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0] && r == 0; i++)
		r = put(out, texts[i]);
	return r;
}

static bool
get_bool(struct reader *r, bool *out)
{
	uint8_t v;

	if (!buf_get_u8(r, &v) || v > 1)
		return false;
	*out = v != 0;
	return true;
}

static bool
get_all(struct reader *r, struct http_policy *p)
{
	struct bytes *const texts[] = {&p->allow, &p->deny, &p->ports, &p->env,
	    &p->resolver, &p->proxy, &p->ca_file};

	if (!get_bool(r, &p->allow_private) || !get_bool(r, &p->allow_public) ||
	    !buf_get_u64(r, &p->max_body) ||
	    !buf_get_u32(r, &p->max_concurrent) ||
	    !buf_get_u32(r, &p->max_redirects))
		return false;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (!buf_get_string(r, texts[i], HTTP_POLICY_MAX))
			return false;
	return buf_get_end(r);
}

static bool
are_rules(struct bytes list)
{
	struct http_rule rule;
	struct reader r;
	struct bytes s;
	size_t count;

	if (!strings_check(list, HTTP_RULES_MAX, HTTP_RULE_MAX, &count))
		return false;
	reader_init(&r, list.data, list.len);
	while (strings_next(&r, &s))
		if (http_rule_parse(s, &rule, NULL) < 0)
			return false;
	return true;
}

static bool
are_sound(const struct http_policy *p)
{
	struct http_endpoint endpoint;
	size_t count;

	if (!are_rules(p->allow) || !are_rules(p->deny) ||
	    !strings_check(p->ports, HTTP_RULES_MAX, 5, &count) ||
	    !strings_check(p->env, 2 * HTTP_RULES_MAX, HTTP_POLICY_MAX,
		&count) ||
	    count % 2 != 0)
		return false;
	if (p->resolver.len > 0 &&
	    http_endpoint_parse(p->resolver, &endpoint, NULL) < 0)
		return false;
	if (p->proxy.len > 0 && http_proxy_parse(p->proxy, &endpoint, NULL) < 0)
		return false;
	return p->ca_file.len < PATH_LEN_MAX && !bytes_has_nul(p->ca_file);
}

int
http_policy_unpack(struct bytes packed, struct http_policy *p, struct err *e)
{
	struct http_policy policy = {0};
	struct reader r;

	reader_init(&r, packed.data, packed.len);
	if (!get_all(&r, &policy) || !are_sound(&policy))
		return err_set(e, EPROTO, "http policy is malformed");
	*p = policy;
	return 0;
}
