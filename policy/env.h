/*
 * The environment of a child: what the client asked for, over the
 * administrator's base, without what looks like a credential. Pure: bytes in,
 * bytes out. Nothing of the server's own environment comes into it.
 *
 * A list is strings one after the other (buf_put_string), no count; a list of
 * pairs is name, value, name, value, ...
 *
 * Patterns are compared without case over the whole name: '*' is any run of
 * characters, '?' one character. An entry of the scrub list is
 *   with '*' or '?'  such a pattern (AWS_*);
 *   with '_'         the name itself (DATABASE_URL), as no word holds a '_';
 *   else             a word: it matches a name that has it among its parts
 *                    split at '_' (KEY: KEY, API_KEY and MY_KEY_ID, but
 *                    neither MONKEY nor KEYBOARD_LAYOUT).
 */
#ifndef POLICY_ENV_H
#define POLICY_ENV_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* [env] of the configuration, all borrowed. */
struct env_config {
	struct bytes base;  /* pairs: what a request may inherit */
	struct bytes scrub; /* list: names that no child gets */
	struct bytes allow; /* list of patterns: exempt from scrub */
};

/* The values of envPolicy.inherit, as enum env_inherit on the channel. */
enum env_request_inherit {
	ENV_REQUEST_INHERIT_NONE,
	ENV_REQUEST_INHERIT_CORE,
	ENV_REQUEST_INHERIT_ALL,
};

/* The part of a process/start that concerns the environment, all borrowed.
 * Members from inherit to include_only count only if has_policy. */
struct env_request {
	bool has_policy;
	bool ignore_default_excludes;
	unsigned int inherit;	   /* enum env_request_inherit */
	struct bytes exclude;	   /* list of patterns */
	struct bytes set;	   /* pairs */
	struct bytes include_only; /* list of patterns */
	struct bytes env;	   /* pairs */
	/* Pairs of the server's own making. They win over all others and are
	 * not scrubbed. */
	struct bytes added;
};

/*
 * Append to out the list of "NAME=VALUE" strings, sorted by name, each name
 * once (the later wins); and to dropped the list of names that the scrub list
 * took, never values. A name that holds a '=' counts as the part before it,
 * since that is what the child will see.
 *
 * CODEX_API_KEY, OPENAI_API_KEY and CODEX_ACCESS_TOKEN are always dropped,
 * whatever the lists say.
 *
 * Returns 0; -EINVAL if a list is malformed or holds a NUL byte; -E2BIG if
 * comparing the names with the patterns would take too long; -EMSGSIZE if out
 * or dropped would pass its maximum; -ENOMEM; each with e. Both buffers are
 * unchanged on failure.
 */
must_use int env_decide(const struct env_config *c, const struct env_request *r,
    struct buf *out, struct buf *dropped, struct err *e);

/* Whether pattern (see above) matches the whole of name. */
bool env_match(struct bytes pattern, struct bytes name);

/* What a configuration that says nothing has: NULL-terminated, base as pairs.
 * USER and LOGNAME are missing on purpose: the passwd entry that the child
 * sees knows better. */
extern const char *const env_base_default[];
extern const char *const env_scrub_default[];
/* What is dropped in any case: NULL-terminated. */
extern const char *const env_never[];

/* Append NULL-terminated strings as a list. -EMSGSIZE, -ENOMEM. */
must_use int env_list_put(const char *const *strings, struct buf *out);

/* Append c, to travel in a message. -EMSGSIZE, -ENOMEM. */
must_use int env_config_pack(const struct env_config *c, struct buf *out);
/*
 * Decode and check: each list at most ENV_CONFIG_MAX bytes and
 * ENV_PATTERNS_MAX strings (base: pairs), no NUL byte, no '=' in a name of
 * base. Views in c point into packed. Returns 0 or -EPROTO with e.
 */
must_use int env_config_unpack(struct bytes packed, struct env_config *c,
    struct err *e);

#endif
