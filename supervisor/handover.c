#include "supervisor/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "policy/ceiling.h"
#include "policy/env.h"
#include "policy/profile.h"
#include "privsep/pack.h"

/* As in msg.def. */
#define LISTS_MAX  (16u * 1024u)
#define POLICY_MAX (32u * 1024u)
#define ENV_MAX	   (4u * ENV_CONFIG_MAX)

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

static bool
has_policy(const struct server *s)
{
	return s->ceiling != NULL || s->child_filter.len > 0;
}

/* "NAME=VALUE" items as pairs of strings. */
static int
pack_pairs(const struct list *l, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < l->count && r == 0; i++) {
		const char *item = l->items[i], *equals = strchr(item, '=');

		r = buf_put_string(out, item, (size_t)(equals - item));
		if (r == 0)
			r = buf_put_cstring(out, equals + 1);
	}
	return r;
}

static int
pack_env(const struct config *c, struct buf *out)
{
	scoped_buf base, scrub, allow;
	int r;

	buf_init(&base, ENV_CONFIG_MAX);
	buf_init(&scrub, ENV_CONFIG_MAX);
	buf_init(&allow, ENV_CONFIG_MAX);
	r = pack_pairs(&c->env_set, &base);
	if (r == 0)
		r = list_pack(&c->env_scrub, &scrub);
	if (r == 0)
		r = list_pack(&c->env_allow, &allow);
	if (r < 0)
		return r;
	return env_config_pack(&(struct env_config){.base = view(&base),
				   .scrub = view(&scrub),
				   .allow = view(&allow)},
	    out);
}

/* What a command has as name before a client says otherwise. */
static const char *
env_value(const struct config *c, const char *name, const char *otherwise)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < c->env_set.count; i++) {
		const char *item = c->env_set.items[i];

		if (strncmp(item, name, len) == 0 && item[len] == '=' &&
		    item[len + 1] == '/')
			return item + len + 1;
	}
	return otherwise;
}

/* Follows EXEC_CONFIG, if there is anything to say. */
static int
send_policy(const struct server *s, struct channel *channel)
{
	scoped_buf ceiling;
	int r = 0;

	buf_init(&ceiling, EXEC_CEILING_MAX);
	if (!has_policy(s))
		return 0;
	if (s->ceiling != NULL)
		r = ceiling_pack(s->ceiling, &ceiling);
	const struct msg_exec_policy m = {.ceiling = view(&ceiling),
	    .filter = {.data = (const uint8_t *)s->child_filter.filter,
		.len = s->child_filter.len * sizeof(struct sock_filter)}};

	return r < 0 ? r : channel_send_exec_policy(channel, &m, NULL, 0);
}

/* Comes after that. */
static int
send_backend(const struct server *s, struct channel *channel)
{
	const struct config_backend *b = &s->config->backend;
	scoped_buf sockets = {.max = LISTS_MAX};
	int r = list_pack(&b->sockets, &sockets);
	struct bytes host, guest;

	config_backend_bind(b, &host, &guest);
	const struct msg_exec_backend m = {.uid = b->uid,
	    .gid = b->gid,
	    .isolated = *s->isolation == ISOLATION_YES,
	    .lost_status = config_backend_lost_status(b),
	    /* Who only asks what the host gives has opened no program. */
	    .files = b->files == BACKEND_FILES_SEND && s->worker_fd < 0
			 ? BACKEND_FILES_REFUSE
			 : b->files,
	    .worker =
		bytes_of(b->files == BACKEND_FILES_WORKER ? b->worker : ""),
	    .bind = host,
	    .bind_as = guest,
	    .target = bytes_of(b->target != NULL ? b->target : ""),
	    .start = bytes_of(config_backend_text(b, BACKEND_START)),
	    .signal = bytes_of(config_backend_text(b, BACKEND_SIGNAL)),
	    .terminate = bytes_of(config_backend_text(b, BACKEND_TERMINATE)),
	    .finalize = bytes_of(config_backend_text(b, BACKEND_FINALIZE)),
	    .prepare = bytes_of(config_backend_text(b, BACKEND_PREPARE)),
	    .inspect = bytes_of(*s->isolation == ISOLATION_UNKNOWN
				    ? config_backend_text(b, BACKEND_INSPECT)
				    : ""),
	    .sockets = view(&sockets)};

	if (r < 0 || b->type == BACKEND_NATIVE)
		return r;
	if (s->worker_fd < 0)
		return channel_send_exec_backend(channel, &m, NULL, 0);
	r = fcntl(s->worker_fd, F_DUPFD_CLOEXEC, 0);
	return r < 0 ? -errno : channel_send_exec_backend(channel, &m, &r, 1);
}

static uint32_t
exec_flags(const struct config *c)
{
	return (c->allow_root ? EXEC_FLAG_ALLOW_ROOT : 0u) |
	       (c->degraded ? EXEC_FLAG_DEGRADED : 0u) |
	       (c->backend.type != BACKEND_NATIVE ? EXEC_FLAG_BACKEND : 0u) |
	       (c->compat == COMPAT_OPENCLAW ? EXEC_FLAG_OPENCLAW : 0u) |
	       (c->audit.argv == AUDIT_ARGV_FULL ? EXEC_FLAG_AUDIT_ARGV : 0u) |
	       (c->audit.argv == AUDIT_ARGV_HASH ? EXEC_FLAG_AUDIT_HASH : 0u);
}

/* Whether path is in a session that sees little else. */
static bool
is_in_minimal(const struct server *s, const char *path)
{
	static const char *const scratch[] = {"/tmp", "/dev/shm"};
	const struct list *workspaces = &s->workspaces->paths;
	bool found = strcmp(path, "/") == 0;

	for (size_t i = 0; i < 2 && !found; i++)
		found = profile_is_in(bytes_of(path), bytes_of(scratch[i]));
	for (size_t i = 0; profile_minimal[i] != NULL && !found; i++)
		found =
		    profile_is_in(bytes_of(path), bytes_of(profile_minimal[i]));
	for (size_t i = 0; i < workspaces->count && !found; i++)
		found = profile_is_in(bytes_of(path),
		    bytes_of(workspaces->items[i]));
	return found;
}

/*
 * What the session of a profile holds, of which each command gets what the
 * profile gives: no more than the minimal root, unless a rule names a path of
 * the host that is not in it.
 */
static uint32_t
base_preset(const struct server *s)
{
	const struct decide_ceiling *c = s->ceiling;

	if (c == NULL || c->view != PLAN_VIEW_MINIMAL)
		return s->config->preset;
	for (size_t i = 0; i < c->path_count; i++)
		if (c->paths[i].access != PLAN_DENY &&
		    !is_in_minimal(s, c->paths[i].path))
			return PRESET_WORKSPACE;
	return PRESET_STRICT;
}

int
handover_exec(const struct server *s, struct channel *channel)
{
	const struct config *c = s->config;
	scoped_buf limits, paths, read_only, env;
	int fds[WORKSPACES_MAX], r;

	buf_init(&limits, 4096);
	buf_init(&paths, LISTS_MAX);
	buf_init(&read_only, LISTS_MAX);
	buf_init(&env, ENV_MAX);
	r = limits_pack(&c->limits, &limits);
	if (r == 0)
		r = list_pack(&s->workspaces->paths, &paths);
	if (r == 0)
		r = list_pack(&s->workspaces->read_only, &read_only);
	if (r == 0)
		r = pack_env(c, &env);
	if (r == 0)
		r = workspaces_dup(s->workspaces, fds);
	if (r < 0)
		return r;
	const struct msg_exec_config m = {.preset = base_preset(s),
	    .network = c->network,
	    .flags = exec_flags(c) | (has_policy(s) ? EXEC_FLAG_POLICY : 0u) |
		     (s->probe ? EXEC_FLAG_PROBE : 0u),
	    .log_level = c->log_level,
	    .uid_base = c->uid_base,
	    .umask = s->umask,
	    .limits = view(&limits),
	    .workspaces = view(&paths),
	    .protected_paths = view(&read_only),
	    .scratch = bytes_of(s->scratch == NULL ? "" : s->scratch),
	    .env = view(&env)};

	r = channel_send_exec_config(channel, &m, fds,
	    s->workspaces->paths.count);
	if (r == 0)
		r = send_policy(s, channel);
	return r < 0 ? r : send_backend(s, channel);
}

static uint32_t
backend_features(const struct server *s)
{
	const struct config_backend *b = &s->config->backend;
	bool isolated = *s->isolation == ISOLATION_YES;

	if (b->type == BACKEND_NATIVE)
		return 0;
	return NET_FEATURE_BACKEND | (isolated ? NET_FEATURE_ISOLATED : 0u) |
	       (config_backend_http_local(b) ? 0u : NET_FEATURE_NO_HTTP) |
	       (b->files == BACKEND_FILES_REFUSE ? NET_FEATURE_NO_FILES : 0u) |
	       (b->files == BACKEND_FILES_BIND ||
			   b->files >= BACKEND_FILES_WORKER
		       ? NET_FEATURE_FAR_FILES
		       : 0u);
}

static uint32_t
net_features(const struct server *s)
{
	uint32_t features = backend_features(s);

	if (strcmp(s->shell, "/bin/bash") == 0)
		features |= NET_FEATURE_SHELL_BASH;
	if (s->config->http.enabled && s->config->http.env.count > 0)
		features |= NET_FEATURE_HTTP_ENV;
	if (s->config->backend.type == BACKEND_NATIVE &&
	    s->config->preset != PRESET_OPEN &&
	    s->config->network == NETWORK_RESTRICTED)
		features |= NET_FEATURE_ISOLATED;
	if (s->config->atomic_writes)
		features |= NET_FEATURE_ATOMIC_WRITES;
	if (s->lacks & ROLE_NS_MNT)
		features |= NET_FEATURE_NO_JAIL;
	else if (s->lacks & ROLE_NS_NET)
		features |= NET_FEATURE_NO_NETNS;
	return features;
}

/* What decides what a command may do, as text: its hash is the providerId. */
static int
put_policy(const struct server *s, struct buf *out)
{
	const struct sock_fprog *f = &s->child_filter;
	char hex[SHA256_HEX_SIZE];
	int r = config_put_policy(s->config, out);

	if (r < 0 || f->len == 0)
		return r;
	sha256_hex((struct bytes){.data = (const uint8_t *)f->filter,
		       .len = f->len * sizeof f->filter[0]},
	    hex);
	return buf_printf(out, "child_filter = %s\n", hex);
}

/* The first workspace, as programs know it. */
static int
put_cwd(const struct server *s, struct buf *out)
{
	struct bytes cwd = bytes_of(s->workspaces->paths.items[0]);
	struct bytes host, guest;

	config_backend_bind(&s->config->backend, &host, &guest);
	if (guest.len == 0)
		return buf_put(out, cwd.data, cwd.len);
	if (!profile_is_in(cwd, host))
		return buf_put(out, guest.data, guest.len);
	return buf_printf(out, "%.*s%.*s", (int)guest.len, guest.data,
	    (int)(cwd.len - host.len), cwd.data + host.len);
}

int
handover_net(const struct server *s, struct channel *channel)
{
	const struct config *c = s->config;
	bool root = geteuid() == 0;
	scoped_buf limits, policy, cwd;
	int r;

	buf_init(&limits, 4096);
	buf_init(&policy, POLICY_MAX);
	buf_init(&cwd, PATH_LEN_MAX);
	r = limits_pack(&c->limits, &limits);
	if (r == 0)
		r = put_policy(s, &policy);
	if (r == 0)
		r = put_cwd(s, &cwd);
	if (r < 0)
		return r;
	const struct msg_net_config m = {.compat = c->compat,
	    .log_level = c->log_level,
	    .features = net_features(s),
	    .uid = root ? c->net_uid : 0,
	    .gid = root ? c->net_uid : 0,
	    .limits = view(&limits),
	    .path = bytes_of(s->path),
	    .host = bytes_of(s->host),
	    .cwd = view(&cwd),
	    .shell = bytes_of(s->shell),
	    .home = bytes_of(env_value(c, "HOME", "/tmp/home")),
	    .tmp = bytes_of(env_value(c, "TMPDIR", "/tmp")),
	    .policy = view(&policy)};

	return channel_send_net_config(channel, &m, NULL, 0);
}

int
handover_net_policy(const struct server *s, struct channel *channel)
{
	const struct config *c = s->config;
	scoped_buf policy;
	int r;

	buf_init(&policy, POLICY_MAX);
	r = put_policy(s, &policy);
	if (r < 0)
		return r;
	const struct msg_net_policy m = {.log_level = c->log_level,
	    .features = net_features(s),
	    .home = bytes_of(env_value(c, "HOME", "/tmp/home")),
	    .tmp = bytes_of(env_value(c, "TMPDIR", "/tmp")),
	    .policy = view(&policy)};

	return channel_send_net_policy(channel, &m, NULL, 0);
}

int
handover_check(const struct server *s, struct err *e)
{
	const struct config *c = s->config;
	scoped_buf http, paths, env, policy, ceiling;

	buf_init(&http, HTTP_POLICY_MAX);
	buf_init(&paths, LISTS_MAX);
	buf_init(&env, ENV_MAX);
	buf_init(&policy, POLICY_MAX);
	buf_init(&ceiling, EXEC_CEILING_MAX);
	if (list_pack(&s->workspaces->paths, &paths) < 0)
		return err_set(e, EMSGSIZE,
		    "server.workspace: more than %u bytes in all", LISTS_MAX);
	if (s->ceiling != NULL && ceiling_pack(s->ceiling, &ceiling) < 0)
		return err_set(e, EMSGSIZE,
		    "sandbox.profile: more than %u bytes in all",
		    EXEC_CEILING_MAX);
	if (pack_env(c, &env) < 0)
		return err_set(e, EMSGSIZE,
		    "env: more than %u bytes in one of set, allow and scrub",
		    ENV_CONFIG_MAX);
	if (handover_pack_http(c, &http) < 0)
		return err_set(e, EMSGSIZE,
		    "http: more than %u bytes in all lists", HTTP_POLICY_MAX);
	if (put_policy(s, &policy) < 0)
		return err_set(e, EMSGSIZE,
		    "the policy is longer than %u bytes", POLICY_MAX);
	return 0;
}
