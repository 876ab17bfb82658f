/*
 * Permission profiles: rules that give paths an access. Of the rules that
 * apply to a path the one with most components decides; among equals deny
 * beats write beats read; where none applies there is no access. A rule on a
 * path applies to it and to all below it. A rule that is a glob always denies,
 * has as many components as its literal directory, and applies to what it
 * matches and to all below that.
 */
#ifndef POLICY_PROFILE_H
#define POLICY_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* In order of strength: of two rules with one path the later wins. */
enum plan_access { PLAN_NONE, PLAN_READ, PLAN_WRITE, PLAN_DENY };

/* How much that lets one do, to be compared: 0 nothing, 1 read, 2 write. */
static inline unsigned int
profile_access_rank(enum plan_access access)
{
	switch (access) {
	case PLAN_NONE:
	case PLAN_DENY:
		return 0;
	case PLAN_READ:
		return 1;
	case PLAN_WRITE:
		break;
	}
	return 2;
}

/* What is left of a where b is the ceiling. */
enum plan_access profile_min(enum plan_access a, enum plan_access b);

struct profile_rule {
	char *path; /* owned: absolute, canonical; or the glob's pattern */
	size_t len;
	uint32_t depth; /* components; of a glob, those of its directory */
	enum plan_access access; /* never PLAN_NONE */
	bool glob;		 /* access is PLAN_DENY */
	bool skip_missing;	 /* what does not exist needs no protection */
};

struct profile {
	struct profile_rule *rules; /* owned, at most SANDBOX_RULES_MAX */
	size_t count, room;
};

/* What a dynamically linked program needs: NULL-terminated. A host may lack
 * any of it. */
extern const char *const profile_minimal[];

/* One entry of a request; the values of enum sandbox_path and sandbox_access
 * on the channel. text as there: canonical, where it is a path. */
enum profile_path {
	PROFILE_PATH,
	PROFILE_GLOB,
	PROFILE_ROOT,
	PROFILE_MINIMAL,
	PROFILE_CWD,
	PROFILE_PROJECT_ROOTS,
	PROFILE_TMPDIR,
	PROFILE_SLASH_TMP,
	PROFILE_UNKNOWN,
};

enum profile_access { PROFILE_READ, PROFILE_WRITE, PROFILE_DENY };

struct profile_entry {
	enum profile_path path;
	enum profile_access access;
	bool skip_missing;
	struct bytes text;
};

/* What names in entries stand for, all borrowed. */
struct profile_names {
	struct bytes cwd; /* absolute; empty when there is none */
	/* For project_roots; NULL when not given, then it is cwd. */
	const struct bytes *roots;
	size_t root_count;
	struct bytes tmpdir; /* the session's TMPDIR, absolute */
};

/*
 * The rules of a request. tmpdir and slash_tmp bring /dev/shm along, which is
 * scratch space of the session like they are. Names that are unknown give
 * nothing. Returns 0; with e -EINVAL if an entry needs a cwd and there is none
 * or a path or pattern is malformed; -ENOTSUP if it cannot be enforced (a glob
 * that grants, something unknown that is denied); -E2BIG past SANDBOX_RULES_MAX
 * rules; -ENOMEM. profile_done is due in all cases.
 */
must_use int profile_of_entries(struct profile *p,
    const struct profile_entry *entries, size_t count,
    const struct profile_names *names, struct err *e);

/* Add a rule for an absolute, canonical path; or the minimal list, readable.
 * -E2BIG, -ENOMEM, with e. */
must_use int profile_add(struct profile *p, struct bytes path,
    enum plan_access access, struct err *e);
must_use int profile_add_minimal(struct profile *p, struct err *e);

void profile_done(struct profile *p);

/* The access that p gives to an absolute, canonical path, and in *rule (which
 * may be NULL) the rule that decides; NULL if none does. */
enum plan_access profile_access(const struct profile *p, struct bytes path,
    const struct profile_rule **rule);

/* --- paths as text -------------------------------------------------------- */

/* Whether path is dir or lies below it. */
bool profile_is_in(struct bytes path, struct bytes dir);
/* Components of an absolute, canonical path; 0 for "/". */
uint32_t profile_depth(struct bytes path);

#endif
