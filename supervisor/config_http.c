#include "supervisor/config_http.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "privsep/http_policy.h"

void
config_http_done(struct config_http *h)
{
	list_clear(&h->allow);
	list_clear(&h->deny);
	list_clear(&h->ports);
	list_clear(&h->env);
	free(h->resolver);
	free(h->proxy);
	free(h->ca_file);
	*h = (struct config_http){0};
}

int
config_http_check_rule(const char *text, struct err *e)
{
	struct http_rule rule;

	return http_rule_parse(bytes_of(text), &rule, e);
}

int
config_http_check_port(const char *text, struct err *e)
{
	uint64_t port;

	if (num_parse_u64(text, 1, UINT16_MAX, &port) < 0 || text[0] == '0')
		return err_set(e, EINVAL, "\"%.40s\" is no port", text);
	return 0;
}

int
config_http_check_name(const char *text, struct err *e)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			len = 0;
	if (len == 0 || isdigit((unsigned char)text[0]))
		return err_set(e, EINVAL, "\"%.64s\" is no variable's name",
		    text);
	return 0;
}

int
config_http_check_resolver(const char *text, struct err *e)
{
	struct http_endpoint endpoint;

	return http_endpoint_parse(bytes_of(text), &endpoint, e);
}

int
config_http_check_proxy(const char *text, struct err *e)
{
	struct http_endpoint endpoint;

	return http_proxy_parse(bytes_of(text), &endpoint, e);
}

const char *
config_http_variable(const struct list *assignments, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < assignments->count; i++) {
		const char *item = assignments->items[i];

		if (strncmp(item, name, len) == 0 && item[len] == '=')
			return item + len + 1;
	}
	return NULL;
}

int
config_http_check(const struct config_http *h, const struct list *assignments,
    struct err *e)
{
	for (size_t i = 0; i < h->env.count; i++)
		if (config_http_variable(assignments, h->env.items[i]) == NULL)
			return err_set(e, EINVAL,
			    "http.env: env.set has no variable %.64s",
			    h->env.items[i]);
	return 0;
}
