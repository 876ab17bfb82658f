#include "supervisor/config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "policy/env.h"
#include "supervisor/config_row.h"
#include "supervisor/config_value.h"

static const char *const compat_words[] = {"codex", "openclaw", NULL};
static const char *const preset_words[] = {"workspace", "open", "strict", NULL};
static const char *const bool_words[] = {"false", "true", NULL};
static const char *const degraded_words[] = {"refuse", "allow", NULL};
static const char *const network_words[] = {"restricted", "enabled", NULL};
static const char *const on_error_words[] = {"continue", "stop", NULL};
static const char *const argv_words[] = {"none", "hash", "full", NULL};
static const char *const log_words[] = {"error", "warn", "info", "debug", NULL};

/* What a preset decides unless it is said otherwise: http.enabled, */
static const uint32_t preset_http[] = {
    [PRESET_WORKSPACE] = 1,
    [PRESET_OPEN] = 1,
    [PRESET_STRICT] = 0,
};
/* and enum network. */
static const uint32_t preset_network[] = {
    [PRESET_WORKSPACE] = NETWORK_RESTRICTED,
    [PRESET_OPEN] = NETWORK_ENABLED,
    [PRESET_STRICT] = NETWORK_RESTRICTED,
};

#define AT(member) offsetof(struct config, member)

/*
 * Ids of processes: below are the host's own users, and above the range that
 * id-mapping tools and the kernel's overflow values use.
 */
#define UID_MIN 1000
#define UID_MAX 0xfffeffff

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

const void *
config_member(const struct config *c, const struct config_row *row)
{
	return (const char *)c + row->offset;
}

static void *
member(struct config *c, const struct config_row *row)
{
	return (char *)c + row->offset;
}

static int
complain_list(int r, struct err *e)
{
	if (r == -E2BIG)
		return err_set(e, E2BIG, "too many items");
	return r < 0 ? err_set(e, ENOMEM, "out of memory") : 0;
}

static int
set_path(char **out, const char *value, struct err *e)
{
	char *copy;

	if (value[0] != '/' || strlen(value) >= PATH_LEN_MAX)
		return err_set(e, EINVAL, "\"%.64s\" is not an absolute path",
		    value);
	copy = strdup(value);
	if (copy == NULL)
		return err_set(e, ENOMEM, "out of memory");
	free(*out);
	*out = copy;
	return 0;
}

static int
set_name(char **out, const char *value, struct err *e)
{
	char *copy = NULL;

	if (strlen(value) >= CONFIG_PROFILE_NAME_MAX)
		return err_set(e, EINVAL, "\"%.40s\" is no profile's name",
		    value);
	if (value[0] != '\0') {
		copy = strdup(value);
		if (copy == NULL)
			return err_set(e, ENOMEM, "out of memory");
	}
	free(*out);
	*out = copy;
	return 0;
}

static int
set_text(const struct config_row *row, char **out, const char *value,
    struct err *e)
{
	char *copy = NULL;
	int r = value[0] != '\0' ? row->check(value, e) : 0;

	if (r < 0)
		return r;
	if (value[0] != '\0') {
		copy = strdup(value);
		if (copy == NULL)
			return err_set(e, ENOMEM, "out of memory");
	}
	free(*out);
	*out = copy;
	return 0;
}

static int
add_checked(const struct config_row *row, struct list *l, const char *value,
    struct err *e)
{
	int r = row->check(value, e);

	return r < 0 ? r : complain_list(list_add(l, value, HTTP_RULES_MAX), e);
}

static int
add_path(struct list *l, const char *value, bool fresh, struct err *e)
{
	if (value[0] == '\0' || strlen(value) >= PATH_LEN_MAX)
		return err_set(e, EINVAL, "want the path of a directory");
	if (fresh)
		list_clear(l);
	return complain_list(list_add(l, value, WORKSPACES_MAX), e);
}

/* Replace the assignment to the same name, or append. */
static int
add_assignment(struct list *l, const char *value, struct err *e)
{
	size_t name_len = strcspn(value, "=") + 1;
	int r = value_check_assignment(value, e);

	if (r < 0)
		return r;
	r = list_add(l, value, ENV_PATTERNS_MAX);
	if (r < 0)
		return complain_list(r, e);
	for (size_t i = 0; i + 1 < l->count; i++) {
		if (strncmp(l->items[i], value, name_len) != 0)
			continue;
		free(l->items[i]);
		l->items[i] = l->items[--l->count];
		break;
	}
	return 0;
}

static int
add_pattern(struct list *l, const char *value, bool fresh, struct err *e)
{
	int r = value_check_pattern(value, e);

	if (r < 0)
		return r;
	if (fresh)
		list_clear(l);
	return complain_list(list_add(l, value, ENV_PATTERNS_MAX), e);
}

/* fresh: no value of this level has come yet. */
static int
set_row(struct config *c, const struct config_row *row, const char *value,
    bool fresh, struct err *e)
{
	uint64_t number;
	int r;

	switch (row->kind) {
	case KIND_LISTEN:
		return listen_url_parse(value, member(c, row), e);
	case KIND_WORD:
		return value_word(value, row->words, member(c, row), e);
	case KIND_NUMBER:
		r = value_parse(value, LIMIT_COUNT, row->min, row->max, &number,
		    e);
		if (r == 0)
			*(uint32_t *)member(c, row) = (uint32_t)number;
		return r;
	case KIND_SIZE:
		r = value_parse(value, LIMIT_BYTES, row->min, row->max, &number,
		    e);
		if (r == 0)
			*(uint32_t *)member(c, row) = (uint32_t)number;
		return r;
	case KIND_TEXT:
		return set_text(row, member(c, row), value, e);
	case KIND_LIST:
		return add_checked(row, member(c, row), value, e);
	case KIND_PATH:
		return set_path(member(c, row), value, e);
	case KIND_NAME:
		return set_name(member(c, row), value, e);
	case KIND_PATHS:
		return add_path(member(c, row), value, fresh, e);
	case KIND_ENV:
		return add_assignment(member(c, row), value, e);
	case KIND_ALLOW:
		return add_pattern(member(c, row), value, false, e);
	case KIND_SCRUB:
		if (fresh && value[0] == '\0') {
			list_clear(member(c, row));
			return 0;
		}
		return add_pattern(member(c, row), value, fresh, e);
	}
	return err_set(e, EINVAL, "no such kind");
}

static int
set_limit(struct config *c, int k, const char *value, struct err *e)
{
	const unsigned int i = (unsigned int)(k - CONFIG_KEYS);
	const struct limit_row *row = &limit_rows[i];
	uint64_t v;
	int r = value_parse(value, row->unit, row->min, row->max, &v, e);

	if (r == 0)
		limits_set(&c->limits, i, v);
	return r;
}

bool
config_is_list(int key)
{
	return key < CONFIG_KEYS && config_rows[key].kind >= KIND_PATHS;
}

/* The number of a key, or -ENOENT with e. */
static int
find_key(const char *section, const char *key, struct err *e)
{
	bool known = strcmp(section, "limits") == 0;

	for (int i = 0; known && i < LIMIT_ROWS; i++)
		if (strcmp(limit_rows[i].key, key) == 0)
			return CONFIG_KEYS + i;
	for (int i = 0; i < CONFIG_KEYS; i++) {
		if (strcmp(config_rows[i].section, section) != 0)
			continue;
		known = true;
		if (strcmp(config_rows[i].key, key) == 0)
			return i;
	}
	if (!known)
		return err_set(e, ENOENT, "there is no section [%.48s]",
		    section);
	return err_set(e, ENOENT, "there is no key %.48s in [%.48s]", key,
	    section);
}

/* Whether no value of this level, or of this drop-in, has come yet. */
static bool
is_fresh(const struct config *c, enum config_level level, int k)
{
	if (level == CONFIG_DROPIN && c->level[k] == level)
		return c->from[k] != c->at.file;
	return c->level[k] < level;
}

/* Twice the same in one file is a slip of the pen. */
static bool
has_item(const struct config *c, enum config_level level, int k,
    const char *value, bool fresh)
{
	if (fresh || level == CONFIG_FLAG || k == KEY_ENV_SET ||
	    !config_is_list(k))
		return false;
	return list_has(config_member(c, &config_rows[k]), value);
}

int
config_set(struct config *c, enum config_level level, const char *section,
    const char *key, const char *value, struct err *e)
{
	struct err why = {0};
	int r, k;
	bool fresh;

	if (config_profile_is_section(section))
		return config_profile_set(&c->profiles, section, key, value,
		    c->at, e);
	k = find_key(section, key, e);
	if (k < 0)
		return k;
	fresh = is_fresh(c, level, k);
	/* On the command line the last one wins: wrappers append. */
	if (!fresh && !config_is_list(k) && level != CONFIG_FLAG)
		return err_set(e, EEXIST, "%s.%s is given twice", section, key);
	r = has_item(c, level, k, value, fresh)
		? err_set(&why, EEXIST, "\"%.64s\" is given twice", value)
		: 0;
	if (r == 0)
		r = k < CONFIG_KEYS
			? set_row(c, &config_rows[k], value, fresh, &why)
			: set_limit(c, k, value, &why);
	if (r < 0)
		return err_set(e, -r, "%s.%s: %s", section, key, why.text);
	c->level[k] = (uint8_t)level;
	c->from[k] = c->at.file;
	r = config_notes_add(&c->notes, k, (uint8_t)level, value, c->at);
	return r < 0 ? err_set(e, -r, "out of memory") : 0;
}

int
config_set_text(struct config *c, enum config_level level, const char *text,
    struct err *e)
{
	const char *equals = strchr(text, '='), *dot = strchr(text, '.');
	scoped_free char *copy = NULL;

	if (equals == NULL || dot == NULL || dot > equals)
		return err_set(e, EINVAL, "\"%.64s\" is not section.key=value",
		    text);
	copy = strdup(text);
	if (copy == NULL)
		return err_set(e, ENOMEM, "out of memory");
	copy[dot - text] = '\0';
	copy[equals - text] = '\0';
	return config_set(c, level, copy, copy + (dot - text) + 1,
	    equals + 1 - text + copy, e);
}

static int
init_env(struct config *c)
{
	const char *const *base = env_base_default;
	const char *const *scrub = env_scrub_default;
	scoped_buf text;
	int r = 0;

	buf_init(&text, ENV_CONFIG_MAX);
	for (; r == 0 && base[0] != NULL; base += 2) {
		buf_clear(&text);
		r = buf_printf(&text, "%s=%s", base[0], base[1]);
		if (r == 0)
			r = buf_put_u8(&text, 0);
		if (r == 0)
			r = list_add(&c->env_set, (const char *)text.data,
			    ENV_PATTERNS_MAX);
	}
	for (; r == 0 && scrub[0] != NULL; scrub++)
		r = list_add(&c->env_scrub, scrub[0], ENV_PATTERNS_MAX);
	return r;
}

int
config_init(struct config *c)
{
	int r = 0;

	*c = (struct config){0};
	limits_init(&c->limits);
	for (size_t i = 0; i < CONFIG_KEYS && r == 0; i++)
		if (config_rows[i].def != NULL)
			r = set_row(c, &config_rows[i], config_rows[i].def,
			    true, NULL);
	return r < 0 ? r : init_env(c);
}

void
config_done(struct config *c)
{
	list_clear(&c->workspaces);
	list_clear(&c->env_set);
	list_clear(&c->env_allow);
	list_clear(&c->env_scrub);
	free(c->profile);
	free(c->child_policy);
	c->profile = c->child_policy = NULL;
	config_audit_done(&c->audit);
	config_http_done(&c->http);
	config_profiles_clear(&c->profiles);
	config_notes_clear(&c->notes);
	list_clear(&c->files);
}

int
config_finish(struct config *c, struct err *e)
{
	/* Sessions that are ending keep theirs: exec counts on twice as many.
	 */
	uint64_t last = c->uid_base + 2 * c->limits.sessions_max - 1;
	const struct config_profile *p = config_profile_of(c);

	if (c->profile != NULL && p == NULL)
		return err_set(e, EINVAL,
		    "sandbox.profile: there is no [profile \"%s\"]",
		    c->profile);
	if (p != NULL && c->preset == PRESET_OPEN)
		return err_set(e, EINVAL,
		    "sandbox.profile: the preset open has no ceiling");
	if (c->level[KEY_NETWORK] < CONFIG_PRESET) {
		c->network = p != NULL && p->has_network
				 ? p->network
				 : preset_network[c->preset];
		c->level[KEY_NETWORK] = CONFIG_PRESET;
	}
	if (c->level[KEY_HTTP_ENABLED] < CONFIG_PRESET) {
		c->http.enabled = preset_http[c->preset];
		c->level[KEY_HTTP_ENABLED] = CONFIG_PRESET;
	}
	if (last > UID_MAX)
		return err_set(e, EINVAL,
		    "sandbox.uid_base: no room for limits.sessions_max ids");
	if (c->net_uid >= c->uid_base && c->net_uid <= last)
		return err_set(e, EINVAL,
		    "sandbox.net_uid: lies among the ids of sessions");
	if (c->http_uid >= c->uid_base && c->http_uid <= last)
		return err_set(e, EINVAL,
		    "sandbox.http_uid: lies among the ids of sessions");
	if (c->http_uid == c->net_uid)
		return err_set(e, EINVAL,
		    "sandbox.http_uid: is sandbox.net_uid as well");
	if (config_audit_check(&c->audit, e) < 0)
		return -EINVAL;
	return config_http_check(&c->http, &c->env_set, e);
}

const struct config_profile *
config_profile_of(const struct config *c)
{
	return c->profile == NULL
		   ? NULL
		   : config_profile_find(&c->profiles, c->profile);
}

const char *
config_preset_name(uint32_t preset)
{
	return preset_words[preset];
}
