#include "supervisor/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "privsep/filters.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"

/*
 * Under no_new_privs an execve by root gives no capability that the caller
 * lacks, so what a role needs must be permitted here. None of these passes
 * file permissions: CAP_DAC_* and CAP_FOWNER end before the first role starts.
 */
static const struct confine_cap kept[] = {
    {CAP_SYS_ADMIN, false, false, "net, exec: namespaces and mounts"},
    {CAP_SYS_CHROOT, false, false, "exec: joining a session's namespaces"},
    {CAP_SETUID, false, false, "net, exec: own user ids; id maps of children"},
    {CAP_SETGID, false, false, "net, exec: own group ids; id maps of children"},
    {CAP_SETPCAP, false, false, "net, exec: emptying the bounding set"},
    {CAP_KILL, true, false, "ending net and children, which run as others"},
    {CAP_CHOWN, false, false, "exec: directories that belong to a session"},
    {CAP_NET_ADMIN, false, true, "exec: loopback of a session's network"},
    {CAP_SETFCAP, false, false, "exec: id maps that hold the host's root"},
};

const struct confine_cap *
confine_cap_row(size_t i)
{
	return i < sizeof kept / sizeof kept[0] ? &kept[i] : NULL;
}

uint64_t
confine_role_caps(bool userns)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
		if (!kept[i].without_userns || !userns)
			bits |= CAP_BIT(kept[i].cap);
	return bits;
}

static uint64_t
own_effective(void)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
		bits |= kept[i].effective ? CAP_BIT(kept[i].cap) : 0;
	return bits;
}

/* Prepare the sets: of what we have, keep the table's. A root in a container
 * may lack some of them; what a role then misses, its report shows. */
static void
choose_capabilities(uint64_t permitted, uint64_t wanted)
{
	capng_clear(CAPNG_SELECT_BOTH);
	for (unsigned int cap = 0; cap <= (unsigned int)CAP_LAST_CAP; cap++) {
		if (!(wanted & permitted & CAP_BIT(cap)))
			continue;
		(void)capng_update(CAPNG_ADD,
		    CAPNG_PERMITTED | CAPNG_BOUNDING_SET, cap);
		if (own_effective() & CAP_BIT(cap))
			(void)capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, cap);
	}
}

/* The bounding set can be cut with CAP_SETPCAP only. Without it, as a plain
 * user, no_new_privs makes it meaningless. */
static int
drop_capabilities(bool userns, struct err *e)
{
	const uint64_t wanted = confine_role_caps(userns);
	struct caps now, want;
	bool bounds;

	if (privdrop_caps_read(&now) < 0 || capng_get_caps_process() < 0)
		return err_set(e, EPERM, "capabilities cannot be read");
	bounds = now.effective & CAP_BIT(CAP_SETPCAP);
	want.permitted = now.permitted & wanted;
	want.effective = now.permitted & own_effective();
	choose_capabilities(now.permitted, wanted);
	if (capng_apply(bounds ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) < 0)
		return err_set(e, EPERM, "capabilities cannot be dropped");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_errno(e, errno, "ambient capabilities");
	if (privdrop_caps_read(&now) < 0 || now.permitted != want.permitted ||
	    now.effective != want.effective || now.inheritable != 0 ||
	    (bounds && (now.bounding & ~wanted)))
		return err_set(e, EPERM, "capabilities are not as asked");
	return 0;
}

int
confine_self(bool userns, struct err *e)
{
	int r = drop_capabilities(userns, e);

	if (r < 0)
		return r;
	/* The init of a child whose exec has died becomes ours to wait for. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_errno(e, errno, "subreaper");
	r = privdrop_undumpable();
	if (r < 0)
		return err_errno(e, -r, "undumpable");
	r = privdrop_no_new_privs();
	if (r < 0)
		return err_errno(e, -r, "no_new_privs");
	r = lockdown(&filter_supervisor);
	return r < 0 ? err_errno(e, -r, "system call filter") : 0;
}

uint32_t
confine_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (uint32_t)abi;
}

#ifdef SANITIZED
/* Looking for leaks at the end takes ptrace, which a confined process does not
 * have; unit tests look for them. NOLINTNEXTLINE(bugprone-reserved-identifier)
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif
