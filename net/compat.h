/*
 * Everything in which the two references differ on the wire: one row each.
 * No other code in net asks which of them is followed.
 */
#ifndef NET_COMPAT_H
#define NET_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

#include "privsep/role.h"

struct compat_row {
	const char *name;
	/* transport */
	bool wrong_path_upgrades; /* then closes 1008; else 404 before */
	/* envelope */
	bool jsonrpc_member; /* answers carry "jsonrpc":"2.0" */
	/* The text of an error: before and after the method's name. */
	const char *unknown_method[2];
	bool codex_only_methods; /* CODEX_ONLY rows of methods.def */
	/* A method that is unknown when its params lack a path; NULL: none. */
	const char *unknown_without_path;
	/* lifecycle */
	bool environment_info_in_initialize;
	bool initialized_required; /* before other methods */
	uint64_t retention_max_ms; /* no longer than this */
	uint64_t long_poll_max_ms;
	/* params */
	bool strict_params; /* what the stricter reference requires, is */
	const char *cwd_error_prefix;
	/* environment/info */
	bool full_info;
	bool plain_shell; /* /bin/sh, whatever else there is */
	/* fs */
	const char *missing_file; /* text of ENOENT; NULL: the system's */
	const char *handle_noun, *handles_noun;
	/* process */
	bool arg0_refused;
	/* Nothing that a backend without a sandbox of its own cannot enforce
	 * is accepted by process/start. */
	bool process_sandbox_refused;
	const char *sandboxed_type; /* sandboxType with a sandbox object */
	const char *duplicate_process[2]; /* before and after the id */
	int duplicate_process_code;
};

const struct compat_row *compat_row(enum compat compat);

#endif
