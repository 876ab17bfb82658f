#include "net/environment.h"

#include "net/method.h"

/* The release of the reference whose forms we speak. */
#define EXECUTOR_VERSION "0.171.0"

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
    {"fsWatchMissing", false},
    {"capabilityDiscoveryV2", false},
    {"environmentConfigRead", false},
    {"httpHeaderEnvVars", false},
    {"sandboxedFileStreaming", false},
    {"fileWriteStreaming", false},
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
	jsonw_key(w, "shell");
	jsonw_open(w, '{');
	jsonw_key(w, "name");
	jsonw_text(w, config->shell_name);
	jsonw_key(w, "path");
	jsonw_text(w, config->shell);
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
environment_info_write(struct jsonw *w, const struct config *config)
{
	size_t count = sizeof capabilities / sizeof capabilities[0];
	bool full = config->compat->full_info;

	jsonw_open(w, '{');
	write_shell(w, config);
	write_place(w, "cwd", config->cwd);
	if (full) {
		write_text(w, "executorVersion", EXECUTOR_VERSION);
		write_text(w, "providerId", config->provider_id);
		write_place(w, "userHomeDir", config->home);
		write_place(w, "tempDir", config->tmp);
		write_text(w, "platformOs", "linux");
		write_empty_list(w, "prependPathDirs");
		write_empty_list(w, "temporaryDirectories");
	}
	jsonw_key(w, "capabilities");
	jsonw_open(w, '{');
	/* The short form has the first alone. */
	for (size_t i = 0; i < (full ? count : 1); i++) {
		jsonw_key(w, capabilities[i].name);
		jsonw_bool(w, capabilities[i].value);
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
	environment_info_write(&w, &c->net->config);
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
