/* Files: in the workspace, which is the working directory, lie .git/HEAD,
 * link (to .git), secret/key (denied), setuid (a file) and mine (a file). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

static bool
opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static bool
creates(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return false;
	(void)close(fd);
	(void)unlink(path);
	return true;
}

static enum outcome
read_shadow(void)
{
	return escaped_if(opens("/etc/shadow", O_RDONLY));
}

static enum outcome
write_passwd(void)
{
	return escaped_if(opens("/etc/passwd", O_WRONLY));
}

static enum outcome
write_program(void)
{
	return escaped_if(opens("/usr/bin/env", O_WRONLY));
}

static enum outcome
create_in_root(void)
{
	return escaped_if(creates("/escape-test"));
}

static enum outcome
create_in_etc(void)
{
	return escaped_if(creates("/etc/escape-test"));
}

static enum outcome
create_in_run(void)
{
	return escaped_if(creates("/run/escape-test"));
}

static enum outcome
list_home_of_root(void)
{
	DIR *d = opendir("/root");

	if (d != NULL)
		(void)closedir(d);
	return escaped_if(d != NULL);
}

/* Through the root, working directory and descriptors of others. */
static enum outcome
by_proc(const char *what)
{
	for (int pid = 1; pid < 400; pid++) {
		char path[64];

		(void)snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
		if (pid != getpid() && pid != getppid() && opens(path, O_PATH))
			return ESCAPED;
	}
	return CONTAINED;
}

static enum outcome
root_by_proc(void)
{
	return by_proc("root/etc");
}

static enum outcome
cwd_by_proc(void)
{
	return by_proc("cwd/.");
}

static enum outcome
descriptor_by_proc(void)
{
	return by_proc("fd/0");
}

static enum outcome
inherited_descriptor(void)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return ESCAPED;
	return CONTAINED;
}

static enum outcome
hard_link_of_system_file(void)
{
	if (link("/etc/passwd", "hard") < 0)
		return CONTAINED;
	(void)unlink("hard");
	return ESCAPED;
}

static enum outcome
hard_link_of_protected(void)
{
	if (link(".git/HEAD", "hard") < 0)
		return CONTAINED;
	(void)unlink("hard");
	return ESCAPED;
}

static enum outcome
block_device(void)
{
	dev_t disk = makedev(8, 0);
	bool made = mknod("disk", S_IFBLK | 0600, disk) == 0;

	(void)unlink("disk");
	return escaped_if(made);
}

static enum outcome
character_device(void)
{
	dev_t mem = makedev(1, 1);
	bool made = mknodat(AT_FDCWD, "mem", S_IFCHR | 0600, mem) == 0;

	(void)unlink("mem");
	return escaped_if(made);
}

/* --- setuid bits ---------------------------------------------------------- */

static bool
is_setuid(const char *path)
{
	struct stat st;
	bool is = stat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID));

	(void)syscall(SYS_fchmodat, AT_FDCWD, path, 0644);
	return is;
}

static enum outcome
setuid_by_chmod(void)
{
	(void)syscall(SYS_chmod, "mine", 04755);
	return escaped_if(is_setuid("mine"));
}

static enum outcome
setuid_by_fchmod(void)
{
	int fd = open("mine", O_RDONLY | O_CLOEXEC);

	(void)fchmod(fd, 06755);
	(void)close(fd);
	return escaped_if(is_setuid("mine"));
}

static enum outcome
setuid_by_fchmodat(void)
{
	(void)syscall(SYS_fchmodat, AT_FDCWD, "mine", 04755);
	return escaped_if(is_setuid("mine"));
}

static enum outcome
setuid_by_fchmodat2(void)
{
	(void)syscall(452, AT_FDCWD, "mine", 04755, 0);
	return escaped_if(is_setuid("mine"));
}

static enum outcome
setuid_by_open(void)
{
	bool is;

	(void)umask(0);
	(void)close(open("new", O_CREAT | O_WRONLY | O_CLOEXEC, 04755));
	is = is_setuid("new");
	(void)unlink("new");
	return escaped_if(is);
}

static enum outcome
setuid_by_openat2(void)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = {O_CREAT | O_WRONLY | O_CLOEXEC, 04755, 0};
	bool is;

	(void)umask(0);
	(void)syscall(SYS_openat2, AT_FDCWD, "new", &how, sizeof how);
	is = is_setuid("new");
	(void)unlink("new");
	return escaped_if(is);
}

static enum outcome
setuid_by_mknod(void)
{
	bool is;

	(void)umask(0);
	(void)mknodat(AT_FDCWD, "new", S_IFREG | 04755, 0);
	is = is_setuid("new");
	(void)unlink("new");
	return escaped_if(is);
}

static enum outcome
setuid_by_tmpfile(void)
{
	struct stat st = {0};
	int fd;

	(void)umask(0);
	fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 04755);
	(void)fstat(fd, &st);
	(void)close(fd);
	return escaped_if((st.st_mode & S_ISUID) != 0);
}

static enum outcome
file_capability(void)
{
	/* VFS_CAP_REVISION_2, effective: all of the first 32. */
	const uint32_t caps[5] = {0x02000001, ~0u, 0, 0, 0};

	return escaped_if(
	    setxattr("mine", "security.capability", caps, sizeof caps, 0) == 0);
}

/* Tools must fail visibly, not silently leave the bit out. */
static enum outcome
fails_silently(const char *command)
{
	return escaped_if(system(command) == 0); /* NOLINT: our own words */
}

static enum outcome
setuid_by_cp(void)
{
	return fails_silently("cp -p /usr/bin/passwd copy 2>/dev/null && "
			      "test -u copy");
}

static enum outcome
setuid_by_install(void)
{
	return fails_silently("install -m 4755 mine copy 2>/dev/null");
}

static enum outcome
setuid_by_tar(void)
{
	return fails_silently("printf 'x' > t && "
			      "tar --mode=4755 -cf t.tar t && "
			      "tar -xpf t.tar 2>/dev/null");
}

/* --- what is protected in the workspace ----------------------------------- */

static enum outcome
write_protected(void)
{
	return escaped_if(opens(".git/HEAD", O_WRONLY));
}

static enum outcome
plant_in_protected(void)
{
	return escaped_if(creates(".git/hook"));
}

static enum outcome
rename_protected(void)
{
	if (rename(".git", "git") < 0)
		return CONTAINED;
	(void)rename("git", ".git");
	return ESCAPED;
}

static enum outcome
remove_protected(void)
{
	if (rename(".git/HEAD", ".git/TAIL") < 0 && rmdir(".git") < 0)
		return CONTAINED;
	(void)rename(".git/TAIL", ".git/HEAD");
	return ESCAPED;
}

static enum outcome
exchange_protected(void)
{
	bool done = false;

	(void)mkdir("other", 0755);
	/* Twice is as before. */
	for (int i = 0; i < 2; i++)
		done = syscall(SYS_renameat2, AT_FDCWD, "other", AT_FDCWD,
			   ".git", RENAME_EXCHANGE) == 0;
	return escaped_if(done);
}

static enum outcome
chmod_protected(void)
{
	return escaped_if(chmod(".git/HEAD", 0666) == 0);
}

static enum outcome
touch_protected(void)
{
	return escaped_if(utimensat(AT_FDCWD, ".git/HEAD", NULL, 0) == 0);
}

static enum outcome
protected_through_link(void)
{
	return escaped_if(creates("link/hook"));
}

static enum outcome
protected_through_root(void)
{
	char path[512], cwd[256];

	if (getcwd(cwd, sizeof cwd) == NULL)
		return NOTHING_TO_TRY;
	(void)snprintf(path, sizeof path, "/proc/self/root%s/.git/hook", cwd);
	return escaped_if(creates(path));
}

static enum outcome
protected_through_directory(void)
{
	int fd = open(".git", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return escaped_if(
	    openat(fd, "hook", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0);
}

static enum outcome
plant_missing(void)
{
	return escaped_if(mkdir(".codex", 0755) == 0 ||
			  mkdir(".codex/hooks", 0755) == 0 ||
			  symlink("/tmp", ".agents") == 0);
}

static enum outcome
read_denied(void)
{
	return escaped_if(opens("secret/key", O_RDONLY));
}

static enum outcome
rename_denied(void)
{
	if (rename("secret", "public") < 0)
		return CONTAINED;
	(void)rename("public", "secret");
	return ESCAPED;
}

static enum outcome
chmod_denied(void)
{
	return escaped_if(chmod("secret", 0755) == 0);
}

static enum outcome
read_denied_by_pattern(void)
{
	return escaped_if(opens("x.env", O_RDONLY));
}

static enum outcome
rename_workspace(void)
{
	char cwd[256], other[300];

	if (getcwd(cwd, sizeof cwd) == NULL)
		return NOTHING_TO_TRY;
	(void)snprintf(other, sizeof other, "%s-other", cwd);
	if (rename(cwd, other) < 0)
		return CONTAINED;
	(void)rename(other, cwd);
	return ESCAPED;
}

static enum outcome
above_the_root(void)
{
	struct stat root, above;

	if (chdir("/") < 0 || chdir("../../../..") < 0)
		return CONTAINED;
	return escaped_if(stat("/", &root) == 0 && stat(".", &above) == 0 &&
			  root.st_ino != above.st_ino);
}

static enum outcome
core_pattern(void)
{
	return escaped_if(opens("/proc/sys/kernel/core_pattern", O_WRONLY));
}

static enum outcome
sysrq(void)
{
	return escaped_if(opens("/proc/sysrq-trigger", O_WRONLY));
}

static enum outcome
kernel_memory(void)
{
	return escaped_if(opens("/proc/kcore", O_RDONLY) ||
			  opens("/dev/mem", O_RDONLY) ||
			  opens("/dev/kmsg", O_RDONLY));
}

const struct attempt attempts_files[] = {
    {"read /etc/shadow", read_shadow},
    {"write /etc/passwd", write_passwd},
    {"write a program", write_program},
    {"create in /", create_in_root},
    {"create in /etc", create_in_etc},
    {"create in /run", create_in_run},
    {"list root's home", list_home_of_root},
    {"another root by /proc", root_by_proc},
    {"another directory by /proc", cwd_by_proc},
    {"another descriptor by /proc", descriptor_by_proc},
    {"an inherited descriptor", inherited_descriptor},
    {"hard link of a system file", hard_link_of_system_file},
    {"hard link of a protected file", hard_link_of_protected},
    {"a block device", block_device},
    {"a character device", character_device},
    {"setuid by chmod", setuid_by_chmod},
    {"setuid by fchmod", setuid_by_fchmod},
    {"setuid by fchmodat", setuid_by_fchmodat},
    {"setuid by fchmodat2", setuid_by_fchmodat2},
    {"setuid by open", setuid_by_open},
    {"setuid by openat2", setuid_by_openat2},
    {"setuid by mknod", setuid_by_mknod},
    {"setuid by O_TMPFILE", setuid_by_tmpfile},
    {"setuid by cp", setuid_by_cp},
    {"setuid by install", setuid_by_install},
    {"setuid by tar", setuid_by_tar},
    {"a file capability", file_capability},
    {"write what is protected", write_protected},
    {"plant in what is protected", plant_in_protected},
    {"rename what is protected", rename_protected},
    {"remove what is protected", remove_protected},
    {"exchange what is protected", exchange_protected},
    {"chmod what is protected", chmod_protected},
    {"touch what is protected", touch_protected},
    {"the protected through a link", protected_through_link},
    {"the protected through /proc", protected_through_root},
    {"the protected by descriptor", protected_through_directory},
    {"plant what is missing", plant_missing},
    {"read what is denied", read_denied},
    {"rename what is denied", rename_denied},
    {"chmod what is denied", chmod_denied},
    {"read what a pattern denies", read_denied_by_pattern},
    {"rename the workspace", rename_workspace},
    {"go above the root", above_the_root},
    {"write core_pattern", core_pattern},
    {"open sysrq-trigger", sysrq},
    {"read kernel memory", kernel_memory},
    {NULL, NULL},
};
