/* The parts of sallyport policy. Each takes its own name as argv[0] and returns
 * the exit code. */
#ifndef SUPERVISOR_POLICY_COMMAND_H
#define SUPERVISOR_POLICY_COMMAND_H

#include "supervisor/child_policy.h"
#include "supervisor/config.h"
#include "supervisor/options.h"
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

/*
 * What a command may do with an absolute, canonical path, a link that it leads
 * through included: the rule that decides goes to *access, and words about it,
 * without a NUL, to why. What the file's own mode and owner say comes on top.
 * Returns 0, -EMSGSIZE or -ENOMEM.
 */
must_use int policy_path_judge(const struct policy_ceiling *p,
    const struct config *c, const char *path, enum plan_access *access,
    struct buf *why);

/* Append where the value of a key comes from ("FILE:LINE", "--set",
 * "built-in" or "preset NAME"); of a list that of the item value. -EMSGSIZE,
 * -ENOMEM. */
must_use int policy_origin_put(const struct config *c, enum config_key key,
    const char *value, struct buf *out);

/* Give every workspace of c, or the current directory, as a real path where it
 * has one. */
must_use int policy_real_workspaces(struct config *c, struct err *e);

/* "allow", "kill" or an errno's name. */
const char *policy_action_name(struct syscall_action a);

#endif
