/* The parts of sallyport policy. Each takes its own name as argv[0] and returns
 * the exit code. */
#ifndef SUPERVISOR_POLICY_COMMAND_H
#define SUPERVISOR_POLICY_COMMAND_H

#include "supervisor/child_policy.h"
#include "supervisor/config.h"
#include "supervisor/options.h"

/* 0: nothing is wrong, or allowed, or not widened; 1: the opposite; 2: the
 * question could not be answered. */
enum policy_exit { POLICY_YES = 0, POLICY_NO = 1, POLICY_ERROR = 2 };

int policy_check(int argc, char **argv);
int policy_show(int argc, char **argv);
int policy_explain(int argc, char **argv);
int policy_diff(int argc, char **argv);
int policy_export(int argc, char **argv);
int policy_import(int argc, char **argv);

/* --- shared --------------------------------------------------------------- */

/* Whether path is that of a system call policy: its name ends in .policy. */
bool policy_is_text(const char *path);

/*
 * What a configuration, its preset or its profile, gives: paths, network and
 * sockets. Workspaces are taken as they are written. own is filled if a
 * profile decides; places and paths if the preset does.
 */
struct policy_ceiling {
	struct config_ceiling own;
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling;
	struct plan plan; /* of a request that restricts nothing */
	bool has_profile;
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

/* Give every workspace of c, or the current directory, as a real path where it
 * has one. */
must_use int policy_real_workspaces(struct config *c, struct err *e);

/* "allow", "kill" or an errno's name. */
const char *policy_action_name(struct syscall_action a);

#endif
