#include "supervisor/config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "policy/env.h"
#include "supervisor/config_row.h"
#include "supervisor/config_value.h"

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
	config_backend_done(&c->backend);
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
	if (c->preset == PRESET_OPEN &&
	    (c->backend.uid != 0 || c->backend.gid != 0))
		return err_set(e, EINVAL,
		    "backend.%s: the preset open runs everything as the "
		    "server's own user",
		    c->backend.uid != 0 ? "uid" : "gid");
	if (config_audit_check(&c->audit, e) < 0 ||
	    config_backend_check(&c->backend, e) < 0)
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
	return config_rows[KEY_PRESET].words[preset];
}
