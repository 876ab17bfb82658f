/*
 * The filters that hold for a process, its own and those of its ancestors, as
 * the policies that they are made of. Of several the kernel takes the
 * strictest; among errnos that of the filter which was loaded last.
 */
#ifndef SUPERVISOR_POLICY_LAYERS_H
#define SUPERVISOR_POLICY_LAYERS_H

#include "policy/texts.h"
#include "supervisor/child_policy.h"
#include "supervisor/config.h"

#define POLICY_LAYERS_MAX 4

struct policy_layer {
	const struct policy_source *source; /* NULL: of a file */
	const char *path;		    /* of that file; borrowed */
	const struct syscall_policy *policy;
	struct policy_file file;	/* behind policy, if of a file */
	struct syscall_policy *builtin; /* behind policy, else; owned */
};

/* The one that was loaded last comes first. */
struct policy_layers {
	struct policy_layer items[POLICY_LAYERS_MAX];
	size_t count;
};

/* Which line of which filter decides. */
struct policy_decision {
	const struct policy_layer *layer;
	size_t rule; /* of its policy; rule_count: the default */
	struct syscall_action action;
};

/*
 * The filters of a process of sallyport; or, with role NULL, of a command under
 * c, where no_unix says that it gets no unix sockets. Complaints about a file
 * go to standard error. Returns 0; -EINVAL if the file of c is no policy;
 * -EIO, -ENOMEM. policy_layers_done is due in all cases.
 */
must_use int policy_layers_init(struct policy_layers *l, const char *role,
    const struct config *c, bool no_unix);
/* The same for one file alone, as if nothing else held. */
must_use int policy_layers_of_file(struct policy_layers *l, const char *path);
void policy_layers_done(struct policy_layers *l);

struct policy_decision policy_layers_decide(const struct policy_layers *l,
    const char *name, const uint64_t args[SYSCALL_ARGS]);

/* Append "FILE:LINE: the line as written", or "FILE: default ACTION" where no
 * line of the call fits. -EMSGSIZE, -ENOMEM. */
must_use int policy_decision_put(const struct policy_decision *d,
    const char *name, struct buf *out);

#endif
