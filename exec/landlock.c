#include "exec/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>

/* Those of later ABIs than the headers know. */
#define FS_TRUNCATE    (UINT64_C(1) << 14) /* ABI 3 */
#define FS_IOCTL_DEV   (UINT64_C(1) << 15) /* ABI 5 */
#define SCOPE_ABSTRACT (UINT64_C(1) << 0)  /* ABI 6 */
#define SCOPE_SIGNAL   (UINT64_C(1) << 1)

#define FS_EXECUTE   ((uint64_t)LANDLOCK_ACCESS_FS_EXECUTE)
#define FS_READ_FILE ((uint64_t)LANDLOCK_ACCESS_FS_READ_FILE)
#define FS_READ_DIR  ((uint64_t)LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_WRITE     ((uint64_t)LANDLOCK_ACCESS_FS_WRITE_FILE)
#define FS_DEVICES                                                             \
	((uint64_t)(LANDLOCK_ACCESS_FS_MAKE_CHAR |                             \
		    LANDLOCK_ACCESS_FS_MAKE_BLOCK))
#define FS_READ (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
/* What a rule on a file, not a directory, may say. */
#define FS_OF_FILE                                                             \
	(FS_EXECUTE | FS_READ_FILE | FS_WRITE | FS_TRUNCATE | FS_IOCTL_DEV)

/* struct landlock_ruleset_attr as of ABI 6; older headers lack members. */
struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

unsigned int
landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (unsigned int)abi;
}

/* Every kind of file access that this ABI handles. */
static uint64_t
handled(unsigned int abi)
{
	uint64_t fs = (uint64_t)LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;

	if (abi >= 2)
		fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		fs |= FS_TRUNCATE;
	if (abi >= 5)
		fs |= FS_IOCTL_DEV;
	return fs;
}

static int
add_rule(int ruleset, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access,
	    .parent_fd = fd};
	long r = syscall(SYS_landlock_add_rule, ruleset,
	    LANDLOCK_RULE_PATH_BENEATH, &rule, 0);

	return r < 0 ? -errno : 0;
}

/* A path is what is mounted there, never where a link leads. */
static int
allow(int ruleset, const char *path, uint64_t access)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS};
	scoped_fd fd =
	    (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	int r;

	if (fd < 0)
		return -errno;
	r = add_rule(ruleset, fd, access);
	return r == -EINVAL ? add_rule(ruleset, fd, access & FS_OF_FILE) : r;
}

/* What is read-only or denied inside something writable is beyond Landlock,
 * whose rules only add; the mounts see to that. */
static int
allow_plan(int ruleset, const struct plan *plan, uint64_t all)
{
	const uint64_t write = all & ~(FS_DEVICES | FS_IOCTL_DEV);

	for (size_t i = 0; i < plan->path_count; i++) {
		const struct plan_path *p = &plan->paths[i];
		int r;

		if (p->access == PLAN_DENY)
			continue;
		r = allow(ruleset, p->path,
		    p->access == PLAN_WRITE ? write : FS_READ);
		/* What cannot be reached needs no rule. */
		if (r == -EACCES || r == -ENOENT || r == -ELOOP ||
		    r == -ENOTDIR)
			continue;
		if (r < 0)
			return r;
	}
	return 0;
}

static int
make_ruleset(unsigned int abi, bool scope_abstract)
{
	struct ruleset_attr attr = {.handled_access_fs = handled(abi)};
	size_t size = sizeof attr.handled_access_fs;
	long fd;

	if (abi >= LANDLOCK_SCOPE_ABI) {
		attr.scoped = SCOPE_SIGNAL;
		attr.scoped |= scope_abstract ? SCOPE_ABSTRACT : 0;
		size = sizeof attr;
	}
	fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return fd < 0 ? -errno : (int)fd;
}

int
landlock_confine(const struct plan *plan, unsigned int abi, bool scope_abstract)
{
	const uint64_t all = handled(abi);
	scoped_fd ruleset = make_ruleset(abi, scope_abstract);
	int r;

	if (ruleset < 0)
		return ruleset;
	r = allow_plan(ruleset, plan, all);
	/* Such a root holds nothing but what the plan put there. */
	if (r == 0 &&
	    (plan->view == PLAN_VIEW_MINIMAL || plan->view == PLAN_VIEW_EMPTY))
		r = allow(ruleset, "/", FS_READ);
	if (r == 0)
		r = allow(ruleset, "/dev",
		    all & (FS_WRITE | FS_TRUNCATE | FS_IOCTL_DEV));
	if (r == 0)
		r = allow(ruleset, "/proc", all & (FS_WRITE | FS_TRUNCATE));
	if (r < 0)
		return r;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return -errno;
	return 0;
}
