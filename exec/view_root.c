#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "exec/mount.h"
#include "exec/view.h"
#include "policy/profile.h"

#define SEALED (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static int
make_dir(const char *path, mode_t mode, struct err *e)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_errno(e, errno, "make directory %s", path);
	return 0;
}

static int
make_file(const char *path, struct err *e)
{
	scoped_fd fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);

	return fd < 0 ? err_errno(e, errno, "make file %s", path) : 0;
}

static int
make_link(const char *target, const char *path, struct err *e)
{
	if (symlink(target, path) < 0)
		return err_errno(e, errno, "make link %s", path);
	return 0;
}

/* --- the minimal root: built in a tmpfs that is the working directory ---- */

/* Whether path is a symbolic link of the root itself (/bin), which the view
 * gets too; then target is it. */
static bool
is_top_link(const char *path, char *target, size_t size)
{
	ssize_t n;

	if (strchr(path + 1, '/') != NULL)
		return false;
	n = readlink(path, target, size - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	return true;
}

/* The host's file or directory at path, read-only at the same place. */
static int
add_minimal(const char *path, struct err *e)
{
	char target[PATH_LEN_MAX];
	scoped_fd fd = -1;
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return 0; /* a host may lack it */
	if (is_top_link(path, target, sizeof target))
		return make_link(target, path + 1, e);
	fd = mount_clone(AT_FDCWD, path, e);
	if (fd < 0)
		return fd;
	r = mount_attr(fd, SEALED, 0, true, e);
	if (r == 0)
		r = S_ISDIR(st.st_mode) ? make_dir(path + 1, 0755, e)
					: make_file(path + 1, e);
	return r < 0 ? r : mount_attach(fd, path + 1, e);
}

static int
build_minimal(struct view *v, struct err *e)
{
	static const char *const dirs[] = {"etc", "tmp", "dev", "proc", "sys",
	    "run", "root", "home", "var", "var/tmp"};
	int r;

	/* /proc is sure to exist; the host's is at hand as a clone. */
	r = mount_tmpfs("/proc", "size=1m,nr_inodes=1024,mode=0755", e);
	if (r == 0 && chdir("/proc") < 0)
		r = err_errno(e, errno, "enter the new root");
	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0] && r == 0; i++)
		r = make_dir(dirs[i], 0755, e);
	for (size_t i = 0; profile_minimal[i] != NULL && r == 0; i++)
		r = add_minimal(profile_minimal[i], e);
	/* A child in a user namespace may mount a /proc of its own only
	 * where one is to be seen already. */
	if (r == 0)
		r = mount_attr(v->proc, SEALED, 0, true, e);
	return r < 0 ? r : mount_attach(v->proc, "proc", e);
}

static int
build_host(struct view *v, struct err *e)
{
	/* Under the preset open a request may name any file as writable. */
	uint64_t set = v->kind == VIEW_OPEN_NARROW
			   ? SEALED & ~(uint64_t)MOUNT_ATTR_RDONLY
			   : SEALED;
	int r = mount_attr(v->root, set, 0, true, e);

	if (r == 0)
		r = mount_attach(v->root, "/proc", e);
	if (r == 0 && fchdir(v->root) < 0)
		r = err_errno(e, errno, "enter the new root");
	return r;
}

/*
 * What will be covered anyway is better gone: a child copies all mounts. For a
 * plain user they are locked in place. /proc stays: without one in sight a
 * user namespace, which we may be in, lets no other be mounted.
 */
static void
drop_covered(const struct view *v)
{
	static const char *const covered[] = {"/dev", "/sys", "/run", "/tmp"};
	size_t count = sizeof covered / sizeof covered[0];

	if (v->kind == VIEW_OPEN_NARROW)
		count--; /* it keeps the host's /tmp */
	for (size_t i = 0; i < count; i++)
		if (v->config->root)
			(void)umount2(covered[i], MNT_DETACH);
}

int
view_build_root(struct view *v, struct err *e)
{
	int r = v->root >= 0 ? build_host(v, e) : build_minimal(v, e);

	if (r == 0)
		r = mount_pivot(e);
	if (r == 0)
		drop_covered(v);
	return r;
}

/* --- what lies over it --------------------------------------------------- */

static int
build_shm(const struct view *v, struct err *e)
{
	char options[96];
	int r = make_dir("/dev/shm", 0755, e);

	(void)snprintf(options, sizeof options, "size=%llu,mode=1777",
	    (unsigned long long)v->config->limits.shm_size);
	if (r == 0 && v->shm >= 0)
		return mount_attach(v->shm, "/dev/shm", e);
	return r < 0 ? r : mount_tmpfs("/dev/shm", options, e);
}

static int
build_dev(struct view *v, struct err *e)
{
	static const char *const links[][2] = {
	    {"/proc/self/fd", "/dev/fd"},
	    {"/proc/self/fd/0", "/dev/stdin"},
	    {"/proc/self/fd/1", "/dev/stdout"},
	    {"/proc/self/fd/2", "/dev/stderr"},
	    {"pts/ptmx", "/dev/ptmx"},
	};
	int r = mount_tmpfs("/dev", "size=64k,nr_inodes=64,mode=0755", e);

	for (size_t i = 0; i < VIEW_DEVICES && r == 0; i++) {
		r = make_file(view_devices[i], e);
		/* Without nodev: a null device must open. */
		if (r == 0)
			r = mount_attr(v->devices[i],
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
			    MOUNT_ATTR_RDONLY, false, e);
		if (r == 0)
			r = mount_attach(v->devices[i], view_devices[i], e);
	}
	for (size_t i = 0; i < sizeof links / sizeof links[0] && r == 0; i++)
		r = make_link(links[i][0], links[i][1], e);
	if (r == 0)
		r = make_dir("/dev/pts", 0755, e);
	return r < 0 ? r : build_shm(v, e);
}

/* The session's /tmp, with the home directory owned by its children. */
static int
build_tmp(const struct view *v, struct err *e)
{
	const struct limits *l = &v->config->limits;
	char options[128];
	int r;

	if (v->kind == VIEW_OPEN_NARROW)
		return 0;
	(void)snprintf(options, sizeof options,
	    "size=%llu,nr_inodes=%llu,mode=1777",
	    (unsigned long long)l->tmp_size, (unsigned long long)l->tmp_inodes);
	r = mount_tmpfs("/tmp", options, e);
	if (r < 0)
		return r;
	view_as_child(v);
	r = make_dir(SESSION_HOME, 0700, e);
	view_as_self(v);
	return r;
}

static int
build_sys(const struct view *v, struct err *e)
{
	int r = mount_tmpfs("/sys", "size=4k,nr_inodes=8,mode=0755", e);

	if (r < 0 || v->cpus < 0)
		return r;
	r = make_dir("/sys/devices", 0755, e);
	if (r == 0)
		r = make_dir("/sys/devices/system", 0755, e);
	if (r == 0)
		r = mount_attr(v->cpus, SEALED | MOUNT_ATTR_NOEXEC, 0, true, e);
	return r < 0 ? r : mount_attach(v->cpus, "/sys/devices/system", e);
}

static int
build_run(const struct view *v, struct err *e)
{
	int r = mount_tmpfs("/run", "size=1m,nr_inodes=1024,mode=0755", e);

	if (r < 0 || v->resolv < 0)
		return r;
	r = view_make_point(v, v->resolv_path, false, e);
	if (r == 0)
		r = mount_attr(v->resolv, SEALED, 0, false, e);
	return r < 0 ? r : mount_attach(v->resolv, v->resolv_path, e);
}

int
view_build_overlays(struct view *v, struct err *e)
{
	int r = build_dev(v, e);

	if (r == 0)
		r = build_tmp(v, e);
	if (r == 0)
		r = build_sys(v, e);
	return r < 0 ? r : build_run(v, e);
}

int
view_seal(const struct view *v, struct err *e)
{
	static const char *const sealed[] = {"/dev", "/sys", "/run"};
	int r = 0;

	for (size_t i = 0; i < sizeof sealed / sizeof sealed[0] && r == 0; i++)
		r = mount_read_only(sealed[i], e);
	if (r == 0 && v->config->preset == PRESET_STRICT)
		r = mount_read_only("/", e);
	return r;
}
