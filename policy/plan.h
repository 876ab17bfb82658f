/*
 * What a start, or a file worker, may do, fully resolved: nothing is left to
 * decide when it is carried out.
 *
 * Paths are text. Whoever mounts opens each without following a symbolic link
 * in any component (RESOLVE_NO_SYMLINKS), in the view as it is so far. Where a
 * link stands in the way, a path with less access than what is around it is
 * masked at the link itself, and one with more is left out: through a link
 * nothing is gained.
 */
#ifndef POLICY_PLAN_H
#define POLICY_PLAN_H

#include "base/limits.h"
#include "policy/profile.h"

/* Paths of a ceiling. */
#define PLAN_PATHS_MAX	      64
/* Paths of a plan that get a placeholder where they are missing: four for each
 * of SANDBOX_ROOTS_MAX roots. */
#define PLAN_PLACEHOLDERS_MAX 256

/* The files that a command sees before paths are mounted in it. */
enum plan_view {
	PLAN_VIEW_HOST,	   /* the host's root, read-only */
	PLAN_VIEW_MINIMAL, /* profile_minimal, read-only */
	PLAN_VIEW_OPEN,	   /* the host's root as it is; no file ceiling */
	PLAN_VIEW_EMPTY,   /* nothing but the mount points of what is listed */
};

enum plan_unix_sockets {
	PLAN_UNIX_PRIVATE, /* no path socket of the host can be reached */
	PLAN_UNIX_DENY, /* socket(AF_UNIX) is refused, pairs of streams stay */
	PLAN_UNIX_HOST, /* as the view lets it */
};

/* What to do about a path that does not exist. */
enum plan_missing {
	PLAN_MISSING_IGNORE,
	/* An empty directory is made there, or at the first component that is
	 * missing, and mounted as access says; or what is protected could be
	 * planted. It is removed when the session's last child has ended. */
	PLAN_MISSING_PLACEHOLDER,
};

/* Whose rule it is. */
enum plan_layer { PLAN_CLIENT, PLAN_CEILING, PLAN_LAYERS };

/* One path of a view. A ceiling's has path and access alone. */
struct plan_path {
	const char *path; /* absolute, canonical, borrowed */
	enum plan_access access;
	enum plan_access around; /* of the directory that it lies in */
	enum plan_missing missing;
	/* The minimal root has it as access says: nothing is to be mounted. */
	bool in_view;
	/* Denied, but something below is not: its mask can be searched. */
	bool searched;
	/* Components of each layer's rule that holds here. */
	uint32_t depth[PLAN_LAYERS];
};

/*
 * A pattern to expand when the view stands: walk from its base, at most
 * scan_depth directories deep (0: no bound of the client's), and deny each path
 * for which plan_access says so. Stop with a refusal at a bound of our own.
 */
struct plan_glob {
	struct bytes pattern; /* glob.h; borrowed, NUL-terminated */
	size_t base_len;      /* of pattern: the directory to walk */
	uint32_t depth;	      /* components of that */
	uint32_t scan_depth;
	enum plan_layer layer;
};

struct plan {
	enum plan_view view;
	/* The paths are not the ceiling's: the request restricts files, and
	 * what was mounted for the session as a whole does not do. */
	bool own_view;
	bool network_enabled;  /* the host's network, else loopback alone */
	bool network_narrowed; /* the request asked for more; to be logged */
	/* The network was restricted for a request with a sandbox object, and
	 * its program shall know: CODEX_SANDBOX_NETWORK_DISABLED. */
	bool tell_network_disabled;
	enum plan_unix_sockets unix_sockets;
	/* The request restricts: it never runs as the host's user 0. */
	bool never_root;

	/* Canonical paths, borrowed, or both NULL: what lies at and below the
	 * one is shown at and below the other, in a view that starts empty. The
	 * plan's own paths are those before that. */
	const char *moved, *moved_as;

	/* Parents before children; the longest prefix of a path decides, and
	 * what has none is not there. "/" is never to be mounted; where it can
	 * be written the view's root can. */
	struct plan_path *paths; /* owned */
	size_t path_count;
	struct plan_glob *globs; /* owned */
	size_t glob_count;
	struct profile layers[PLAN_LAYERS]; /* owned; paths borrow from them */
};

/* What decided. */
struct plan_answer {
	enum plan_access access;
	const struct plan_path *path; /* NULL: nothing gives access */
	const struct plan_glob *glob; /* NULL: no pattern denies it */
};

/* The access of an absolute, canonical path under a plan, as mounts will give
 * it: exactly the lesser of what request and ceiling say. What is brought has
 * none by a rule. */
struct plan_answer plan_access(const struct plan *plan, struct bytes path);

/* Whether the view that starts empty, if plan has such a one, has path all the
 * same: /proc, /dev and what lies in them. No rule gives it, but rules and
 * patterns of either layer can deny it. */
bool plan_is_brought(const struct plan *plan, struct bytes path);

/* Where a path of plan is shown: path itself, or with out filled, as moved
 * says. NULL if that would be longer than PATH_LEN_MAX - 1 bytes. */
const char *plan_shown(const struct plan *plan, const char *path,
    char out[PATH_LEN_MAX]);

void plan_done(struct plan *plan);

#endif
