#include "supervisor/readiness.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

struct check {
	const char *what;
	bool ok;
};

static int
report(enum role role, const struct check *checks, size_t count, struct err *e)
{
	char missing[128] = "";

	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(missing);

		if (!checks[i].ok)
			(void)snprintf(missing + used, sizeof missing - used,
			    " %s", checks[i].what);
	}
	if (missing[0] == '\0')
		return 0;
	return err_set(e, EPERM, "%s: lock-down is incomplete:%s",
	    role_name(role), missing);
}

static int
check_net(const struct readiness *want, const struct msg_role_ready *got,
    struct err *e)
{
	uint32_t uid = want->root ? want->net_uid : want->uid;
	uint32_t gid = want->root ? want->net_uid : want->gid;
	uint32_t ns = (ROLE_NS_MNT | ROLE_NS_NET | ROLE_NS_IPC | ROLE_NS_UTS |
			  (want->root ? 0 : ROLE_NS_USER)) &
		      ~want->lacks;
	bool bare = (want->lacks & ROLE_NS_MNT) != 0;
	/* A plain user cannot give up its groups, which are worth nothing to
	 * net: its root is empty. */
	const struct check checks[] = {
	    {"uid", got->uid == uid && uid != 0},
	    {"gid", got->gid == gid},
	    {"groups", !want->root || got->groups == 0},
	    {"capabilities",
		got->caps_effective == 0 && got->caps_permitted == 0},
	    {"bounding-set", got->caps_bounding == 0 || (bare && !want->root)},
	    {"no-new-privs", got->no_new_privs == 1},
	    {"seccomp", got->seccomp == SECCOMP_MODE_FILTER},
	    {"dumpable", got->dumpable == 0},
	    {"namespaces", (got->namespaces & ns) == ns},
	    {"landlock",
		got->landlock_abi > 0 || (want->landlock_abi == 0 && !bare)},
	};

	return report(ROLE_NET, checks, sizeof checks / sizeof checks[0], e);
}

static int
check_exec(const struct readiness *want, const struct msg_role_ready *got,
    struct err *e)
{
	uint64_t held = got->caps_effective | got->caps_permitted;
	/* A plain user's capabilities are those of its own namespace; there
	 * they end with no_new_privs and with the namespace. */
	const struct check checks[] = {
	    {"uid", got->uid == want->uid},
	    {"gid", got->gid == want->gid},
	    {"capabilities", (held & ~want->role_caps) == 0},
	    {"bounding-set",
		!want->root || (got->caps_bounding & ~want->role_caps) == 0},
	    {"no-new-privs", got->no_new_privs == 1},
	    {"seccomp", got->seccomp == SECCOMP_MODE_FILTER},
	    {"dumpable", got->dumpable == 0},
	    {"user-namespace", want->root || ((got->namespaces | want->lacks) &
						 ROLE_NS_USER) != 0},
	};

	return report(ROLE_EXEC, checks, sizeof checks / sizeof checks[0], e);
}

int
readiness_check(enum role role, const struct readiness *want,
    const struct msg_role_ready *got, struct err *e)
{
	return role == ROLE_NET ? check_net(want, got, e)
				: check_exec(want, got, e);
}
