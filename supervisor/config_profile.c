#include "supervisor/config_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/path.h"
#include "privsep/role.h"
#include "supervisor/config_value.h"

#define HEAD "profile \""

static const char *const network_words[] = {"restricted", "enabled", NULL};
static const char *const socket_words[] = {
    [PLAN_UNIX_PRIVATE] = "private",
    [PLAN_UNIX_DENY] = "deny",
    [PLAN_UNIX_HOST] = "host",
    NULL,
};

static const char *const places[] = {"{workspace}", "{tmp}", NULL};

const char *
config_access_name(enum plan_access access)
{
	switch (access) {
	case PLAN_READ:
		return "read";
	case PLAN_WRITE:
		return "write";
	case PLAN_DENY:
		return "deny";
	case PLAN_NONE:
		break;
	}
	return "none";
}

const char *
config_sockets_name(uint32_t sockets)
{
	return socket_words[sockets];
}

bool
config_profile_is_section(const char *section)
{
	return strncmp(section, "profile ", 8) == 0;
}

/* --- a line --------------------------------------------------------------- */

static int
read_name(const char *section, char name[CONFIG_PROFILE_NAME_MAX],
    struct err *e)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t head = strlen(HEAD), len = strlen(section);

	if (strncmp(section, HEAD, head) != 0 || len < head + 2 ||
	    section[len - 1] != '"' || len - head > CONFIG_PROFILE_NAME_MAX ||
	    strspn(section + head, good) != len - head - 1)
		return err_set(e, EINVAL,
		    "want [profile \"NAME\"], a name of at most %d small "
		    "letters, digits, - and _",
		    CONFIG_PROFILE_NAME_MAX - 1);
	memcpy(name, section + head, len - head - 1);
	name[len - head - 1] = '\0';
	return 0;
}

static struct config_profile *
find(const struct config_profiles *all, const char *name)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i]->name, name) == 0)
			return all->items[i];
	return NULL;
}

const struct config_profile *
config_profile_find(const struct config_profiles *all, const char *name)
{
	return find(all, name);
}

static int
find_or_make(struct config_profiles *all, const char *name,
    struct config_place at, struct config_profile **out, struct err *e)
{
	*out = find(all, name);
	if (*out != NULL)
		return 0;
	if (all->count == CONFIG_PROFILES_MAX)
		return err_set(e, E2BIG, "more than %d profiles",
		    CONFIG_PROFILES_MAX);
	*out = calloc(1, sizeof **out);
	if (*out == NULL)
		return err_set(e, ENOMEM, "out of memory");
	memcpy((*out)->name, name, CONFIG_PROFILE_NAME_MAX);
	(*out)->at = at;
	all->items[all->count++] = *out;
	return 0;
}

/* Behind a placeholder, or NULL if there is none in front. */
static const char *
behind_place(const char *value)
{
	for (size_t i = 0; places[i] != NULL; i++)
		if (strncmp(value, places[i], strlen(places[i])) == 0)
			return value + strlen(places[i]);
	return NULL;
}

static int
check_path(const char *value, enum plan_access access, struct err *e)
{
	const char *rest = behind_place(value);

	if (strlen(value) >= PATH_LEN_MAX)
		return err_set(e, EINVAL, "the path is too long");
	if (value[strcspn(value, "*?[")] != '\0')
		return err_set(e, EINVAL, "\"%.48s\": patterns are not taken",
		    value);
	if (rest == NULL && value[0] == '{')
		return err_set(e, EINVAL,
		    "\"%.48s\": want {workspace}, {tmp} or a path", value);
	if (!path_is_canonical(bytes_of(rest == NULL || *rest != '\0'
					    ? (rest != NULL ? rest : value)
					    : "/")))
		return err_set(e, EINVAL,
		    "\"%.48s\" is not an absolute path without . and ..",
		    value);
	if (strcmp(value, "/") == 0 && access != PLAN_READ)
		return err_set(e, EINVAL, "\"/\" can be read, nothing else");
	return 0;
}

static int
add_rule(struct config_profile *p, enum plan_access access, const char *value,
    struct config_place at, struct err *e)
{
	int r = check_path(value, access, e);

	for (size_t i = 0; i < p->rule_count && r == 0; i++) {
		const struct config_rule *other = &p->rules[i];

		if (strcmp(other->path, value) == 0)
			r = err_set(e, EEXIST,
			    "\"%.40s\" has %s by line %u already", value,
			    config_access_name(other->access), other->at.line);
	}
	if (r < 0)
		return r;
	if (p->rule_count == CONFIG_PROFILE_RULES_MAX)
		return err_set(e, E2BIG, "more than %d paths",
		    CONFIG_PROFILE_RULES_MAX);
	p->rules[p->rule_count] = (struct config_rule){.path = strdup(value),
	    .access = access,
	    .at = at};
	if (p->rules[p->rule_count].path == NULL)
		return err_set(e, ENOMEM, "out of memory");
	p->rule_count++;
	return 0;
}

static int
set_word(bool *has, uint32_t *to, struct config_place *to_at,
    const char *const *words, const char *value, struct config_place at,
    struct err *e)
{
	int r;

	if (*has && to_at->file == at.file)
		return err_set(e, EEXIST, "is given twice");
	r = value_word(value, words, to, e);
	if (r < 0)
		return r;
	*has = true;
	*to_at = at;
	return 0;
}

static int
set_key(struct config_profile *p, const char *key, const char *value,
    struct config_place at, struct err *e)
{
	if (strcmp(key, "read") == 0)
		return add_rule(p, PLAN_READ, value, at, e);
	if (strcmp(key, "write") == 0)
		return add_rule(p, PLAN_WRITE, value, at, e);
	if (strcmp(key, "deny") == 0)
		return add_rule(p, PLAN_DENY, value, at, e);
	if (strcmp(key, "network") == 0)
		return set_word(&p->has_network, &p->network, &p->network_at,
		    network_words, value, at, e);
	if (strcmp(key, "unix_sockets") == 0)
		return set_word(&p->has_sockets, &p->sockets, &p->sockets_at,
		    socket_words, value, at, e);
	return err_set(e, ENOENT, "there is no such key");
}

int
config_profile_set(struct config_profiles *all, const char *section,
    const char *key, const char *value, struct config_place at, struct err *e)
{
	char name[CONFIG_PROFILE_NAME_MAX] = "";
	struct config_profile *p;
	struct err why = {0};
	int r = read_name(section, name, e);

	if (r == 0)
		r = find_or_make(all, name, at, &p, e);
	if (r < 0)
		return r;
	r = set_key(p, key, value, at, &why);
	return r < 0 ? err_set(e, -r, "profile %s: %.24s: %s", name, key,
			   why.text)
		     : 0;
}

void
config_profiles_clear(struct config_profiles *all)
{
	for (size_t i = 0; i < all->count; i++) {
		for (size_t j = 0; j < all->items[i]->rule_count; j++)
			free(all->items[i]->rules[j].path);
		free(all->items[i]);
	}
	all->count = 0;
}

int
config_profile_put(const struct config_profile *p, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < p->rule_count && r == 0; i++)
		r = buf_printf(out, "profile.%s.%s = %s\n", p->name,
		    config_access_name(p->rules[i].access), p->rules[i].path);
	if (r == 0 && p->has_network)
		r = buf_printf(out, "profile.%s.network = %s\n", p->name,
		    network_words[p->network]);
	if (r == 0 && p->has_sockets)
		r = buf_printf(out, "profile.%s.unix_sockets = %s\n", p->name,
		    socket_words[p->sockets]);
	return r;
}
