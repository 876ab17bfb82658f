/* Files of others: read them, write them, reach them by another way. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

#define RUN(name)                                                              \
	static void name(const struct attempt *a __attribute__((unused)),      \
	    const struct world *w __attribute__((unused)), struct result *r)

static bool
try_open(struct result *r, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)close(fd);
	return attempt_tried(r, fd, path);
}

RUN(read_shadow)
{
	(void)try_open(r, "/etc/shadow", O_RDONLY);
}

RUN(list_root_home)
{
	(void)try_open(r, "/root", O_RDONLY | O_DIRECTORY);
}

RUN(read_private)
{
	(void)try_open(r, attempt_path(w->host, "private"), O_RDONLY);
}

RUN(read_other_home)
{
	(void)try_open(r, attempt_path(w->host, "home/file"), O_RDONLY);
}

RUN(write_open)
{
	(void)attempt_tried(r, attempt_append(attempt_path(w->host, "open")),
	    "append");
}

RUN(truncate_open)
{
	(void)attempt_tried(r, truncate(attempt_path(w->host, "open"), 1),
	    "truncate");
}

RUN(touch_open)
{
	(void)attempt_tried(r,
	    utimensat(AT_FDCWD, attempt_path(w->host, "open"), NULL, 0),
	    "utimensat");
}

RUN(xattr_open)
{
	(void)attempt_tried(r,
	    setxattr(attempt_path(w->host, "open"), "user.x", "x", 1, 0),
	    "setxattr");
}

RUN(create_outside)
{
	(void)try_open(r, attempt_path(w->host, "dir/made"),
	    O_WRONLY | O_CREAT);
}

RUN(mkdir_outside)
{
	(void)attempt_tried(r,
	    mkdir(attempt_path(w->host, "dir/made-dir"), 0777), "mkdir");
}

RUN(unlink_outside)
{
	(void)attempt_tried(r, unlink(attempt_path(w->host, "dir/victim")),
	    "unlink");
}

RUN(rename_outside)
{
	char from[512];

	(void)snprintf(from, sizeof from, "%s/dir/victim", w->host);
	(void)attempt_tried(r, rename(from, attempt_path(w->host, "dir/moved")),
	    "rename");
}

RUN(symlink_outside)
{
	(void)attempt_tried(r,
	    symlink("/etc/passwd", attempt_path(w->host, "dir/link")),
	    "symlink");
}

RUN(fifo_outside)
{
	(void)attempt_tried(r, mkfifo(attempt_path(w->host, "dir/fifo"), 0666),
	    "mkfifo");
}

/* A mount that is read-only does not keep one from writing to a pipe. */
RUN(pipe_of_host)
{
	(void)try_open(r, attempt_path(w->host, "pipe"), O_RDWR | O_NONBLOCK);
}

RUN(bind_outside)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(to.sun_path, sizeof to.sun_path, "%s/dir/sock", w->host);
	(void)attempt_tried(r,
	    fd < 0 ? -1 : bind(fd, (struct sockaddr *)&to, sizeof to), "bind");
}

RUN(link_out)
{
	(void)attempt_tried(r,
	    link("file", attempt_path(w->host, "dir/linked")), "link");
}

/* A second name for a file of the host, in a place where it can be written. */
RUN(link_in)
{
	if (attempt_tried(r, link(attempt_path(w->host, "open"), "linked-in"),
		"link"))
		(void)unlink("linked-in");
}

RUN(link_in_tmp)
{
	char to[512];

	(void)snprintf(to, sizeof to, "%s/linked-in", w->tmp);
	(void)attempt_tried(r, link(attempt_path(w->host, "open"), to), "link");
}

RUN(rename_in)
{
	(void)attempt_tried(r,
	    rename(attempt_path(w->host, "dir/victim"), "moved-in"), "rename");
}

RUN(symlink_through)
{
	(void)!symlink(attempt_path(w->host, "open"), "way-out");
	(void)attempt_tried(r, attempt_append("way-out"), "append");
}

RUN(climb)
{
	char path[512];

	(void)snprintf(path, sizeof path, "/proc/self/root/../../../..%s/open",
	    w->host);
	(void)attempt_tried(r, attempt_append(path), "append");
}

/* Through the magic links of every other process. */
RUN(proc_links)
{
	static const char *const links[] = {"root", "cwd/../..", "fd/0"};
	DIR *d = opendir("/proc");
	struct dirent *e;
	int tried = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char path[700];
		int pid = atoi(e->d_name);

		if (pid <= 0 || pid == getpid() || pid == getppid())
			continue;
		for (size_t i = 0; i < 3; i++) {
			(void)snprintf(path, sizeof path, "/proc/%d/%s%s", pid,
			    links[i], i == 0 ? w->host : "");
			tried++;
			if (i == 2 ? open(path, O_RDONLY | O_NONBLOCK) < 0
				   : access(path, F_OK) < 0)
				continue;
			attempt_say(r, ESCAPED, "%s", path);
			return;
		}
	}
	attempt_say(r, CONTAINED, "none of %d links leads anywhere", tried);
}

/* What is open besides the three streams, before anything was opened. */
RUN(leaked_fds)
{
	char link[64], to[256];

	for (int fd = 3; fd < 1024; fd++) {
		ssize_t n;

		(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		n = readlink(link, to, sizeof to - 1);
		if (n < 0)
			continue;
		to[n] = '\0';
		attempt_say(r, ESCAPED, "%d is %s", fd, to);
		return;
	}
	attempt_say(r, CONTAINED, "nothing is open from 3 on");
}

/* A stream that leads to a directory or can be both read and written. */
RUN(streams)
{
	struct stat st;

	for (int fd = 0; fd < 3; fd++) {
		if (fstat(fd, &st) < 0 || S_ISCHR(st.st_mode))
			continue;
		if (S_ISFIFO(st.st_mode) &&
		    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
			continue;
		attempt_say(r, ESCAPED, "%d has mode %o", fd, st.st_mode);
		return;
	}
	attempt_say(r, CONTAINED, "pipes of one direction and devices");
}

RUN(handle)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h.handle_bytes = MAX_HANDLE_SZ};
	int mount, got = name_to_handle_at(AT_FDCWD,
		       attempt_path(w->host, "private"), &u.h, &mount, 0);

	if (got == 0) {
		int dir = open(w->host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		got = open_by_handle_at(dir, &u.h, O_RDONLY);
	}
	(void)attempt_tried(r, got, "name_to_handle_at, open_by_handle_at");
}

RUN(device)
{
	static const char name[] = "made-device";
	mode_t kind = (mode_t)a->arg[0];
	int got = a->arg[1] != 0
		      ? mknodat(AT_FDCWD, name, kind | 0600, makedev(1, 3))
		      : (int)syscall(SYS_mknodat, AT_FDCWD, name, kind | 0600,
			    makedev(7, 200));

	if (attempt_tried(r, got, "mknod"))
		(void)unlink(name);
}

RUN(open_device)
{
	static const char *const usual[] = {"null", "zero", "full", "random",
	    "urandom", "tty", "ptmx", "console"};
	DIR *d = opendir("/dev");
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		bool known = e->d_type != DT_CHR && e->d_type != DT_BLK;

		for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
			known |= strcmp(usual[i], e->d_name) == 0;
		if (known || strncmp(e->d_name, "tty", 3) == 0 ||
		    strncmp(e->d_name, "watchdog", 8) == 0)
			continue;
		if (try_open(r, attempt_path("/dev", e->d_name),
			O_RDONLY | O_NONBLOCK | O_NOCTTY))
			return;
	}
	if (r->verdict == CANNOT_TELL)
		attempt_say(r, CONTAINED, "no other device is there");
}

RUN(setuid_program)
{
	char path[512];
	const char *argv[] = {path, "euid", NULL};
	int status;

	(void)snprintf(path, sizeof path, "%s/setuid", w->host);
	status = attempt_spawn(argv);
	attempt_say(r,
	    status == 0	  ? ESCAPED
	    : status == 1 ? CONTAINED
			  : CANNOT_TELL,
	    "a setuid program exits with %d", status);
}

/* The host's own file may not be opened for writing where it is executed, so
 * a new one is made beside it. */
RUN(server_directory)
{
	const char *path = attempt_path(w->server, "escape-probe");

	if (try_open(r, path, O_WRONLY | O_CREAT))
		(void)unlink(path);
}

RUN(server_config)
{
	static const char config[] = "etc/sallyport.conf";
	int fd = open("new.conf", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		(void)close(fd);
	if (attempt_tried(r, attempt_append(config), "append") ||
	    attempt_tried(r, truncate(config, 0), "truncate") ||
	    attempt_tried(r, rename("new.conf", config), "rename") ||
	    attempt_tried(r, rename(config, "old.conf"), "rename away") ||
	    attempt_tried(r, rename("etc", "old"), "rename of its directory"))
		return;
	(void)attempt_tried(r, unlink(config), "unlink");
}

RUN(other_sessions_tmp)
{
	(void)try_open(r, attempt_path(w->tmp, "of-another-session"), O_RDONLY);
}

RUN(workspace_itself)
{
	char here[512], away[600];

	if (getcwd(here, sizeof here) == NULL)
		return;
	(void)snprintf(away, sizeof away, "%s-away", here);
	if (attempt_tried(r, rename(here, away), "rename of the workspace"))
		(void)rename(away, here);
}

/* Write back to a switch of the kernel what it says. */
RUN(core_pattern)
{
	int fd = open("/proc/sys/kernel/core_pattern", O_RDWR | O_CLOEXEC);
	char was[256];
	ssize_t n = fd < 0 ? -1 : read(fd, was, sizeof was);

	if (n > 0)
		n = pwrite(fd, was, (size_t)n, 0);
	(void)attempt_tried(r, n, "write to core_pattern");
}

/* Files that not every kernel has. */
RUN(open_special)
{
	const char *path = (const char *)a->arg[0];

	if (!try_open(r, path, (int)a->arg[1]) && w->outside && errno == ENOENT)
		attempt_say(r, CANNOT_TELL, "the host has no %s", path);
}

/* Any switch of the kernel that opens for writing. Nothing is written. */
static bool
writable_below(struct result *r, const char *dir, int depth, int *seen)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool found = false;

	while (d != NULL && !found && (e = readdir(d)) != NULL) {
		char path[1024];

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (e->d_type == DT_DIR && depth > 0)
			found = writable_below(r, path, depth - 1, seen);
		else if (e->d_type == DT_REG && ++*seen < 20000)
			found = try_open(r, path, O_WRONLY | O_NONBLOCK);
	}
	if (d != NULL)
		(void)closedir(d);
	return found;
}

RUN(any_switch)
{
	int seen = 0;

	if (!writable_below(r, (const char *)a->arg[0], 6, &seen))
		attempt_say(r, CONTAINED, "none of %d opens for writing", seen);
}

RUN(cgroup)
{
	static const char *const paths[] = {"/sys/fs/cgroup/escape-probe",
	    "/sys/fs/cgroup/unified/escape-probe",
	    "/sys/fs/cgroup/memory/escape-probe"};

	for (size_t i = 0; i < 3; i++) {
		if (!attempt_tried(r, mkdir(paths[i], 0700), paths[i]))
			continue;
		(void)rmdir(paths[i]);
		return;
	}
}

RUN(addresses)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[256];

	if (f == NULL) {
		(void)attempt_tried(r, -1, "/proc/kallsyms");
		return;
	}
	attempt_say(r, CONTAINED, "no address is told");
	for (int i = 0; i < 100 && fgets(line, sizeof line, f) != NULL; i++)
		if (strtoull(line, NULL, 16) != 0)
			attempt_say(r, ESCAPED, "%.40s", line);
	(void)fclose(f);
}

RUN(mount_tmpfs)
{
	(void)attempt_tried(r, mount("none", "dir", "tmpfs", 0, NULL), "mount");
}

RUN(mount_over)
{
	(void)attempt_tried(r,
	    mount(attempt_path(w->host, "open"), "file", NULL, MS_BIND, NULL),
	    "bind mount");
}

RUN(remount)
{
	(void)attempt_tried(r,
	    mount(NULL, w->outside ? "dir" : "/", NULL, MS_REMOUNT | MS_BIND,
		NULL) < 0 &&
		    (!w->outside || mount("dir", "dir", NULL, MS_BIND, NULL) ||
			mount(NULL, "dir", NULL, MS_REMOUNT | MS_BIND, NULL))
		? -1
		: 0,
	    "remount");
}

RUN(uncover)
{
	(void)attempt_tried(r, umount2("/proc", MNT_DETACH), "umount /proc");
}

RUN(change_root)
{
	(void)attempt_tried(r, chroot("dir"), "chroot");
}

#define PATH(p) .arg = {(long)(p)}

const struct attempt attempts_files[] = {
    {"leaked-fds", "exec: close-on-exec", IN_ALL, .run = leaked_fds},
    {"streams", "exec: pipes", IN_ALL, .run = streams},
    {"read-shadow", "uid", IN_ALL, .run = read_shadow},
    {"list-root-home", "uid", IN_ALL, .run = list_root_home},
    {"read-private", "uid", IN_ALL | IN_SWAP, .run = read_private},
    {"read-other-home", "uid", IN_ALL, .run = read_other_home},
    {"write-open", "view", IN_ALL | IN_SWAP, .run = write_open},
    {"truncate-open", "view", IN_ALL | IN_SWAP, .run = truncate_open},
    {"touch-open", "view", IN_ALL | IN_SWAP, .run = touch_open},
    {"xattr-open", "view", IN_ALL, .run = xattr_open},
    {"create-outside", "view", IN_ALL | IN_SWAP, .run = create_outside},
    {"mkdir-outside", "view", IN_ALL | IN_SWAP, .run = mkdir_outside},
    {"unlink-outside", "view", IN_ALL | IN_SWAP, .run = unlink_outside},
    {"rename-outside", "view", IN_ALL | IN_SWAP, .run = rename_outside},
    {"symlink-outside", "view", IN_ALL | IN_SWAP, .run = symlink_outside},
    {"fifo-outside", "view", IN_ALL | IN_SWAP, .run = fifo_outside},
    {"pipe-of-host", "Landlock", IN_ALL | IN_SWAP, .run = pipe_of_host},
    {"bind-outside", "view", IN_ALL, .run = bind_outside},
    {"link-out", "view", IN_ALL | IN_SWAP, .run = link_out},
    {"link-in", "view", IN_ALL, .run = link_in},
    {"link-in-tmp", "view", IN_ALL, .run = link_in_tmp},
    {"rename-in", "view", IN_ALL, .run = rename_in},
    {"symlink-through", "view", IN_ALL, .run = symlink_through},
    {"climb", "view", IN_ALL, .run = climb},
    {"proc-links", "pid namespace", IN_ALL, .run = proc_links},
    {"open-by-handle", "seccomp", IN_ALL, .run = handle},
    {"device-char", "seccomp", IN_ALL, .run = device, .arg = {S_IFCHR, 1}},
    {"device-block", "seccomp", IN_ALL, .run = device, .arg = {S_IFBLK, 0}},
    {"open-device", "view: /dev", IN_ALL, .run = open_device},
    {"open-mem", "view: /dev", IN_ALL, .run = open_special,
	.arg = {(long)"/dev/mem", O_RDONLY}},
    {"open-kmsg", "view: /dev", IN_ALL, .run = open_special,
	.arg = {(long)"/dev/kmsg", O_RDONLY}},
    {"setuid-program", "no_new_privs", IN_ALL | OUT_NOBODY,
	.run = setuid_program},
    {"server-directory", "view", IN_ALL, .run = server_directory},
    {"server-config", "view", IN_ALL, .run = server_config},
    {"other-sessions-tmp", "view: /tmp", IN_ALL, .run = other_sessions_tmp},
    {"workspace-itself", "view", IN_ALL, .run = workspace_itself},
    {"core-pattern", "view: /proc", IN_ALL, .run = core_pattern},
    {"sysrq-trigger", "view: /proc", IN_ALL, .run = open_special,
	.arg = {(long)"/proc/sysrq-trigger", O_WRONLY}},
    {"proc-kcore", "uid", IN_ALL, .run = open_special,
	.arg = {(long)"/proc/kcore", O_RDONLY}},
    {"kernel-addresses", "uid", IN_ALL, .run = addresses},
    {"proc-sys", "view: /proc", IN_ALL, .run = any_switch, PATH("/proc/sys")},
    {"sys-kernel", "view: /sys", IN_ALL, .run = any_switch,
	PATH("/sys/kernel/mm")},
    {"sys-module", "view: /sys", IN_ALL, .run = any_switch,
	PATH("/sys/module")},
    {"sys-cgroup", "view: /sys", IN_ALL, .run = cgroup},
    {"mount-tmpfs", "seccomp", IN_ALL | OUT_MOUNTS, .run = mount_tmpfs},
    {"mount-over", "seccomp", IN_ALL | OUT_MOUNTS, .run = mount_over},
    {"remount", "seccomp", IN_ALL | OUT_MOUNTS, .run = remount},
    {"uncover", "seccomp", IN_ALL | OUT_MOUNTS, .run = uncover},
    {"chroot", "seccomp", IN_ALL, .run = change_root},
    {0},
};
