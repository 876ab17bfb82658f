/*
 * Requests and ceilings for tests. A profile is written as words WHAT=ACCESS:
 *
 *   WHAT    an absolute path, g:PATTERN, root, min, cwd, tmpdir, slash,
 *           unknown, roots or roots/SUBPATH
 *   ACCESS  n none, r read, w write, d deny; with a '?' what is missing is
 *           skipped
 */
#ifndef TESTS_UNIT_DECIDE_WORDS_H
#define TESTS_UNIT_DECIDE_WORDS_H

#include "policy/decide.h"
#include "tests/unit/unit.h"

#define WORDS_MAX 64

struct words {
	struct profile_entry entries[WORDS_MAX];
	size_t count;
	char text[4096];
};

/* The access of a letter. */
enum plan_access words_access(char c);
void words_parse(struct words *w, const char *text);
/* A restricting request with those entries, /ws being cwd and root. */
struct decide_request words_request(const struct words *w);

/* A preset over two workspaces, /ws and /data/u/proj, the first with a file of
 * the server in it, /ws/server. */
void words_ceiling(enum decide_preset preset, bool network,
    struct plan_path paths[PLAN_PATHS_MAX], struct decide_ceiling *ceiling);

/* The entry of a plan for this very path, or NULL. */
const struct plan_path *words_find(const struct plan *plan, const char *path);

/* What the real client sends. */
#define READ_ONLY	"root=r"
#define HOLES_GIT	" roots/.git=r? roots/.agents=r?"
#define HOLES		HOLES_GIT " roots/.codex=r? roots/.aws=r?"
#define WORKSPACE_WRITE "root=r roots=w slash=w tmpdir=w" HOLES
#define NO_SLASH_TMP	"root=r roots=w" HOLES
#define PROXY		"roots=w root=r"

#define WORKSPACE DECIDE_PRESET_WORKSPACE
#define STRICT	  DECIDE_PRESET_STRICT
#define OPEN	  DECIDE_PRESET_OPEN

#endif
