/* Files that would run with somebody else's id on the host. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "tests/sandbox/escape/attempt.h"

#define RUN(name)                                                              \
	static void name(const struct attempt *a __attribute__((unused)),      \
	    const struct world *w __attribute__((unused)), struct result *r)

#define SYS_FCHMODAT2 452
#define SETUID	      04755
#define SETGID	      02755

/* How a file gets its mode; each makes or changes "made". */
enum {
	BY_CHMOD,
	BY_FCHMOD,
	BY_FCHMODAT,
	BY_FCHMODAT2,
	BY_OPEN,
	BY_OPENAT,
	BY_OPENAT2,
	BY_CREAT,
	BY_MKNOD,
	BY_MKNODAT,
	BY_TMPFILE,
};

static long
tmpfile_linked(long mode)
{
	char path[64];
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t)mode);

	if (fd < 0)
		return -1;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, AT_FDCWD, "made", AT_SYMLINK_FOLLOW);
}

static long
by_openat2(long mode)
{
	const struct open_how how = {.flags = O_CREAT | O_WRONLY | O_CLOEXEC,
	    .mode = (unsigned long long)mode};

	return syscall(SYS_openat2, AT_FDCWD, "made", &how, sizeof how);
}

/* The calls that only this machine's table has. */
static long
by_old_call(long way, long mode)
{
#ifdef __x86_64__
	const int flags = O_CREAT | O_WRONLY;

	switch (way) {
	case BY_CHMOD:
		return syscall(SYS_chmod, "made", mode);
	case BY_OPEN:
		return syscall(SYS_open, "made", flags, mode);
	case BY_CREAT:
		return syscall(SYS_creat, "made", mode);
	case BY_MKNOD:
		return syscall(SYS_mknod, "made", S_IFREG | mode, 0);
	default:
		break;
	}
#endif
	(void)way;
	(void)mode;
	errno = ENOSYS;
	return -1;
}

static long
make_by(long way, long mode)
{
	switch (way) {
	case BY_FCHMOD:
		return syscall(SYS_fchmod, open("made", O_RDONLY), mode);
	case BY_FCHMODAT:
		return syscall(SYS_fchmodat, AT_FDCWD, "made", mode);
	case BY_FCHMODAT2:
		return syscall(SYS_FCHMODAT2, AT_FDCWD, "made", mode, 0);
	case BY_OPENAT:
		return syscall(SYS_openat, AT_FDCWD, "made", O_CREAT | O_WRONLY,
		    mode);
	case BY_OPENAT2:
		return by_openat2(mode);
	case BY_MKNODAT:
		return syscall(SYS_mknodat, AT_FDCWD, "made", S_IFREG | mode,
		    0);
	case BY_TMPFILE:
		return tmpfile_linked(mode);
	default:
		return by_old_call(way, mode);
	}
}

/* What counts is the file in the end, not what a call says. */
static bool
has_bit(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0;
}

RUN(mode)
{
	const char *why;
	long way = a->arg[0];
	long got;

	(void)umask(0);
	(void)unlink("made");
	if (way <= BY_FCHMODAT2)
		(void)close(open("made", O_CREAT | O_WRONLY, 0755));
	got = make_by(way, a->arg[1]);
	why = got < 0 ? strerror(errno) : "dropped";
	if (!has_bit("made"))
		attempt_say(r, CONTAINED, "no bit: %s", why);
	else
		attempt_say(r, ESCAPED, "the file has the bit");
	(void)unlink("made");
}

/* The bit asked for in the unused upper half of the argument's register. */
RUN(dirty_mode)
{
	(void)umask(0);
	(void)close(open("made", O_CREAT | O_WRONLY, 0755));
	(void)syscall(SYS_fchmodat, AT_FDCWD, "made",
	    (long)0xdead0000000009edul);
	if (has_bit("made"))
		attempt_say(r, ESCAPED, "the file has the bit");
	else
		attempt_say(r, CONTAINED, "no bit");
	(void)unlink("made");
}

/* Programs that cannot do what they are told have to say so. */
static void
visibly(struct result *r, const char *const argv[], const char *name)
{
	int status = attempt_spawn(argv);
	bool bit = has_bit(name);

	if (status == 127 || status < 0)
		attempt_say(r, CANNOT_TELL, "%s is missing", argv[0]);
	else if (bit || status == 0)
		attempt_say(r, ESCAPED, "%s exits with %d, bit %s", argv[0],
		    status, bit ? "set" : "silently dropped");
	else
		attempt_say(r, CONTAINED, "%s exits with %d", argv[0], status);
}

RUN(by_tar)
{
	static const char *const argv[] = {"tar", "-xpf", "setuid.tar", NULL};

	visibly(r, argv, "setuid-packed");
}

RUN(by_cp)
{
	static const char *const argv[] = {"cp", "-p", "setuid-file",
	    "setuid-copy", NULL};

	visibly(r, argv, "setuid-copy");
}

/* A program's capabilities, kept in an attribute of its file. */
RUN(capability)
{
	/* Version 2, effective: CAP_SETUID. */
	static const unsigned char value[20] = {1, 0, 0, 2, 0x80};

	(void)attempt_tried(r,
	    setxattr("file", "security.capability", value, sizeof value, 0),
	    "security.capability");
}

/* Give a file away, bits and all. */
RUN(owner)
{
	(void)attempt_tried(r, chown("file", 1, 1), "chown");
	if (r->verdict == ESCAPED)
		(void)!chown("file", 0, 0);
}

#define WAY(how, bits) .run = mode, .arg = {how, bits}

const struct attempt attempts_modes[] = {
    {"setuid-chmod", "seccomp", IN_ALL, WAY(BY_CHMOD, SETUID)},
    {"setuid-fchmod", "seccomp", IN_ALL, WAY(BY_FCHMOD, SETUID)},
    {"setuid-fchmodat", "seccomp", IN_ALL, WAY(BY_FCHMODAT, SETUID)},
    {"setuid-fchmodat2", "seccomp", IN_ALL, WAY(BY_FCHMODAT2, SETUID)},
    {"setuid-open", "seccomp", IN_ALL, WAY(BY_OPEN, SETUID)},
    {"setuid-openat", "seccomp", IN_ALL, WAY(BY_OPENAT, SETUID)},
    {"setuid-openat2", "seccomp", IN_ALL, WAY(BY_OPENAT2, SETUID)},
    {"setuid-creat", "seccomp", IN_ALL, WAY(BY_CREAT, SETUID)},
    {"setuid-mknod", "seccomp", IN_ALL, WAY(BY_MKNOD, SETUID)},
    {"setuid-mknodat", "seccomp", IN_ALL, WAY(BY_MKNODAT, SETUID)},
    {"setuid-tmpfile", "seccomp", IN_ALL, WAY(BY_TMPFILE, SETUID)},
    {"setgid-chmod", "seccomp", IN_ALL, WAY(BY_CHMOD, SETGID)},
    {"setgid-fchmodat2", "seccomp", IN_ALL, WAY(BY_FCHMODAT2, SETGID)},
    {"setgid-openat", "seccomp", IN_ALL, WAY(BY_OPENAT, SETGID)},
    {"setgid-mknodat", "seccomp", IN_ALL, WAY(BY_MKNODAT, SETGID)},
    {"setuid-dirty-bits", "seccomp", IN_ALL, .run = dirty_mode},
    {"setuid-tar", "seccomp", IN_WRITE | IN_PLAIN, .run = by_tar},
    {"setuid-cp", "seccomp", IN_WRITE | IN_PLAIN, .run = by_cp},
    {"file-capability", "capabilities", IN_ALL, .run = capability},
    {"give-away", "capabilities", IN_ALL, .run = owner},
    {0},
};
