#include "net/compat.h"

static const struct compat_row rows[] = {
    [COMPAT_CODEX] =
	{
	    .name = "codex",
	    .unknown_method = {"exec-server stub does not implement `",
		"` yet"},
	    .codex_only_methods = true,
	    .environment_info_in_initialize = true,
	    .initialized_required = true,
	    .retention_max_ms = UINT64_MAX,
	    .long_poll_max_ms = UINT64_MAX,
	    .strict_params = true,
	    .cwd_error_prefix = "",
	    .full_info = true,
	    .handle_noun = "file handle",
	    .handles_noun = "file handles",
	    .sandboxed_type = "linuxSeccomp",
	    .duplicate_process = {"process ", " already exists"},
	    .duplicate_process_code = -32600,
	},
    [COMPAT_OPENCLAW] =
	{
	    .name = "openclaw",
	    .wrong_path_upgrades = true,
	    .jsonrpc_member = true,
	    .unknown_method =
		{"Unsupported OpenClaw sandbox exec-server method: ", ""},
	    .plain_shell = true,
	    .unknown_without_path = "fs/walk",
	    .retention_max_ms = 0,
	    .long_poll_max_ms = 30000,
	    .cwd_error_prefix = "process cwd: ",
	    .missing_file = "file not found",
	    .handle_noun = "file read handle",
	    .handles_noun = "file reads",
	    .arg0_refused = true,
	    .process_sandbox_refused = true,
	    .sandboxed_type = "none",
	    .duplicate_process = {"process already exists: ", ""},
	    .duplicate_process_code = -32603,
	},
};

const struct compat_row *
compat_row(enum compat compat)
{
	return &rows[compat];
}
