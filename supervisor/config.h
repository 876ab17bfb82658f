/*
 * The configuration: one table of keys, filled from built-in values, the
 * preset, a file in INI form, its drop-ins (conf.d/NAME.conf beside it, by
 * name) and the command line; the later wins. And profiles, which are no keys:
 * config_profile.h.
 *
 *   [section]
 *   key = value
 *
 * A value is taken as it stands up to the end of the line, without the blanks
 * around it; there are no quotes. Comments are lines that begin with '#' or
 * ';'. A list key may be repeated, any other key is given once in the file; on
 * the command line the last one wins. Nothing unknown is ignored.
 */
#ifndef SUPERVISOR_CONFIG_H
#define SUPERVISOR_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "privsep/role.h"
#include "supervisor/config_audit.h"
#include "supervisor/config_backend.h"
#include "supervisor/config_http.h"
#include "supervisor/config_note.h"
#include "supervisor/config_profile.h"
#include "supervisor/list.h"
#include "supervisor/listen_url.h"

#define CONFIG_FILE_MAX	  (256u * 1024u) /* bytes of a configuration file */
#define CONFIG_LINE_MAX	  8192		 /* bytes of a line */
#define CONFIG_ERRORS_MAX (16u * 1024u)	 /* bytes of all complaints */
#define CONFIG_FILES_MAX  64		 /* the file and its drop-ins */

/* Where a value came from; a higher one wins. */
enum config_level {
	CONFIG_BUILTIN,
	CONFIG_PRESET,
	CONFIG_FILE,
	CONFIG_DROPIN, /* conf.d beside the file; a later one wins */
	CONFIG_FLAG,
};

/* The keys that are not limits; a limit's number is CONFIG_KEYS + its row. */
enum config_key {
	KEY_LISTEN,
	KEY_WORKSPACE,
	KEY_COMPAT,
	KEY_ENV_SET,
	KEY_ENV_ALLOW,
	KEY_ENV_SCRUB,
	KEY_PRESET,
	KEY_PROFILE,
	KEY_CHILD_POLICY,
	KEY_ALLOW_ROOT,
	KEY_DEGRADED,
	KEY_UID_BASE,
	KEY_NET_UID,
	KEY_HTTP_UID,
	KEY_NETWORK,
	KEY_ATOMIC_WRITES,
	KEY_BACKEND_TYPE,
	KEY_BACKEND_TARGET,
	KEY_BACKEND_START,
	KEY_BACKEND_SIGNAL,
	KEY_BACKEND_PREPARE,
	KEY_BACKEND_TERMINATE,
	KEY_BACKEND_FINALIZE,
	KEY_BACKEND_UID,
	KEY_BACKEND_GID,
	KEY_BACKEND_SOCKET,
	KEY_BACKEND_ISOLATED,
	KEY_BACKEND_INSPECT,
	KEY_BACKEND_HTTP,
	KEY_BACKEND_FILES,
	KEY_BACKEND_BIND,
	KEY_BACKEND_WORKER,
	KEY_BACKEND_LOST_STATUS,
	KEY_HTTP_ENABLED,
	KEY_HTTP_ALLOW,
	KEY_HTTP_DENY,
	KEY_HTTP_ALLOW_PRIVATE,
	KEY_HTTP_ALLOW_PUBLIC,
	KEY_HTTP_PORTS,
	KEY_HTTP_ENV,
	KEY_HTTP_RESOLVER,
	KEY_HTTP_PROXY,
	KEY_HTTP_CA_FILE,
	KEY_HTTP_MAX_BODY,
	KEY_HTTP_MAX_CONCURRENT,
	KEY_HTTP_MAX_REDIRECTS,
	KEY_AUDIT_FILE,
	KEY_AUDIT_SOCKET,
	KEY_AUDIT_STDERR,
	KEY_AUDIT_ON_ERROR,
	KEY_AUDIT_RATE,
	KEY_AUDIT_BURST,
	KEY_AUDIT_ARGV,
	KEY_AUDIT_CHAIN,
	KEY_AUDIT_KEY_FILE,
	KEY_LOG_LEVEL,
	CONFIG_KEYS
};

struct config {
	struct listen_url listen;
	struct list workspaces;
	uint32_t compat; /* enum compat */
	struct limits limits;
	struct list env_set;   /* "NAME=VALUE", defaults included */
	struct list env_allow; /* patterns */
	struct list env_scrub; /* patterns */
	uint32_t preset;       /* enum preset */
	char *profile;	       /* heap; NULL: the preset's ceiling */
	char *child_policy;    /* heap; NULL: the built-in one */
	uint32_t allow_root;   /* 0 or 1 */
	uint32_t degraded;     /* 0 or 1 */
	uint32_t uid_base, net_uid, http_uid;
	struct config_backend backend;
	struct config_http http;
	uint32_t network;	/* enum network */
	uint32_t atomic_writes; /* 0 or 1 */
	struct config_audit audit;
	uint32_t log_level; /* enum log_level */
	/* enum config_level of each key */
	uint8_t level[CONFIG_KEYS + LIMIT_ROWS];
	/* The file that set it last, one of files; NULL: none did. */
	const char *from[CONFIG_KEYS + LIMIT_ROWS];
	struct config_profiles profiles;
	struct config_notes notes;
	struct list files;	/* that were read, in order */
	struct config_place at; /* where the setting to come stands */
};

/* Fill in the built-in values. Returns 0 or -ENOMEM. c is to be released
 * with config_done in both cases. */
must_use int config_init(struct config *c);
void config_done(struct config *c);

/*
 * Set one key. Returns 0; -ENOENT if there is no such section or key; -EINVAL,
 * -ERANGE if the value is wrong or out of bounds; -EEXIST if the key is no
 * list and has been set by the same file already, or by what wins over it, or
 * the list has that very item; -E2BIG if a list is full; -ENOMEM; each with e,
 * which names the key. c->at says where the setting stands.
 */
must_use int config_set(struct config *c, enum config_level level,
    const char *section, const char *key, const char *value, struct err *e);

/* The same for "section.key=value". */
must_use int config_set_text(struct config *c, enum config_level level,
    const char *text, struct err *e);

/*
 * Apply the text of a file at CONFIG_FILE. Every complaint becomes a line
 * "name:line: what is wrong" in errors; when errors is full the rest is not
 * told. Returns 0; -EINVAL if there was a complaint; -ENOMEM.
 */
must_use int config_parse(struct config *c, const char *name, struct bytes text,
    struct buf *errors);
must_use int config_parse_at(struct config *c, enum config_level level,
    const char *name, struct bytes text, struct buf *errors);

/* Read the regular file at path and apply it at level: config_parse. A file
 * that cannot be read is a complaint as well. */
must_use int config_load(struct config *c, enum config_level level,
    const char *path, struct buf *errors);

/* The same for each drop-in of the file at path: conf.d beside it, names that
 * end in .conf and do not begin with a dot, in the order of their bytes. */
must_use int config_load_dropins(struct config *c, const char *path,
    struct buf *errors);

/* The directory of the drop-ins of the file at path. */
must_use int config_dropin_path(const char *path, char out[PATH_LEN_MAX]);

/*
 * After all values are set: fill in what the preset decides and check what
 * depends on two keys. Returns 0 or -EINVAL with e.
 */
must_use int config_finish(struct config *c, struct err *e);

/* Append the effective policy as text, one "section.key = value" a line, in
 * table order: the same policy gives the same text. Of [env] only names are
 * in it. -EMSGSIZE, -ENOMEM. */
must_use int config_put_policy(const struct config *c, struct buf *out);

/* Append the table for a person: key, kind, bounds, default, what it is. */
must_use int config_put_help(struct buf *out);

/* --- for those who show it ----------------------------------------------- */

/* The profile in force; NULL: the preset's own ceiling. */
const struct config_profile *config_profile_of(const struct config *c);

/*
 * One line of the table: number is below CONFIG_KEYS + LIMIT_ROWS, item counts
 * the items of a list (any other key has one). name becomes "section.key",
 * value its text, *note where it came from (NULL: built in, or the preset's if
 * that is its level). Returns 0; -ENOENT behind the last item; -EMSGSIZE,
 * -ENOMEM. Values of [env] are left out: they may be secrets.
 */
must_use int config_get(const struct config *c, int number, size_t item,
    struct buf *name, struct buf *value, const struct config_note **note);

const char *config_preset_name(uint32_t preset);

#endif
