/* The section [http]: values, and what is checked of them. */
#ifndef SUPERVISOR_CONFIG_HTTP_H
#define SUPERVISOR_CONFIG_HTTP_H

#include <stdint.h>

#include "base/err.h"
#include "supervisor/list.h"

struct config_http {
	uint32_t enabled, allow_private, allow_public; /* 0 or 1 */
	struct list allow, deny;	  /* rules: http_policy.h */
	struct list ports;		  /* numbers */
	struct list env;		  /* names */
	char *resolver, *proxy, *ca_file; /* heap; NULL: none */
	uint32_t max_body;		  /* bytes */
	uint32_t max_concurrent, max_redirects;
};

void config_http_done(struct config_http *h);

/* Whether text is one value of its key. Returns 0 or -EINVAL with e. */
must_use int config_http_check_rule(const char *text, struct err *e);
must_use int config_http_check_port(const char *text, struct err *e);
must_use int config_http_check_name(const char *text, struct err *e);
must_use int config_http_check_resolver(const char *text, struct err *e);
must_use int config_http_check_proxy(const char *text, struct err *e);

/* The value of a variable in assignments ("NAME=VALUE"), or NULL. */
const char *config_http_variable(const struct list *assignments,
    const char *name);

/* Whether every name of h->env is among assignments. Returns 0, or -EINVAL
 * with e. */
must_use int config_http_check(const struct config_http *h,
    const struct list *assignments, struct err *e);

#endif
