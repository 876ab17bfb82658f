#include "supervisor/config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "policy/env.h"
#include "supervisor/config_value.h"

enum kind {
	KIND_LISTEN, /* struct listen_url */
	KIND_WORD,   /* uint32_t, one of words */
	KIND_NUMBER, /* uint32_t */
	KIND_PATH,   /* char *, an absolute path */
	KIND_PATHS,  /* struct list; a higher level replaces it */
	KIND_ENV,    /* struct list; the same name is replaced */
	KIND_ALLOW,  /* struct list; a higher level adds to it */
	KIND_SCRUB,  /* struct list; a higher level replaces it */
};

struct row {
	const char *section, *key;
	enum kind kind;
	size_t offset;
	const char *const *words; /* KIND_WORD */
	uint64_t min, max;	  /* KIND_NUMBER */
	const char *def;	  /* as text; NULL: described in help */
	const char *help;
};

static const char *const compat_words[] = {"codex", "openclaw", NULL};
static const char *const preset_words[] = {"workspace", "open", "strict", NULL};
static const char *const bool_words[] = {"false", "true", NULL};
static const char *const degraded_words[] = {"refuse", "allow", NULL};
static const char *const network_words[] = {"restricted", "enabled", NULL};
static const char *const log_words[] = {"error", "warn", "info", "debug", NULL};

/* What a preset decides unless it is said otherwise: enum network. */
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

static const struct row rows[CONFIG_KEYS] = {
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
    [KEY_NETWORK] = {"profile", "network", KIND_WORD, AT(network),
	.words = network_words,
	.help = "network of commands (default: enabled with the preset "
		"open, else restricted)"},
    [KEY_ATOMIC_WRITES] = {"fs", "atomic_writes", KIND_WORD, AT(atomic_writes),
	.words = bool_words, .def = "false",
	.help = "fs/writeFile writes beside and renames: all or nothing, but "
		"a new inode, and links are not kept"},
    [KEY_AUDIT_FILE] = {"audit", "file", KIND_PATH, AT(audit_file),
	.help = "absolute path of a file that gets a JSON line an event "
		"(default: none)"},
    [KEY_LOG_LEVEL] = {"log", "level", KIND_WORD, AT(log_level),
	.words = log_words, .def = "info",
	.help = "least important lines to write"},
};

static void *
member(struct config *c, const struct row *row)
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
set_row(struct config *c, const struct row *row, const char *value, bool fresh,
    struct err *e)
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
	case KIND_PATH:
		return set_path(member(c, row), value, e);
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

static bool
is_list(int key)
{
	return key < CONFIG_KEYS && rows[key].kind >= KIND_PATHS;
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
		if (strcmp(rows[i].section, section) != 0)
			continue;
		known = true;
		if (strcmp(rows[i].key, key) == 0)
			return i;
	}
	if (!known)
		return err_set(e, ENOENT, "there is no section [%.48s]",
		    section);
	return err_set(e, ENOENT, "there is no key %.48s in [%.48s]", key,
	    section);
}

int
config_set(struct config *c, enum config_level level, const char *section,
    const char *key, const char *value, struct err *e)
{
	struct err why = {0};
	int r, k = find_key(section, key, e);
	bool fresh;

	if (k < 0)
		return k;
	fresh = c->level[k] < level;
	/* On the command line the last one wins: wrappers append. */
	if (!fresh && !is_list(k) && level == CONFIG_FILE)
		return err_set(e, EEXIST, "%s.%s is given twice", section, key);
	r = k < CONFIG_KEYS ? set_row(c, &rows[k], value, fresh, &why)
			    : set_limit(c, k, value, &why);
	if (r < 0)
		return err_set(e, -r, "%s.%s: %s", section, key, why.text);
	c->level[k] = (uint8_t)level;
	return 0;
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
		if (rows[i].def != NULL)
			r = set_row(c, &rows[i], rows[i].def, true, NULL);
	return r < 0 ? r : init_env(c);
}

void
config_done(struct config *c)
{
	list_clear(&c->workspaces);
	list_clear(&c->env_set);
	list_clear(&c->env_allow);
	list_clear(&c->env_scrub);
	free(c->audit_file);
	c->audit_file = NULL;
}

int
config_finish(struct config *c, struct err *e)
{
	uint64_t last = c->uid_base + c->limits.sessions_max - 1;

	if (c->level[KEY_NETWORK] < CONFIG_PRESET) {
		c->network = preset_network[c->preset];
		c->level[KEY_NETWORK] = CONFIG_PRESET;
	}
	if (last > UID_MAX)
		return err_set(e, EINVAL,
		    "sandbox.uid_base: no room for limits.sessions_max ids");
	if (c->net_uid >= c->uid_base && c->net_uid <= last)
		return err_set(e, EINVAL,
		    "sandbox.net_uid: lies among the ids of sessions");
	return 0;
}

const char *
config_preset_name(uint32_t preset)
{
	return preset_words[preset];
}

/* Only the name of "NAME=VALUE": a value may be a secret. */
static int
put_items(const struct row *row, const struct list *l, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < l->count && r == 0; i++) {
		const char *item = l->items[i];
		size_t len =
		    row->kind == KIND_ENV ? strcspn(item, "=") : strlen(item);

		r = buf_printf(out, "%s.%s = ", row->section, row->key);
		if (r == 0)
			r = buf_put(out, item, len);
		if (r == 0)
			r = buf_put_u8(out, '\n');
	}
	return r;
}

static int
put_row(const struct config *c, const struct row *row, struct buf *out)
{
	const void *at = (const char *)c + row->offset;

	switch (row->kind) {
	case KIND_WORD:
		return buf_printf(out, "%s.%s = %s\n", row->section, row->key,
		    row->words[*(const uint32_t *)at]);
	case KIND_NUMBER:
		return buf_printf(out, "%s.%s = %u\n", row->section, row->key,
		    *(const uint32_t *)at);
	case KIND_PATHS:
	case KIND_ENV:
	case KIND_ALLOW:
	case KIND_SCRUB:
		return put_items(row, at, out);
	case KIND_LISTEN:
	case KIND_PATH:
		break; /* where the server is and logs is no right of a child */
	}
	return 0;
}

int
config_put_policy(const struct config *c, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < CONFIG_KEYS && r == 0; i++)
		if (i != KEY_LOG_LEVEL)
			r = put_row(c, &rows[i], out);
	for (unsigned int i = 0; i < LIMIT_ROWS && r == 0; i++) {
		r = buf_printf(out, "limits.%s = ", limit_rows[i].key);
		if (r == 0)
			r = value_put(limits_get(&c->limits, i),
			    limit_rows[i].unit, out);
		if (r == 0)
			r = buf_put_u8(out, '\n');
	}
	return r;
}

static int
put_row_help(const struct row *row, struct buf *out)
{
	int r = buf_printf(out, "  %s.%s = ", row->section, row->key);

	for (size_t i = 0; row->words != NULL && row->words[i] != NULL; i++)
		if (r == 0)
			r = buf_printf(out, "%s%s", i > 0 ? "|" : "",
			    row->words[i]);
	if (r == 0 && row->words == NULL)
		r = buf_printf(out, "%s",
		    row->kind == KIND_LISTEN   ? "ws://IP:PORT"
		    : row->kind == KIND_NUMBER ? "NUMBER"
		    : row->kind == KIND_ENV    ? "NAME=VALUE"
		    : row->kind >= KIND_ALLOW  ? "PATTERN"
					       : "PATH");
	if (r == 0 && row->def != NULL)
		r = buf_printf(out, " (default %s)", row->def);
	return r < 0 ? r : buf_printf(out, "\n      %s\n", row->help);
}

static int
put_limit_help(const struct limit_row *row, struct buf *out)
{
	static const char *const kinds[] = {
	    [LIMIT_MS] = "DURATION",
	    [LIMIT_BYTES] = "SIZE",
	    [LIMIT_COUNT] = "NUMBER",
	};
	int r = buf_printf(out, "  limits.%s = %s (default ", row->key,
	    kinds[row->unit]);

	if (r == 0)
		r = value_put(row->def, row->unit, out);
	if (r == 0)
		r = buf_printf(out, ", ");
	if (r == 0)
		r = value_put(row->min, row->unit, out);
	if (r == 0)
		r = buf_printf(out, " to ");
	if (r == 0)
		r = value_put(row->max, row->unit, out);
	return r < 0 ? r : buf_printf(out, ")\n      %s\n", row->reason);
}

int
config_put_help(struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < CONFIG_KEYS && r == 0; i++)
		r = put_row_help(&rows[i], out);
	for (unsigned int i = 0; i < LIMIT_ROWS && r == 0; i++)
		r = put_limit_help(&limit_rows[i], out);
	return r;
}
