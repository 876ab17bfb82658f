/* Opening without links, on systems that have openat2 and that have not. */
#include "exec/worker_nolinks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/worker_dir.h"
#include "tests/unit/unit.h"

#define DEADLINE_S 60
/* As the callers have them. */
#define FOR_STAT   (O_PATH | O_CLOEXEC)
#define FOR_DIR	   (WORKER_DIR_OPEN & ~O_NOFOLLOW)
/* Names of NAME_MAX bytes and of one more. */
#define TEN	   "xxxxxxxxxx"
#define FIFTY	   TEN TEN TEN TEN TEN
#define LONGEST	   FIFTY FIFTY FIFTY FIFTY FIFTY "xxxxx"
#define TOO_LONG   LONGEST "x"
_Static_assert(sizeof LONGEST - 1 == NAME_MAX, "a name as long as can be");

/* What a directory holds: a directory d with a file, a file f, a long name,
 * and links: to_f, to_d, to_none, and in d one that leads out of it. */
struct place {
	char dir[32];
	int fd;
};

static const struct {
	const char *path; /* with '@': absolute, in the place */
	int flags, r;
	const char *same; /* as this one, if r is 0; NULL: as path */
} rows[] = {
    {"f", FOR_STAT, 0, NULL},
    {"d", FOR_STAT, 0, NULL},
    {"d", FOR_DIR, 0, NULL},
    {"d/", FOR_STAT, 0, "d"},
    {"d//", FOR_DIR, 0, "d"},
    {"d/f", FOR_STAT, 0, NULL},
    {"d//f", FOR_STAT, 0, "d/f"},
    {".", FOR_DIR, 0, NULL},
    {"./d/./f", FOR_STAT, 0, "d/f"},
    {"/", FOR_STAT, 0, NULL},
    {"/", FOR_DIR, 0, NULL},
    {"///", FOR_DIR, 0, "/"},
    {"@/f", FOR_STAT, 0, "f"},
    {"@/d/f", FOR_STAT, 0, "d/f"},
    {"@/", FOR_DIR, 0, "."},
    /* a link at the end */
    {"to_f", FOR_STAT, -ELOOP, NULL},
    {"to_d", FOR_STAT, -ELOOP, NULL},
    {"to_none", FOR_STAT, -ELOOP, NULL},
    {"to_f", O_RDONLY | O_CLOEXEC, -ELOOP, NULL},
    {"to_f", FOR_DIR, -ELOOP, NULL},
    {"to_d", FOR_DIR, -ELOOP, NULL},
    {"to_none", FOR_DIR, -ELOOP, NULL},
    {"to_d/", FOR_DIR, -ELOOP, NULL},
    {"d/out", FOR_STAT, -ELOOP, NULL},
    {"@/to_d", FOR_DIR, -ELOOP, NULL},
    {"/proc/self", FOR_DIR, -ELOOP, NULL},
    /* and on the way */
    {"to_d/f", FOR_STAT, -ELOOP, NULL},
    {"to_d/none", FOR_STAT, -ELOOP, NULL},
    {"to_none/f", FOR_STAT, -ELOOP, NULL},
    {"d/out/f", FOR_STAT, -ELOOP, NULL},
    {"@/to_d/f", FOR_STAT, -ELOOP, NULL},
    {"/proc/self/root/", FOR_DIR, -ELOOP, NULL},
    /* what is no directory, or not there */
    {"f", FOR_DIR, -ENOTDIR, NULL},
    {"f/", FOR_STAT, -ENOTDIR, NULL},
    {"f/f", FOR_STAT, -ENOTDIR, NULL},
    {"none", FOR_STAT, -ENOENT, NULL},
    {"none", FOR_DIR, -ENOENT, NULL},
    {"none/f", FOR_STAT, -ENOENT, NULL},
    {"", FOR_DIR, -ENOENT, NULL},
    /* names as long as can be, and longer */
    {LONGEST, FOR_STAT, 0, NULL},
    {LONGEST "/f", FOR_STAT, -ENOTDIR, NULL},
    {"d/" LONGEST, FOR_STAT, -ENOENT, NULL},
    {TOO_LONG, FOR_STAT, -ENAMETOOLONG, NULL},
    {TOO_LONG "/f", FOR_STAT, -ENAMETOOLONG, NULL},
    {"d/" TOO_LONG, FOR_DIR, -ENAMETOOLONG, NULL},
};

static void
put(const struct place *p, const char *name)
{
	scoped_fd fd =
	    openat(p->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

static int
place_make(void **state)
{
	static struct place place;
	struct place *p = &place;

	(void)snprintf(p->dir, sizeof p->dir, "/tmp/nolinks-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->fd >= 0);
	assert_int_equal(mkdirat(p->fd, "d", 0700), 0);
	put(p, "f");
	put(p, "d/f");
	put(p, LONGEST);
	assert_int_equal(symlinkat("f", p->fd, "to_f"), 0);
	assert_int_equal(symlinkat("d", p->fd, "to_d"), 0);
	assert_int_equal(symlinkat("none", p->fd, "to_none"), 0);
	assert_int_equal(symlinkat("..", p->fd, "d/out"), 0);
	*state = p;
	return 0;
}

static int
place_remove(void **state)
{
	static const char *const names[] = {"d/out", "d/f", "f", LONGEST,
	    "to_f", "to_d", "to_none"};
	struct place *p = *state;

	for (size_t i = 0; i < COUNT(names); i++)
		assert_int_equal(unlinkat(p->fd, names[i], 0), 0);
	assert_int_equal(unlinkat(p->fd, "d", AT_REMOVEDIR), 0);
	(void)close(p->fd);
	return rmdir(p->dir);
}

/* From here on openat2 fails like that. */
static bool
deny_openat2(int errnum)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)errnum),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {.len = COUNT(code), .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
	       syscall(SYS_openat2, AT_FDCWD, "/", NULL, (size_t)0) == -1 &&
	       errno == errnum;
}

/* Whether fd is what name is. */
static bool
is_same(const struct place *p, int fd, const char *name)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 &&
	       fstatat(p->fd, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool
row_holds(const struct place *p, size_t i)
{
	const char *path = rows[i].path;
	const char *same = rows[i].same != NULL ? rows[i].same : path;
	char full[sizeof p->dir + 64];
	scoped_fd fd = -1;

	if (path[0] == '@') {
		(void)snprintf(full, sizeof full, "%s%s", p->dir, path + 1);
		path = full;
	}
	fd = worker_open_nolinks(p->fd, path, rows[i].flags);
	if (rows[i].r == 0 ? fd >= 0 && is_same(p, fd, same) : fd == rows[i].r)
		return true;
	(void)fprintf(stderr, "row %zu, %.20s: %d\n", i, path, fd);
	return false;
}

/* Links are followed, wherever they lead. */
static bool
follows(const struct place *p)
{
	scoped_fd f = worker_open_nomagic(p->fd, "to_f", FOR_STAT);
	scoped_fd d = worker_open_nomagic(p->fd, "d/out/to_d/", FOR_DIR);
	scoped_fd none = worker_open_nomagic(p->fd, "to_none", FOR_STAT);

	return f >= 0 && is_same(p, f, "f") && d >= 0 && is_same(p, d, "d") &&
	       none == -ENOENT;
}

static _Noreturn void
look(const struct place *p, int errnum)
{
	unsigned int open = fds_open();
	bool good = true;

	(void)alarm(DEADLINE_S);
	if (errnum != 0 && !deny_openat2(errnum))
		_exit(2);
	for (size_t i = 0; i < COUNT(rows); i++)
		good = row_holds(p, i) && good;
	good = follows(p) && good;
	_exit(good && fds_open() == open ? 0 : 1);
}

/* In a process of its own, for it keeps its filter. */
static void
look_where(const struct place *p, int errnum)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		look(p, errnum);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
with_openat2(void **state)
{
	struct place *p = *state;

	/* A container may have a filter of its own. */
	look_where(p, 0);
}

static void
where_the_kernel_has_no_openat2(void **state)
{
	look_where(*state, ENOSYS);
}

static void
where_a_filter_refuses_it(void **state)
{
	look_where(*state, EPERM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(with_openat2),
	    cmocka_unit_test(where_the_kernel_has_no_openat2),
	    cmocka_unit_test(where_a_filter_refuses_it),
	};

	return cmocka_run_group_tests(tests, place_make, place_remove);
}
