#include "supervisor/audit_event.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/sha256.h"

/* The policy's hash tells whether two servers had the same rules. */
static void
hash_policy(const struct server *s, char policy[SHA256_HEX_SIZE])
{
	scoped_buf text;

	buf_init(&text, 32 * 1024);
	if (config_put_policy(s->config, &text) < 0)
		buf_clear(&text);
	sha256_hex((struct bytes){.data = text.data, .len = text.len}, policy);
}

void
audit_reload(const struct server *s, const struct config_changes *c,
    const char *reason)
{
	scoped_free char *changed = NULL, *kept = NULL;
	char policy[SHA256_HEX_SIZE];

	hash_policy(s, policy);
	if (c != NULL) {
		changed =
		    bytes_dup((struct bytes){c->changed.data, c->changed.len});
		kept = bytes_dup((struct bytes){c->kept.data, c->kept.len});
	}
	audit_own(s->audit, "reload",
	    (const char *[]){"outcome", reason == NULL ? "done" : "refused",
		"policy_sha256", policy, "changed", changed, "kept", kept,
		"reason", reason, NULL});
}

void
audit_server_start(const struct server *s)
{
	const struct config *c = s->config;
	char policy[SHA256_HEX_SIZE], filter[SHA256_HEX_SIZE] = "built-in";
	const struct sock_fprog *f = &s->child_filter;

	hash_policy(s, policy);
	if (f->len > 0)
		sha256_hex((struct bytes){.data = (const uint8_t *)f->filter,
			       .len = f->len * sizeof f->filter[0]},
		    filter);
	audit_own(s->audit, "server_start",
	    (const char *[]){"address", s->host, "preset",
		config_preset_name(c->preset), "profile",
		c->profile != NULL ? c->profile : "", "policy_sha256", policy,
		"child_filter_sha256", filter, NULL});
}

void
audit_server_end(const struct server *s, enum exit_code code)
{
	uint64_t untold = audit_rate_forget(s->audit->rate);
	char number[16], dropped[24];

	(void)snprintf(number, sizeof number, "%d", (int)code);
	(void)snprintf(dropped, sizeof dropped, "%" PRIu64, untold);
	audit_own(s->audit, "server_end",
	    (const char *[]){"code", number, "untold",
		untold > 0 ? dropped : NULL, NULL});
}

void
audit_role_ready(const struct server *s, enum role role,
    const struct msg_role_ready *got)
{
	char uid[16], caps[24], seccomp[16], landlock[16], namespaces[16];

	(void)snprintf(uid, sizeof uid, "%u", got->uid);
	(void)snprintf(caps, sizeof caps, "%llx",
	    (unsigned long long)got->caps_effective);
	(void)snprintf(seccomp, sizeof seccomp, "%u", got->seccomp);
	(void)snprintf(landlock, sizeof landlock, "%u", got->landlock_abi);
	(void)snprintf(namespaces, sizeof namespaces, "%x", got->namespaces);
	audit_own(s->audit, "role_ready",
	    (const char *[]){"process", role_name(role), "uid", uid,
		"capabilities", caps, "seccomp", seccomp, "landlock", landlock,
		"namespaces", namespaces, NULL});
}
