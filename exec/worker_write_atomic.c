#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "exec/worker_open.h"
#include "exec/worker_path.h"
#include "exec/worker_write.h"

/* Names to try for a file beside; more are only taken by writers at work. */
#define BESIDE_NAMES 8
/* A way of making the file beside that this system does not have. */
#define UNSUPPORTED  (-EOPNOTSUPP)

/* The file to be replaced. */
struct target {
	struct worker_place at;
	bool exists;
	mode_t mode; /* permission bits to keep, if it exists */
};

/* The new file. */
struct beside {
	int fd;
	char name[48]; /* "" while it has none */
};

/*
 * Find the file behind path, and open it as if to write: who may not change
 * it may not replace it either.
 */
static int
target_find(const char *path, struct target *t, enum fs_failure *why)
{
	scoped_fd fd = -1;
	struct stat st;
	int r = worker_path_find(path, &t->at);

	if (r < 0)
		return r;
	if (t->at.name[0] == '\0')
		return -EISDIR;
	if (fstatat(t->at.dir_fd, t->at.name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		t->exists = false;
		return errno == ENOENT ? 0 : -errno;
	}
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode)) {
		*why = FS_FAILURE_NOT_A_FILE;
		return -EINVAL;
	}
	fd = openat(t->at.dir_fd, t->at.name,
	    O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	t->exists = true;
	t->mode = st.st_mode & 0777;
	return 0;
}

/* The i-th name for a file beside one called name: 64 bits of FNV-1a, since
 * name itself may leave no room for more. */
static void
beside_name(struct beside *b, const char *name, unsigned int i)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name != '\0'; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	(void)snprintf(b->name, sizeof b->name, ".sallyport-%016llx-%u",
	    (unsigned long long)hash, i);
}

/* Whether name in dir_fd is what fd is. */
static bool
is_same(int dir_fd, const char *name, int fd)
{
	struct stat a, b;

	return fstatat(dir_fd, name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/*
 * Remove the file name if its writer is gone: that one held a lock as long as
 * it lived. Whoever removes it holds the lock too, so what is removed is what
 * was locked.
 */
static void
remove_stale(int dir_fd, const char *name)
{
	scoped_fd fd = -1;
	struct stat st;

	fd = openat(dir_fd, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same(dir_fd, name, fd))
		(void)unlinkat(dir_fd, name, 0);
}

/*
 * Give the nameless file fd the name in dir_fd. By descriptor alone since
 * Linux 6.10, else through /proc, where there is one.
 */
static int
link_fd(int fd, int dir_fd, const char *name)
{
	char path[32];

	if (linkat(fd, "", dir_fd, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOENT && errno != EPERM)
		return -errno;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return errno == ENOENT || errno == EACCES ? UNSUPPORTED : -errno;
}

/* Name the file beside; -EEXIST if every name is taken by a living writer. */
static int
beside_link(struct beside *b, const struct worker_place *at)
{
	int r = -EEXIST;

	for (unsigned int i = 0; i < BESIDE_NAMES && r == -EEXIST; i++) {
		beside_name(b, at->name, i);
		r = link_fd(b->fd, at->dir_fd, b->name);
		if (r != -EEXIST)
			break;
		remove_stale(at->dir_fd, b->name);
		r = link_fd(b->fd, at->dir_fd, b->name);
	}
	if (r < 0)
		b->name[0] = '\0';
	return r;
}

static int
create_named(int dir_fd, const char *name)
{
	scoped_fd fd =
	    openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	/* Between the two calls another may have thought it stale. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EEXIST;
	return is_same(dir_fd, name, fd) ? fd_take(&fd) : -EEXIST;
}

/* A file beside that has a name from the start. */
static int
beside_named(struct beside *b, const struct worker_place *at)
{
	int r = -EEXIST;

	for (unsigned int i = 0; i < BESIDE_NAMES && r == -EEXIST; i++) {
		beside_name(b, at->name, i);
		r = create_named(at->dir_fd, b->name);
		if (r != -EEXIST)
			break;
		remove_stale(at->dir_fd, b->name);
		r = create_named(at->dir_fd, b->name);
	}
	if (r < 0) {
		b->name[0] = '\0';
		return r;
	}
	b->fd = r;
	return 0;
}

/* A file beside without a name: it goes with this process. */
static int
beside_unnamed(struct beside *b, const struct worker_place *at)
{
	int fd =
	    openat(at->dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	if (fd < 0)
		return errno == EISDIR || errno == ENOENT || errno == EINVAL
			   ? UNSUPPORTED
			   : -errno;
	b->fd = fd;
	/* Before it has a name, so that nobody takes it for a stale one. */
	(void)flock(fd, LOCK_EX | LOCK_NB);
	return 0;
}

static int
fill(int fd, const struct target *t, const struct worker_payload *p)
{
	int r;

	if (t->exists && fchmod(fd, t->mode) < 0)
		return -errno;
	r = worker_payload_write(p, fd, 0, p->size);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r;
}

/* Put the filled file in the place of the old one. */
static int
publish(struct beside *b, const struct target *t)
{
	const struct worker_place *at = &t->at;
	int r;

	if (b->name[0] == '\0' && !t->exists) {
		r = link_fd(b->fd, at->dir_fd, at->name);
		if (r != -EEXIST)
			return r;
	}
	r = b->name[0] == '\0' ? beside_link(b, at) : 0;
	if (r == 0 && renameat(at->dir_fd, b->name, at->dir_fd, at->name) < 0)
		r = -errno;
	if (r == 0)
		b->name[0] = '\0';
	return r;
}

/* One way of making the file beside. On failure nothing of it is left. */
static int
replace(const struct target *t, const struct worker_payload *p, bool named)
{
	struct beside b = {.fd = -1};
	int r = named ? beside_named(&b, &t->at) : beside_unnamed(&b, &t->at);

	if (r == 0)
		r = fill(b.fd, t, p);
	if (r == 0)
		r = publish(&b, t);
	if (b.name[0] != '\0')
		(void)unlinkat(t->at.dir_fd, b.name, 0);
	fd_close(&b.fd);
	return r;
}

/* Make the rename last. A directory that may not be read is left to itself. */
static int
sync_directory(int dir_fd)
{
	scoped_fd fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

int
worker_write_atomic(const char *path, const struct worker_payload *p,
    enum fs_failure *why)
{
	struct target t = {.at = PLACE_NONE};
	int r = target_find(path, &t, why);

	if (r == 0) {
		r = replace(&t, p, false);
		if (r == UNSUPPORTED)
			r = replace(&t, p, true);
		if (r < 0)
			*why = FS_FAILURE_OLD_KEPT;
		else
			r = sync_directory(t.at.dir_fd);
	}
	worker_place_done(&t.at);
	return r;
}
