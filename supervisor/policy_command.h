/* The parts of sallyport policy. Each takes its own name as argv[0] and returns
 * the exit code. */
#ifndef SUPERVISOR_POLICY_COMMAND_H
#define SUPERVISOR_POLICY_COMMAND_H

#include "supervisor/child_policy.h"
#include "supervisor/config.h"
#include "supervisor/options.h"
#include "supervisor/policy_place.h"
#include "supervisor/workspace.h"

/* 0: nothing is wrong, or allowed, or not widened; 1: the opposite; 2: the
 * question could not be answered. */
enum policy_exit { POLICY_YES = 0, POLICY_NO = 1, POLICY_ERROR = 2 };

int policy_check(int argc, char **argv);
int policy_show(int argc, char **argv);
int policy_explain(int argc, char **argv);
int policy_diff(int argc, char **argv);
int policy_export(int argc, char **argv);
int policy_import(int argc, char **argv);
int policy_test(int argc, char **argv);
int policy_report(int argc, char **argv);

/* --- shared --------------------------------------------------------------- */

/* Whether path is that of a system call policy: its name ends in .policy. */
bool policy_is_text(const char *path);

/*
 * What a configuration, its preset or its profile, gives: paths, network and
 * sockets. Workspaces are taken as they are written; where all of them exist,
 * sallyport's own files in them are read-only as in a server. own is filled if
 * a profile decides; paths if the preset does.
 */
struct policy_ceiling {
	struct config_ceiling own;
	struct workspaces workspaces;
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;
	struct plan plan; /* of a request that restricts nothing */
	bool has_profile;
	/* Why a server would not start with it, or its own files are not known;
	 * code 0: they are. */
	struct err trouble;
};

/* Returns 0, or a negative errno with e. policy_ceiling_done is due in all
 * cases. */
must_use int policy_ceiling_init(struct policy_ceiling *p,
    const struct config *c, struct err *e);
void policy_ceiling_done(struct policy_ceiling *p);

/* The rule of the configuration that path of a ceiling comes from; NULL: it is
 * the preset's or our own. */
const struct config_rule *policy_ceiling_rule(const struct policy_ceiling *p,
    const char *path);

/* What a command may do with a path, and what says so. */
struct policy_verdict {
	enum plan_access access;
	const char *path; /* of the rule, borrowed; NULL: there is none */
	const struct policy_place *place; /* NULL: the rule decides */
	const struct config_rule *rule;	  /* NULL: the preset's, or built in */
	bool own;			  /* a file of sallyport's own */
	bool way; /* a directory made on the way to path, with nothing else */
	char real[PATH_LEN_MAX]; /* where a link leads; empty: to no other */
};

/* Judge an absolute, canonical path and the links that it leads through. What
 * the file's own mode and owner say comes on top. */
void policy_path_judge(const struct policy_ceiling *p, const struct config *c,
    const char *path, struct policy_verdict *out);

/*
 * What is given below path, which itself is not, in a plan that p's ceiling
 * allows: a view has the directories that lead there, for everybody to list,
 * with no other name in them. NULL: there is nothing below, or path is masked,
 * and what leads through a mask cannot be listed. Borrowed from plan.
 */
const char *policy_path_way(const struct policy_ceiling *p,
    const struct config *c, const struct plan *plan, const char *path);

/* Append what says so, without a NUL. -EMSGSIZE, -ENOMEM. */
must_use int policy_verdict_put(const struct policy_ceiling *p,
    const struct config *c, const struct policy_verdict *v, struct buf *out);

/* Append where the value of a key comes from ("FILE:LINE", "--set",
 * "built-in" or "preset NAME"); of a list that of the item value. -EMSGSIZE,
 * -ENOMEM. */
must_use int policy_origin_put(const struct config *c, enum config_key key,
    const char *value, struct buf *out);

/* Give every workspace of c, or the current directory, as a real path where it
 * has one. */
must_use int policy_real_workspaces(struct config *c, struct err *e);

/* Set the profile or preset of that name; "current", a process and a file of
 * system calls set nothing. Returns 0, -E2BIG or -ENOMEM. */
must_use int policy_choose(struct options *o, const char *name);

/* "allow", "kill" or an errno's name. */
const char *policy_action_name(struct syscall_action a);

#endif
