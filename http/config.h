/* What exec said at the start, in the form in which it is used. */
#ifndef HTTP_CONFIG_H
#define HTTP_CONFIG_H

#include <sys/types.h>

#include "privsep/msg.h"
#include "privsep/target.h"

#define PROXY_TEXT_MAX 96

struct config {
	uint8_t *packed; /* owned; policy borrows from it */
	struct http_policy policy;
	struct guard guard; /* its arrays are owned */
	bool has_proxy;
	struct http_endpoint proxy;
	char proxy_text[PROXY_TEXT_MAX];
	uid_t uid; /* to become; 0: stay, in a user namespace */
	gid_t gid;
	uint32_t log_level;
	bool bare; /* the host gives no namespaces */
};

/* Decode m into *c. Returns 0; -EPROTO or -ENOMEM with e. Release c with
 * config_done in any case. */
must_use int config_take(struct config *c, const struct msg_http_config *m,
    struct err *e);
void config_done(struct config *c);

/* The value of a variable that requests may name; data NULL if there is none.
 */
struct bytes config_variable(const struct config *c, struct bytes name);

#endif
