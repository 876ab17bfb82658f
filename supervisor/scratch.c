#include "supervisor/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privsep/filters.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* all architectures */
#endif

/* --- removing ------------------------------------------------------------- */

struct entries {
	_Alignas(struct dirent64) char data[4096];
	size_t at, len;
};

/* The next name in dir but "." and ".."; NULL at the end. */
static const char *
next_name(struct entries *n, int dir)
{
	for (;;) {
		const struct dirent64 *d = (const void *)(n->data + n->at);

		if (n->at == n->len) {
			ssize_t len = getdents64(dir, n->data, sizeof n->data);

			if (len <= 0)
				return NULL;
			n->len = (size_t)len;
			n->at = 0;
			d = (const void *)n->data;
		}
		n->at += d->d_reclen;
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			return d->d_name;
	}
}

/* A directory can be emptied and moved by its owner only with these bits. */
static int
open_directory(int in, const char *name)
{
	(void)syscall(SYS_fchmodat2, in, name, 0700, AT_SYMLINK_NOFOLLOW);
	return openat(in, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Remove an entry of a directory that lies in top, or move it there. */
static bool
take_out(int top, int from, const char *name, unsigned int *number)
{
	char fresh[16];

	if (unlinkat(from, name, 0) == 0 ||
	    unlinkat(from, name, AT_REMOVEDIR) == 0)
		return true;
	(void)syscall(SYS_fchmodat2, from, name, 0700, AT_SYMLINK_NOFOLLOW);
	for (int tries = 0; tries < 16; tries++) {
		(void)snprintf(fresh, sizeof fresh, "%u", (*number)++);
		if (renameat(from, name, top, fresh) == 0)
			return true;
	}
	return false;
}

/* Remove an entry of top; the directories in one come to lie in top. Whether
 * something was done. */
static bool
remove_entry(int top, const char *name, unsigned int *number)
{
	struct entries inside = {.at = 0};
	const char *entry;
	scoped_fd dir = -1;
	bool done = false;

	if (unlinkat(top, name, 0) == 0)
		return true;
	dir = open_directory(top, name);
	while (dir >= 0 && (entry = next_name(&inside, dir)) != NULL)
		done |= take_out(top, dir, entry, number);
	return unlinkat(top, name, AT_REMOVEDIR) == 0 || done;
}

void
scratch_sweep(int top)
{
	unsigned int number = 0;
	bool progress = true;

	while (progress) {
		struct entries entries = {.at = 0};
		const char *name;

		progress = false;
		if (lseek(top, 0, SEEK_SET) < 0)
			return;
		while ((name = next_name(&entries, top)) != NULL)
			progress |= remove_entry(top, name, &number);
	}
}

/* --- the process that does it --------------------------------------------- */

static int
settle(const struct scratch *s, int top, int life)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), r;

	/* Out of reach of the terminal, and without the server's descriptors,
	 * for whose end others wait. */
	if (null < 0 || setsid() < 0 || dup2(top, 3) < 0 || dup2(life, 4) < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	r = privdrop_close_from(5);
	if (r == 0 && geteuid() == 0)
		r = privdrop_ids(s->uid, s->gid, true);
	if (r == 0)
		r = privdrop_caps(0, false);
	if (r == 0)
		r = privdrop_undumpable();
	if (r == 0)
		r = privdrop_no_new_privs();
	return r < 0 ? r : lockdown(&filter_sweeper);
}

static _Noreturn void
sweeper_run(const struct scratch *s, int top, int life)
{
	char byte;

	if (settle(s, top, life) < 0)
		_exit(1);
	while (read(4, &byte, 1) < 0 && errno == EINTR)
		;
	scratch_sweep(3);
	(void)unlinkat(AT_FDCWD, s->path, AT_REMOVEDIR);
	_exit(0);
}

/* Nobody's child: the server waits for the end of all of its own. */
static void
leave_to_sweeper(void)
{
	pid_t pid = fork();

	if (pid != 0)
		_exit(pid < 0 ? 1 : 0);
}

static int
start_sweeper(struct scratch *s, struct err *e)
{
	scoped_fd top =
	    open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int ends[2], status;
	pid_t pid;

	if (top < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, errno, "open %s", s->path);
	pid = fork();
	if (pid == 0) {
		leave_to_sweeper();
		/* Above the two that it is to have. */
		int high = fcntl(top, F_DUPFD_CLOEXEC, 5);
		int end = fcntl(ends[0], F_DUPFD_CLOEXEC, 5);

		if (high < 0 || end < 0)
			_exit(1);
		sweeper_run(s, high, end);
	}
	(void)close(ends[0]);
	s->life = ends[1];
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_errno(e, errno, "fork");
	if (status != 0)
		return err_set(e, EAGAIN,
		    "cannot start the process that removes %s", s->path);
	return 0;
}

void
scratch_init(struct scratch *s)
{
	*s = (struct scratch){.life = -1};
}

int
scratch_make(struct scratch *s, uid_t uid, gid_t gid, struct err *e)
{
	char home[sizeof s->path + sizeof "/home"];
	int r;

	(void)snprintf(s->path, sizeof s->path, "/tmp/sallyport-XXXXXX");
	if (mkdtemp(s->path) == NULL) {
		s->path[0] = '\0';
		return err_errno(e, errno, "make a directory in /tmp");
	}
	(void)snprintf(home, sizeof home, "%s/home", s->path);
	s->uid = uid;
	s->gid = gid;
	if (mkdir(home, 0700) < 0 ||
	    (geteuid() == 0 &&
		(lchown(home, uid, gid) < 0 || lchown(s->path, uid, gid) < 0)))
		return err_errno(e, errno, "make %s", home);
	r = start_sweeper(s, e);
	if (r < 0) {
		(void)rmdir(home);
		(void)rmdir(s->path);
	}
	return r;
}

void
scratch_done(struct scratch *s)
{
	fd_close(&s->life);
	s->path[0] = '\0';
}
