#include "exec/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/securebits.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "exec/child_bridge.h"
#include "exec/landlock.h"
#include "exec/raw.h"
#include "exec/worker_fs.h"
#include "privsep/filters.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"

struct child {
	const struct order *order;
	const struct streams *streams;
	int go;
	int stdio[3]; /* what 0, 1 and 2 are to be */
	int tty;      /* its terminal, or -1 */
};

/* The end of the pipe without a byte means that init gave up. */
static int
step_id_map(struct child *c)
{
	char byte;
	ssize_t n;

	do
		n = read(c->go, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : n == 0 ? -ECANCELED : -errno;
}

static int
step_setsid(struct child *c)
{
	sigset_t none;

	(void)c;
	(void)sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || setsid() < 0)
		return -errno;
	return 0;
}

static int
step_tty(struct child *c)
{
	int fd;

	if (!c->order->tty)
		return 0;
	fd = ioctl(c->streams->master, TIOCGPTPEER,
	    O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0)
		return -errno;
	for (int i = 0; i < 3; i++)
		c->stdio[i] = fd;
	c->tty = fd;
	return 0;
}

static int
step_stdio(struct child *c)
{
	(void)umask(c->order->umask);
	for (int i = 0; i < 3; i++) {
		int mode = i == 0 ? O_RDONLY : O_WRONLY;

		if (c->stdio[i] < 0)
			c->stdio[i] = open("/dev/null", mode | O_CLOEXEC);
		if (c->stdio[i] < 0 || dup2(c->stdio[i], i) < 0)
			return -errno;
	}
	return 0;
}

/* SIGXCPU, which says why, and SIGKILL for what outlives that. The kernel sends
 * only the latter where the two limits are one. */
static int
limit_cpu(rlim_t seconds)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_CPU, &now) < 0)
		return -errno;
	if (now.rlim_max <= seconds)
		return privdrop_rlimit(RLIMIT_CPU, seconds);
	now = (struct rlimit){.rlim_cur = seconds, .rlim_max = seconds + 1};
	return setrlimit(RLIMIT_CPU, &now) < 0 ? -errno : 0;
}

static int
step_rlimits(struct child *c)
{
	const struct order *o = c->order;
	int r = 0;

	for (size_t i = 0; i < o->rlimit_count && r == 0; i++) {
		const struct order_rlimit *l = &o->rlimits[i];

		r = l->resource == RLIMIT_CPU
			? limit_cpu(l->value)
			: privdrop_rlimit(l->resource, l->value);
	}
	return r;
}

int
child_drop_bounding(uint64_t present)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if ((present & CAP_BIT(cap)) == 0 ||
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		return errno == EINVAL ? 0 : -errno; /* past the last one */
	}
	return 0;
}

/* As privdrop_caps, but what it reads back once holds the bounding set too:
 * each look at that takes a system call a capability. */
int
child_drop_caps(bool bounding)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {0};
	struct caps now;
	int r;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &h, none) < 0)
		return -errno;
	r = privdrop_caps_read(&now);
	if (r < 0)
		return r;
	return (now.effective | now.permitted | now.inheritable |
		   (bounding ? now.bounding : 0)) == 0
		   ? 0
		   : -EPERM;
}

/* That uid 0 means nothing, and that no later call changes it. Here and not
 * with the other capabilities, while CAP_SETPCAP is still held. */
static int
lock_securebits(void)
{
	const unsigned long bits =
	    SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
	    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
	    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	return prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0 ? -errno : 0;
}

static int
step_ids(struct child *c)
{
	const struct order *o = c->order;
	int r = 0;

	/* A new user namespace comes with a full set. Where nothing can be
	 * taken out of it, no_new_privs does instead. */
	if (o->bounds)
		r = child_drop_bounding(o->userns ? UINT64_MAX : o->bounding);
	if (r == 0 && o->bounds)
		r = lock_securebits();
	if (r == 0 && o->userns)
		r = privdrop_ids(o->id.inside_uid, o->id.inside_gid, false);
	else if (r == 0 && o->become)
		r = privdrop_ids(o->id.uid, o->id.gid, true);
	/* After the ids, whose change clears it. */
	if (r == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		r = -errno;
	return r;
}

/* Reads everything back, the bounding set too. */
static int
step_capabilities(struct child *c)
{
	int r = child_drop_caps(c->order->bounds);

	return r == 0 ? privdrop_undumpable() : r;
}

static int
step_no_new_privs(struct child *c)
{
	(void)c;
	return privdrop_no_new_privs();
}

static int
step_landlock(struct child *c)
{
	const struct order *o = c->order;

	if (o->landlock_abi == 0)
		return 0;
	if (o->bare)
		return landlock_confine_bare(o, c->tty);
	return landlock_confine(o->plan, o->landlock_abi, o->scope_abstract);
}

/* A worker executes nothing, so what it is not to have is closed. */
static int
confine_worker(const struct order *o)
{
	int keep[] = {0, 1, 2, o->worker_fd, o->status_fd};
	int r = raw_close_except(keep, sizeof keep / sizeof keep[0]);

	return r < 0 ? r : lockdown(&filter_worker);
}

/* Whether this process is to be a file worker. */
static bool
is_worker(const struct order *o)
{
	return o->worker_fd >= 0 && !o->bridge;
}

static int
step_seccomp(struct child *c)
{
	int part = 0;

	if (is_worker(c->order))
		return confine_worker(c->order);
	/* From here on this is the command, and the bridge another process. */
	if (c->order->bridge)
		part = child_part(c->order);
	if (part < 0)
		return part;
	/* Everything else was born close-on-exec; this makes it certain. */
	if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	for (size_t i = 0; i < c->order->filter_count; i++) {
		int r = lockdown(c->order->filters[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int
step_cwd(struct child *c)
{
	/* A worker's paths are all absolute. */
	if (is_worker(c->order))
		return 0;
	return chdir(c->order->cwd) < 0 ? -errno : 0;
}

/*
 * Execute the file below each directory of the path in turn, as execvp(3)
 * does, but with the child's own path and without running a shell for what
 * the kernel does not know. Returns why it failed.
 */
static int
search(const struct order *o)
{
	const char *at = o->path;
	size_t name = strlen(o->file);
	int denied = 0;

	for (;;) {
		size_t len = strcspn(at, ":");
		char path[PATH_LEN_MAX];

		if (len < sizeof path - 1 && name < sizeof path - 1 - len) {
			size_t slash = len > 0 ? len + 1 : 0;

			memcpy(path, at, len);
			path[len] = '/';
			memcpy(path + slash, o->file, name + 1);
			(void)execve(path, o->argv, o->envp);
			if (errno == EACCES)
				denied = -EACCES;
			else if (errno != ENOENT && errno != ENOTDIR)
				return -errno;
		}
		if (at[len] == '\0')
			return denied < 0 ? denied : -ENOENT;
		at += len + 1;
	}
}

static int
step_exec(struct child *c)
{
	const struct order *o = c->order;

	/* What exec takes for success is this and then the pipe's end. */
	raw_status(o->status_fd, STAGE_EXEC, 0);
	if (is_worker(o)) {
		(void)close(o->status_fd);
		_exit(worker_fs_run(o->worker_fd));
	}
	if (o->file[0] == '\0')
		return -ENOENT;
	if (strchr(o->file, '/') == NULL)
		return search(o);
	(void)execve(o->file, o->argv, o->envp);
	return -errno;
}

static const struct {
	enum stage stage;
	int (*run)(struct child *c);
} steps[] = {
    {STAGE_USER_NAMESPACE, step_id_map},
    {STAGE_SETSID, step_setsid},
    {STAGE_TTY, step_tty},
    {STAGE_STDIO, step_stdio},
    {STAGE_RLIMITS, step_rlimits},
    {STAGE_IDS, step_ids},
    {STAGE_CAPABILITIES, step_capabilities},
    {STAGE_NO_NEW_PRIVS, step_no_new_privs},
    {STAGE_LANDLOCK, step_landlock},
    {STAGE_SECCOMP, step_seccomp},
    {STAGE_CWD, step_cwd},
    {STAGE_EXEC, step_exec},
};

_Noreturn void
child_run(const struct order *order, const struct streams *streams, int go)
{
	struct child c = {.order = order,
	    .streams = streams,
	    .go = go,
	    .tty = -1};

	memcpy(c.stdio, streams->child, sizeof c.stdio);
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		int r = steps[i].run(&c);

		if (r < 0)
			raw_fail(order->status_fd, steps[i].stage, -r);
	}
	_exit(127);
}
