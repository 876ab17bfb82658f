#include "exec/landlock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
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

/* What cannot be reached, or is a link, needs no rule. */
static bool
is_elsewhere(int r)
{
	return r == -EACCES || r == -ENOENT || r == -ELOOP || r == -ENOTDIR;
}

/* What is read-only or denied inside something writable is beyond Landlock,
 * whose rules only add; the mounts see to that. */
static int
allow_plan(int ruleset, const struct plan *plan, uint64_t all)
{
	const uint64_t write = all & ~(FS_DEVICES | FS_IOCTL_DEV);

	for (size_t i = 0; i < plan->path_count; i++) {
		const struct plan_path *p = &plan->paths[i];
		char moved[PATH_LEN_MAX];
		const char *path = plan_shown(plan, p->path, moved);
		int r;

		if (p->access == PLAN_DENY || path == NULL)
			continue;
		r = allow(ruleset, path,
		    p->access == PLAN_WRITE ? write : FS_READ);
		if (r < 0 && !is_elsewhere(r))
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

/* The last step: there is no way back. */
static int
restrict_self(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
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
	return restrict_self(ruleset);
}

/* --- without a view of its own ------------------------------------------- */

/* At the top of the host, what a view of its own would replace. */
static bool
is_replaced(const char *name)
{
	static const char *const names[] = {".", "..", "dev", "proc", "run",
	    "sys", "tmp"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* An entry of the top of the host. */
static int
allow_entry(int ruleset, const char *name)
{
	size_t len = strlen(name);
	char path[1 + 256] = "/";
	int r;

	if (is_replaced(name) || len >= sizeof path - 1)
		return 0;
	(void)memcpy(path + 1, name, len + 1);
	r = allow(ruleset, path, FS_READ);
	return r < 0 && is_elsewhere(r) ? 0 : r;
}

/* The root to read, but for that. What is put there later is out of reach. */
static int
allow_top(int ruleset)
{
	_Alignas(struct dirent64) char data[4096];
	scoped_fd top = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = top < 0 ? -errno : allow(ruleset, "/", FS_READ_DIR);
	ssize_t len = 1;

	while (r == 0 && len > 0) {
		len = getdents64(top, data, sizeof data);
		r = len < 0 ? -errno : 0;
		for (ssize_t at = 0; at < len && r == 0;) {
			const struct dirent64 *d =
			    (const struct dirent64 *)(const void *)(data + at);

			r = allow_entry(ruleset, d->d_name);
			at += d->d_reclen;
		}
	}
	return r;
}

/* Of what is replaced, what every program needs. */
static int
allow_bare(int ruleset, uint64_t all, int tty)
{
	const uint64_t device =
	    FS_READ_FILE | (all & (FS_WRITE | FS_TRUNCATE | FS_IOCTL_DEV));
	const struct {
		const char *path;
		uint64_t access;
	} rows[] = {
	    {"/dev/null", device},
	    {"/dev/zero", device},
	    {"/dev/full", device},
	    {"/dev/random", device},
	    {"/dev/urandom", device},
	    {"/dev/tty", device},
	    {"/proc", FS_READ_FILE | FS_READ_DIR},
	    {"/sys/devices/system", FS_READ_FILE | FS_READ_DIR},
	};
	/* Often a link into /run: the administrator's, so it is followed. */
	scoped_fd resolver = open("/etc/resolv.conf", O_PATH | O_CLOEXEC);
	int r = tty < 0 ? 0 : add_rule(ruleset, tty, device);

	for (size_t i = 0; i < sizeof rows / sizeof rows[0] && r == 0; i++) {
		r = allow(ruleset, rows[i].path, rows[i].access);
		r = r < 0 && is_elsewhere(r) ? 0 : r;
	}
	if (r == 0 && resolver >= 0)
		r = add_rule(ruleset, resolver, FS_READ_FILE);
	return r;
}

/* What has the access of the directory around it has its rule already, or lies
 * where nothing is to be seen. */
static int
allow_bare_plan(int ruleset, const struct plan *plan, uint64_t all)
{
	const uint64_t write = all & ~(FS_DEVICES | FS_IOCTL_DEV);
	int r = 0;

	for (size_t i = 0; i < plan->path_count && r == 0; i++) {
		const struct plan_path *p = &plan->paths[i];
		bool top = p->path[1] == '\0';

		if (p->access == PLAN_WRITE && (top || p->around != PLAN_WRITE))
			r = allow(ruleset, p->path, write);
		else if (p->access == PLAN_READ && top)
			r = allow_top(ruleset);
		r = r < 0 && is_elsewhere(r) ? 0 : r;
	}
	return r;
}

/* What is our own can be read, wherever it lies, if the plan says so. */
static int
allow_own(int ruleset, const struct plan *plan, const char *path)
{
	int r = 0;

	if (plan_access(plan, bytes_of(path)).access == PLAN_READ)
		r = allow(ruleset, path, FS_READ);
	return r < 0 && is_elsewhere(r) ? 0 : r;
}

static int
allow_workspaces(int ruleset, const struct order *o)
{
	int r =
	    o->scratch == NULL ? 0 : allow_own(ruleset, o->plan, o->scratch);

	for (size_t i = 0; i < o->workspace_count && r == 0; i++)
		r = allow_own(ruleset, o->plan, o->workspaces[i].path);
	return r;
}

int
landlock_confine_bare(const struct order *o, int tty)
{
	const uint64_t all = handled(o->landlock_abi);
	scoped_fd ruleset = make_ruleset(o->landlock_abi, true);
	int r = ruleset < 0 ? ruleset : allow_bare_plan(ruleset, o->plan, all);

	if (r == 0)
		r = allow_workspaces(ruleset, o);
	if (r == 0)
		r = allow_bare(ruleset, all, tty);
	return r < 0 ? r : restrict_self(ruleset);
}

int
landlock_scope_signals(void)
{
	struct ruleset_attr attr = {.scoped = SCOPE_SIGNAL};
	scoped_fd ruleset =
	    (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);

	return ruleset < 0 ? -errno : restrict_self(ruleset);
}
