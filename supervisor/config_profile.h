/*
 * [profile "NAME"] of the configuration: a ceiling that an administrator
 * spells out, in the place of the preset's.
 *
 *   read, write, deny   a path (list); {workspace} stands for every workspace,
 *                       {tmp} for the session's scratch space (/tmp, /dev/shm)
 *   network             restricted or enabled
 *   unix_sockets        private, deny or host
 *
 * "read = /" shows the host's files; without it the minimal root is all that
 * is there. Of two rules the longer path decides.
 */
#ifndef SUPERVISOR_CONFIG_PROFILE_H
#define SUPERVISOR_CONFIG_PROFILE_H

#include <stdbool.h>

#include "base/err.h"
#include "policy/decide.h"
#include "supervisor/config_note.h"
#include "supervisor/list.h"

#define CONFIG_PROFILES_MAX	 16
#define CONFIG_PROFILE_RULES_MAX 48
#define CONFIG_PROFILE_NAME_MAX	 32 /* bytes, the final NUL included */

struct config_rule {
	char *path; /* owned, as written */
	enum plan_access access;
	struct config_place at;
};

struct config_profile {
	char name[CONFIG_PROFILE_NAME_MAX];
	struct config_rule rules[CONFIG_PROFILE_RULES_MAX];
	size_t rule_count;
	bool has_network, has_sockets;
	uint32_t network; /* enum network */
	uint32_t sockets; /* enum plan_unix_sockets */
	struct config_place at, network_at, sockets_at;
};

struct config_profiles {
	struct config_profile *items[CONFIG_PROFILES_MAX]; /* owned */
	size_t count;
};

/* Whether section is such a heading, well-formed or not. */
bool config_profile_is_section(const char *section);

/*
 * Set a key of the profile that section names, which is made if it is new.
 * Returns 0; -EINVAL for a wrong name or value; -ENOENT for an unknown key;
 * -EEXIST if a key is given twice, or a path with the same or another access;
 * -E2BIG past a maximum; -ENOMEM; each with e, which names the key.
 */
must_use int config_profile_set(struct config_profiles *all,
    const char *section, const char *key, const char *value,
    struct config_place at, struct err *e);
void config_profiles_clear(struct config_profiles *all);

/* NULL if there is none of that name. */
const struct config_profile *
config_profile_find(const struct config_profiles *all, const char *name);

/* A ceiling with where each of its paths comes from. */
struct config_ceiling {
	struct decide_ceiling ceiling; /* network_enabled is the caller's */
	struct plan_path paths[PLAN_PATHS_MAX];
	/* NULL: sallyport's own (scratch space, protected files) */
	const struct config_rule *rules[PLAN_PATHS_MAX];
	char *owned[PLAN_PATHS_MAX]; /* expanded paths */
};

/*
 * Expand p's placeholders. Real paths of workspaces; read_only are files of
 * our own, which no rule may open for writing. Returns 0; -EINVAL if a path
 * cannot be what the rule says, -E2BIG past PLAN_PATHS_MAX paths, -ENOMEM; each
 * with e as "FILE:LINE: ...". config_ceiling_done is due in all cases.
 */
must_use int config_ceiling_init(struct config_ceiling *c,
    const struct config_profile *p, const struct list *workspaces,
    const struct list *read_only, struct err *e);
void config_ceiling_done(struct config_ceiling *c);

/* Append the profile as text, a "profile.NAME.key = value" a line. */
must_use int config_profile_put(const struct config_profile *p,
    struct buf *out);

const char *config_access_name(enum plan_access access);
const char *config_sockets_name(uint32_t sockets);

#endif
