#include "net/config.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "base/log.h"
#include "privsep/pack.h"

/* The provider's identity: a digest over what the policy says. */
static int
digest(struct bytes policy, char out[sizeof "sha256:" + 64], struct err *e)
{
	unsigned char raw[32];
	unsigned int len;
	size_t used;

	if (EVP_Digest(policy.data, policy.len, raw, &len, EVP_sha256(),
		NULL) != 1)
		return err_set(e, ENOMEM, "SHA-256 failed");
	used = (size_t)snprintf(out, sizeof "sha256:", "sha256:");
	for (size_t i = 0; i < sizeof raw; i++)
		used += (size_t)snprintf(out + used, 3, "%02x", raw[i]);
	return 0;
}

static int
take_string(char **out, struct bytes s, const char *name, struct err *e)
{
	if (s.len == 0 || bytes_has_nul(s))
		return err_set(e, EPROTO, "config: %s is unusable", name);
	*out = bytes_dup(s);
	return *out != NULL ? 0 : err_set(e, ENOMEM, "config: out of memory");
}

struct policy *
policy_hold(struct policy *p)
{
	p->users++;
	return p;
}

void
policy_drop(struct policy *p)
{
	if (p == NULL || --p->users > 0)
		return;
	free(p->home);
	free(p->tmp);
	free(p);
}

int
config_take_policy(struct config *c, const struct msg_net_policy *m,
    struct err *e)
{
	struct policy *p;
	int r;

	if (m->log_level > LOG_DEBUG)
		return err_set(e, EPROTO, "config: value out of range");
	p = calloc(1, sizeof *p);
	if (p == NULL)
		return err_set(e, ENOMEM, "config: out of memory");
	p->users = 1;
	p->atomic_writes = (m->features & NET_FEATURE_ATOMIC_WRITES) != 0;
	p->isolated = (m->features & NET_FEATURE_ISOLATED) != 0;
	p->backend = (m->features & NET_FEATURE_BACKEND) != 0;
	p->no_http = (m->features & NET_FEATURE_NO_HTTP) != 0;
	p->far_files = (m->features & NET_FEATURE_FAR_FILES) != 0;
	p->no_files = (m->features & NET_FEATURE_NO_FILES) != 0;
	p->http_env = (m->features & NET_FEATURE_HTTP_ENV) != 0;
	r = take_string(&p->home, m->home, "home", e);
	if (r == 0)
		r = take_string(&p->tmp, m->tmp, "tmp", e);
	if (r == 0)
		r = digest(m->policy, p->provider_id, e);
	if (r < 0) {
		policy_drop(p);
		return r;
	}
	log_set_level((enum log_level)m->log_level);
	policy_drop(c->policy);
	c->policy = p;
	return 0;
}

int
config_take(struct config *c, const struct msg_net_config *m, struct err *e)
{
	const struct {
		char **out;
		struct bytes from;
		const char *name;
	} strings[] = {
	    {&c->path, m->path, "path"},
	    {&c->host, m->host, "host"},
	    {&c->cwd, m->cwd, "cwd"},
	    {&c->shell, m->shell, "shell"},
	};
	const struct msg_net_policy policy = {.log_level = m->log_level,
	    .features = m->features,
	    .home = m->home,
	    .tmp = m->tmp,
	    .policy = m->policy};
	int r = 0;

	*c = (struct config){.uid = m->uid, .gid = m->gid};
	if (m->compat > COMPAT_OPENCLAW || m->log_level > LOG_DEBUG)
		return err_set(e, EPROTO, "config: value out of range");
	if (!limits_unpack(m->limits, &c->limits))
		return err_set(e, EPROTO, "config: limits are unusable");
	c->compat = compat_row((enum compat)m->compat);
	c->shell_name = m->features & NET_FEATURE_SHELL_BASH ? "bash" : "sh";
	if (m->features & NET_FEATURE_NO_JAIL)
		c->lacks |= ROLE_NS_MNT;
	if (m->features & NET_FEATURE_NO_NETNS)
		c->lacks |= ROLE_NS_NET;
	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
		if (r == 0)
			r = take_string(strings[i].out, strings[i].from,
			    strings[i].name, e);
	if (r < 0)
		return r;
	if (c->limits.session_retention > c->compat->retention_max_ms)
		c->limits.session_retention = c->compat->retention_max_ms;
	if (c->limits.long_poll_max > c->compat->long_poll_max_ms)
		c->limits.long_poll_max = c->compat->long_poll_max_ms;
	return config_take_policy(c, &policy, e);
}

void
config_done(struct config *c)
{
	char *all[] = {c->path, c->host, c->cwd, c->shell};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		free(all[i]);
	policy_drop(c->policy);
	*c = (struct config){0};
}
