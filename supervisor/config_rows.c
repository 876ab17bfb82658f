/* Every key but the limits, with its words, bounds and default. */
#include <stddef.h>

#include "supervisor/config_row.h"

static const char *const compat_words[] = {"codex", "openclaw", NULL};
static const char *const preset_words[] = {"workspace", "open", "strict", NULL};
static const char *const bool_words[] = {"false", "true", NULL};
static const char *const degraded_words[] = {"refuse", "allow", NULL};
static const char *const backend_words[] = {"native", "command", "docker",
    "podman", "ssh", NULL};
static const char *const files_words[] = {"refuse", "bind", "local", "worker",
    "send", NULL};
static const char *const isolated_words[] = {"false", "auto", "true", NULL};
static const char *const http_words[] = {"refuse", "auto", "local", NULL};
static const char *const network_words[] = {"restricted", "enabled", NULL};
static const char *const on_error_words[] = {"continue", "stop", NULL};
static const char *const argv_words[] = {"none", "hash", "full", NULL};
static const char *const log_words[] = {"error", "warn", "info", "debug", NULL};

#define AT(member) offsetof(struct config, member)

const struct config_row config_rows[CONFIG_KEYS] = {
    [KEY_LISTEN] = {"server", "listen", KIND_LISTEN, AT(listen),
	.def = "ws://127.0.0.1:0",
	.help = "address to listen on; port 0: any free one"},
    [KEY_WORKSPACE] = {"server", "workspace", KIND_PATHS, AT(workspaces),
	.help = "directory that commands may change (list; the command "
		"line replaces the file's; default: the current one)"},
    [KEY_COMPAT] = {"server", "compat", KIND_WORD, AT(compat),
	.words = compat_words, .def = "codex",
	.help = "whose wire format to speak"},
    [KEY_ENV_SET] = {"env", "set", KIND_ENV, AT(env_set),
	.help = "NAME=VALUE that a command may inherit (list; adds to PATH, "
		"HOME, LANG and the like, the same name replaces)"},
    [KEY_ENV_ALLOW] = {"env", "allow", KIND_ALLOW, AT(env_allow),
	.help = "names that are not scrubbed (list of patterns)"},
    [KEY_ENV_SCRUB] = {"env", "scrub", KIND_SCRUB, AT(env_scrub),
	.help = "names that no command gets (list of patterns; replaces "
		"the built-in list; a single empty value: none)"},
    [KEY_PRESET] = {"sandbox", "preset", KIND_WORD, AT(preset),
	.words = preset_words, .def = "workspace",
	.help = "workspace: read all, write workspaces; strict: see little "
		"else; open: no ceiling"},
    [KEY_PROFILE] = {"sandbox", "profile", KIND_NAME, AT(profile),
	.help = "the [profile \"NAME\"] that is the ceiling (default: none, "
		"the preset's)"},
    [KEY_CHILD_POLICY] = {"sandbox", "child_policy", KIND_PATH,
	AT(child_policy),
	.help = "absolute path of a system call policy for commands "
		"(default: the built-in one)"},
    [KEY_ALLOW_ROOT] = {"sandbox", "allow_root", KIND_WORD, AT(allow_root),
	.words = bool_words, .def = "false",
	.help = "let the preset open run commands as root"},
    [KEY_DEGRADED] = {"sandbox", "degraded", KIND_WORD, AT(degraded),
	.words = degraded_words, .def = "refuse",
	.help = "what to do if the host lacks a layer of the sandbox"},
    [KEY_UID_BASE] = {"sandbox", "uid_base", KIND_NUMBER, AT(uid_base),
	.min = UID_MIN, .max = UID_MAX, .def = "0x7a000000",
	.help = "first of the user ids that sessions run under, one each "
		"(when started as root)"},
    [KEY_NET_UID] = {"sandbox", "net_uid", KIND_NUMBER, AT(net_uid),
	.min = UID_MIN, .max = UID_MAX, .def = "0x79fffffe",
	.help = "user and group id of the network process (when started "
		"as root)"},
    [KEY_HTTP_UID] = {"sandbox", "http_uid", KIND_NUMBER, AT(http_uid),
	.min = UID_MIN, .max = UID_MAX, .def = "0x79fffffd",
	.help = "user and group id of the processes that make HTTP requests "
		"(when started as root)"},
    [KEY_NETWORK] = {"profile", "network", KIND_WORD, AT(network),
	.words = network_words,
	.help = "network of commands (default: enabled with the preset "
		"open, else restricted)"},
    [KEY_ATOMIC_WRITES] = {"fs", "atomic_writes", KIND_WORD, AT(atomic_writes),
	.words = bool_words, .def = "false",
	.help = "fs/writeFile writes beside and renames: all or nothing, but "
		"a new inode, and links are not kept"},
    [KEY_BACKEND_TYPE] = {"backend", "type", KIND_WORD, AT(backend.type),
	.words = backend_words, .def = "native",
	.help = "where programs run: in the sandbox here, or where a command "
		"starts them"},
    [KEY_BACKEND_TARGET] = {"backend", "target", KIND_TEXT, AT(backend.target),
	.check = config_backend_check_target,
	.help = "container or host, {target} in the commands"},
    [KEY_BACKEND_START] = {"backend", "start", KIND_TEXT,
	AT(backend.text[BACKEND_START]), .check = config_backend_check_start,
	.help = "command that a program is started with, and ends with it"},
    [KEY_BACKEND_SIGNAL] = {"backend", "signal", KIND_TEXT,
	AT(backend.text[BACKEND_SIGNAL]), .check = config_backend_check_signal,
	.help = "command that interrupts one"},
    [KEY_BACKEND_PREPARE] = {"backend", "prepare", KIND_TEXT,
	AT(backend.text[BACKEND_PREPARE]),
	.check = config_backend_check_prepare,
	.help = "command that each start waits for; if it fails the start is "
		"refused (default: none)"},
    [KEY_BACKEND_TERMINATE] = {"backend", "terminate", KIND_TEXT,
	AT(backend.text[BACKEND_TERMINATE]),
	.check = config_backend_check_terminate,
	.help = "command that ends one and all that it left behind"},
    [KEY_BACKEND_FINALIZE] = {"backend", "finalize", KIND_TEXT,
	AT(backend.text[BACKEND_FINALIZE]),
	.check = config_backend_check_finalize,
	.help = "command that is told once what became of one"},
    [KEY_BACKEND_UID] = {"backend", "uid", KIND_NUMBER, AT(backend.uid),
	.max = UID_MAX, .def = "0",
	.help = "user id that the commands run under (when started as root); "
		"0: the session's"},
    [KEY_BACKEND_GID] = {"backend", "gid", KIND_NUMBER, AT(backend.gid),
	.max = UID_MAX, .def = "0", .help = "the same of the group"},
    [KEY_BACKEND_SOCKET] = {"backend", "socket", KIND_LIST, AT(backend.sockets),
	.check = config_backend_check_socket,
	.help = "unix socket of this host that the commands may use (list; "
		"default: none)"},
    [KEY_BACKEND_ISOLATED] = {"backend", "isolated", KIND_WORD,
	AT(backend.isolated), .words = isolated_words, .def = "auto",
	.help = "whether programs have no network where they run; auto: as "
		"inspect says when the server starts, and without it false"},
    [KEY_BACKEND_INSPECT] = {"backend", "inspect", KIND_TEXT,
	AT(backend.text[BACKEND_INSPECT]),
	.check = config_backend_check_inspect,
	.help = "command that writes the names of the networks there, none "
		"for none"},
    [KEY_BACKEND_HTTP] = {"backend", "http", KIND_WORD, AT(backend.http),
	.words = http_words, .def = "auto",
	.help = "http/request; local: it goes out from this host; auto: local "
		"with the type command, refused with the others"},
    [KEY_BACKEND_FILES] = {"backend", "files", KIND_WORD, AT(backend.files),
	.words = files_words, .def = "refuse",
	.help = "fs methods; local: what runs elsewhere has the workspaces of "
		"this host under the same paths; bind: one of them under "
		"another; worker: a program there serves them; send: one that "
		"is sent there does"},
    [KEY_BACKEND_BIND] = {"backend", "bind", KIND_TEXT, AT(backend.bind),
	.check = config_backend_check_bind,
	.help = "with files = bind, HOST:GUEST: a workspace, or a directory "
		"in one, and the path that it has where programs run"},
    [KEY_BACKEND_WORKER] = {"backend", "worker", KIND_TEXT, AT(backend.worker),
	.check = config_backend_check_worker,
	.help = "with files = worker, where sallyport-worker is there; with "
		"files = send, what is sent in the place of the installed "
		"one"},
    [KEY_BACKEND_LOST_STATUS] = {"backend", "lost_status", KIND_NUMBER,
	AT(backend.lost_status), .max = 256, .def = "256",
	.help = "exit status of start which says that it has not come to the "
		"program; 256: the type's"},
    [KEY_HTTP_ENABLED] = {"http", "enabled", KIND_WORD, AT(http.enabled),
	.words = bool_words,
	.help = "whether clients may make HTTP requests through the server "
		"(default: false with the preset strict, else true)"},
    [KEY_HTTP_ALLOW] = {"http", "allow", KIND_LIST, AT(http.allow),
	.check = config_http_check_rule,
	.help = "HOST[:PORT], *.HOST, IP[:PORT] or IP/BITS that may be "
		"reached although the guard is against it (list)"},
    [KEY_HTTP_DENY] = {"http", "deny", KIND_LIST, AT(http.deny),
	.check = config_http_check_rule,
	.help = "the same, that may not be reached whatever else is said "
		"(list)"},
    [KEY_HTTP_ALLOW_PRIVATE] = {"http", "allow_private", KIND_WORD,
	AT(http.allow_private), .words = bool_words, .def = "false",
	.help = "reach loopback, private and link-local addresses"},
    [KEY_HTTP_ALLOW_PUBLIC] = {"http", "allow_public", KIND_WORD,
	AT(http.allow_public), .words = bool_words, .def = "true",
	.help = "reach public addresses that http.allow does not name"},
    [KEY_HTTP_PORTS] = {"http", "ports", KIND_LIST, AT(http.ports),
	.check = config_http_check_port,
	.help = "the only ports that may be reached (list; default: all)"},
    [KEY_HTTP_ENV] = {"http", "env", KIND_LIST, AT(http.env),
	.check = config_http_check_name,
	.help = "names out of env.set whose values requests may have in "
		"their headers (list; default: none)"},
    [KEY_HTTP_RESOLVER] = {"http", "resolver", KIND_TEXT, AT(http.resolver),
	.check = config_http_check_resolver,
	.help = "IP:PORT of a name server (default: the host's)"},
    [KEY_HTTP_PROXY] = {"http", "proxy", KIND_TEXT, AT(http.proxy),
	.check = config_http_check_proxy,
	.help = "http://IP:PORT to send requests through; it then looks "
		"names up (default: none)"},
    [KEY_HTTP_CA_FILE] = {"http", "ca_file", KIND_PATH, AT(http.ca_file),
	.help = "absolute path of the certificates that https trusts "
		"(default: the host's)"},
    [KEY_HTTP_MAX_BODY] = {"http", "max_body", KIND_SIZE, AT(http.max_body),
	.min = 1024, .max = FS_READ_MAX, .def = "64M",
	.help = "bytes of a response that is not streamed, decompressed"},
    [KEY_HTTP_MAX_CONCURRENT] = {"http", "max_concurrent", KIND_NUMBER,
	AT(http.max_concurrent), .min = 1, .max = 128, .def = "32",
	.help = "requests of a session at a time"},
    [KEY_HTTP_MAX_REDIRECTS] = {"http", "max_redirects", KIND_NUMBER,
	AT(http.max_redirects), .min = 0, .max = 20, .def = "10",
	.help = "redirects that a request follows"},
    [KEY_AUDIT_FILE] = {"audit", "file", KIND_PATH, AT(audit.file),
	.help = "absolute path of a file that gets a JSON line an event "
		"(default: none)"},
    [KEY_AUDIT_SOCKET] = {"audit", "socket", KIND_PATH, AT(audit.socket),
	.help = "absolute path of a Unix datagram socket that gets them "
		"(default: none)"},
    [KEY_AUDIT_STDERR] = {"audit", "stderr", KIND_WORD, AT(audit.to_stderr),
	.words = bool_words, .def = "false",
	.help = "write them to standard error, among the log"},
    [KEY_AUDIT_ON_ERROR] = {"audit", "on_error", KIND_WORD, AT(audit.on_error),
	.words = on_error_words, .def = "continue",
	.help = "what to do if a line cannot be written; stop: end the server"},
    [KEY_AUDIT_RATE] = {"audit", "rate", KIND_NUMBER, AT(audit.rate), .min = 0,
	.max = 1000000, .def = "500",
	.help = "lines a second that net and exec may write about a session, "
		"and eight times that in all; 0: no limit"},
    [KEY_AUDIT_BURST] = {"audit", "burst", KIND_NUMBER, AT(audit.burst),
	.min = 1, .max = 1000000, .def = "5000",
	.help = "lines that may come at once before audit.rate counts"},
    [KEY_AUDIT_ARGV] = {"audit", "argv", KIND_WORD, AT(audit.argv),
	.words = argv_words, .def = "none",
	.help = "what is told of a command's arguments; hash: their SHA-256"},
    [KEY_AUDIT_CHAIN] = {"audit", "chain", KIND_WORD, AT(audit.chain),
	.words = bool_words, .def = "false",
	.help = "end each line of the file in a hash of it and the one before"},
    [KEY_AUDIT_KEY_FILE] = {"audit", "key_file", KIND_PATH, AT(audit.key_file),
	.help = "absolute path of a key for the chain, 16 to 4096 bytes "
		"(default: none, a plain hash)"},
    [KEY_LOG_LEVEL] = {"log", "level", KIND_WORD, AT(log_level),
	.words = log_words, .def = "info",
	.help = "least important lines to write"},
};
