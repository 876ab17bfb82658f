#include "net/environment.h"

#include <stdio.h>
#include <string.h>

#include "net/method.h"
#include "net/session.h"
#include "net/uri.h"

/* The release of the reference whose forms we speak. */
#define EXECUTOR_VERSION "0.171.0"

#define HTTP_HEADER_ENV_VARS "httpHeaderEnvVars"

static const struct {
	const char *name;
	bool value;
} capabilities[] = {
    {"networkProxyLaunch", false},
    {"networkProxyReviewDomains", false},
    {"networkProxyTransparentTcp", false},
    {"credentialMasking", false},
    {"credentialMaskingCustomProviders", false},
    {"capabilityDiscoverySandbox", false},
    {"fsWatchMissing", true},
    {"capabilityDiscoveryV2", false},
    {"environmentConfigRead", true},
    {HTTP_HEADER_ENV_VARS, false}, /* as the policy says */
    {"sandboxedFileStreaming", true},
    {"fileWriteStreaming", true},
    {"shellSnapshotV2", false},
    {"windowsMxc", false},
    {"linuxRootWritePreservesDevices", false},
    {"linuxApprovedRootWritePreservesRestrictions", false},
    {"processCloseStdin", true},
    {"processResize", true},
};

static void
write_shell(struct jsonw *w, const struct config *config)
{
	bool plain = config->compat->plain_shell;

	jsonw_key(w, "shell");
	jsonw_open(w, '{');
	jsonw_key(w, "name");
	jsonw_text(w, plain ? "sh" : config->shell_name);
	jsonw_key(w, "path");
	jsonw_text(w, plain ? "/bin/sh" : config->shell);
	jsonw_close(w, '}');
}

static void
write_place(struct jsonw *w, const char *key, const char *path)
{
	jsonw_key(w, key);
	jsonw_file_uri(w, bytes_of(path));
}

static void
write_text(struct jsonw *w, const char *key, const char *value)
{
	jsonw_key(w, key);
	jsonw_text(w, value);
}

static void
write_empty_list(struct jsonw *w, const char *key)
{
	jsonw_key(w, key);
	jsonw_open(w, '[');
	jsonw_close(w, ']');
}

void
environment_info_write(struct jsonw *w, const struct connection *c)
{
	const struct config *config = &c->net->config;
	const struct policy *policy = c->session->policy;
	size_t count = sizeof capabilities / sizeof capabilities[0];
	bool full = config->compat->full_info;

	jsonw_open(w, '{');
	write_shell(w, config);
	write_place(w, "cwd", config->cwd);
	if (full) {
		write_text(w, "executorVersion", EXECUTOR_VERSION);
		write_text(w, "providerId", policy->provider_id);
		write_place(w, "userHomeDir", policy->home);
		write_place(w, "tempDir", policy->tmp);
		write_text(w, "platformOs", "linux");
		write_empty_list(w, "prependPathDirs");
		write_empty_list(w, "temporaryDirectories");
	}
	jsonw_key(w, "capabilities");
	jsonw_open(w, '{');
	/* The short form has the first alone. */
	for (size_t i = 0; i < (full ? count : 1); i++) {
		const char *name = capabilities[i].name;

		jsonw_key(w, name);
		jsonw_bool(w, capabilities[i].value ||
				  (policy->http_env &&
				      strcmp(name, HTTP_HEADER_ENV_VARS) == 0));
	}
	jsonw_close(w, '}');
	jsonw_close(w, '}');
}

void
on_environment_info(struct connection *c, const struct rpc_id *id,
    struct params_environment_info *p)
{
	struct jsonw w;
	struct buf text;

	(void)p;
	rpc_result_begin(c, id, &w, &text);
	environment_info_write(&w, c);
	rpc_result_send(c, &w);
}

/* Layers of configuration files: none. The client's home on this side is the
 * session's own and empty, so there is nothing to read. */
static void
write_no_layers(struct jsonw *w, const char *key)
{
	jsonw_key(w, key);
	jsonw_open(w, '{');
	write_empty_list(w, "layers");
	jsonw_key(w, "cloudInsertionIndex");
	jsonw_int(w, 0);
	jsonw_close(w, '}');
}

/* Whether keys is a list of lists of strings. */
static bool
is_key_paths(json_t *keys)
{
	json_t *path, *key;
	size_t i, k;

	json_array_foreach(keys, i, path)
	{
		if (!json_is_array(path))
			return false;
		json_array_foreach(path, k,
		    key) if (!json_is_string(key)) return false;
	}
	return true;
}

void
on_environment_config_read(struct connection *c, const struct rpc_id *id,
    struct params_environment_config_read *p)
{
	const char *home = c->session->policy->home;
	char codex_home[PATH_LEN_MAX];
	scoped_buf cwd;
	struct err e = {0};
	struct jsonw w;
	struct buf text;

	buf_init(&cwd, PATH_LEN_MAX - 1);
	if (uri_to_path(p->cwd, &cwd, &e) < 0) {
		rpc_error(c, id, RPC_INVALID_PARAMS, "%s", e.text);
		return;
	}
	if (!is_key_paths(p->config_paths) ||
	    !is_key_paths(p->requirements_paths)) {
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "invalid type, expected lists of strings for "
		    "`configPaths` and `requirementsPaths`");
		return;
	}
	if (json_array_size(p->config_paths) == 0 &&
	    json_array_size(p->requirements_paths) == 0) {
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "at least one config or requirements path is required");
		return;
	}
	(void)snprintf(codex_home, sizeof codex_home, "%s/.codex", home);
	rpc_result_begin(c, id, &w, &text);
	jsonw_open(&w, '{');
	write_place(&w, "userHomeDir", home);
	write_place(&w, "codexHomeDir", codex_home);
	write_text(&w, "hostname", "sallyport");
	write_no_layers(&w, "config");
	write_no_layers(&w, "requirements");
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
}

void
on_environment_status(struct connection *c, const struct rpc_id *id,
    struct params_environment_status *p)
{
	struct jsonw w;
	struct buf text;

	(void)p;
	rpc_result_begin(c, id, &w, &text);
	jsonw_open(&w, '{');
	write_text(&w, "status", "ready");
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
}
