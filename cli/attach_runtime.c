#include "cli/attach_runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define NAME	      "sallyport"
#define NAME_MAX_SIZE 64
/* Between two tries for a lock that is held for some milliseconds. */
#define RETRY_MS      5

static int
check_directory(int fd, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, errno, "runtime directory");
	if (st.st_uid != geteuid())
		return err_set(e, EPERM,
		    "the runtime directory's " NAME " belongs to user %u",
		    st.st_uid);
	if ((st.st_mode & 077) != 0)
		return err_set(e, EPERM,
		    "the runtime directory's " NAME " has mode %o, not 700",
		    (unsigned int)(st.st_mode & 07777));
	return 0;
}

int
attach_runtime_open(int *dir_fd, struct err *e)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	scoped_fd base_fd = -1;
	scoped_fd fd = -1;
	int r;

	if ((base == NULL || *base == '\0') && geteuid() == 0)
		base = "/run";
	if (base == NULL || *base != '/')
		return err_set(e, ENOENT,
		    "XDG_RUNTIME_DIR names no runtime directory");
	base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (base_fd < 0)
		return err_errno(e, errno, "runtime directory %.100s", base);
	if (mkdirat(base_fd, NAME, 0700) < 0 && errno != EEXIST)
		return err_errno(e, errno, "%.100s/" NAME, base);
	fd = openat(base_fd, NAME,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, errno, "%.100s/" NAME, base);
	r = check_directory(fd, e);
	if (r == 0)
		*dir_fd = fd_take(&fd);
	return r;
}

static void
put_name(char name[NAME_MAX_SIZE], const char *key, const char *suffix)
{
	(void)snprintf(name, NAME_MAX_SIZE, "attach-%s.%s", key, suffix);
}

/* Whether fd still is what the name leads to. A keeper that ends removes the
 * file, and who waited for it has the lock of a file that nobody can find. */
static bool
is_current(int dir_fd, const char *name, int fd)
{
	struct stat named, held;

	return fstat(fd, &held) == 0 &&
	       fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_ino == held.st_ino && named.st_dev == held.st_dev;
}

static int
try_lock(int dir_fd, const char *name, int *lock_fd)
{
	scoped_fd fd = openat(dir_fd, name,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	if (!is_current(dir_fd, name, fd))
		return -EAGAIN;
	*lock_fd = fd_take(&fd);
	return 0;
}

int
attach_runtime_lock(int dir_fd, const char *key, int timeout_ms, int *lock_fd,
    struct err *e)
{
	char name[NAME_MAX_SIZE];
	int r;

	put_name(name, key, "lock");
	for (;;) {
		r = try_lock(dir_fd, name, lock_fd);
		if (r != -EAGAIN || timeout_ms <= 0)
			break;
		(void)poll(NULL, 0, RETRY_MS);
		timeout_ms -= RETRY_MS;
	}
	return r < 0 ? err_errno(e, -r, "lock of the runtime id") : 0;
}

bool
attach_runtime_is_own(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       peer.uid == geteuid();
}

/* By descriptor: a path would have to fit into 108 bytes, and to still be the
 * directory that was checked. */
static void
put_address(struct sockaddr_un *a, int dir_fd, const char *key)
{
	char name[NAME_MAX_SIZE];

	put_name(name, key, "sock");
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(a->sun_path, sizeof a->sun_path, "/proc/self/fd/%d/%s",
	    dir_fd, name);
}

int
attach_runtime_connect(int dir_fd, const char *key, int *fd, struct err *e)
{
	scoped_fd s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;

	put_address(&a, dir_fd, key);
	if (s < 0 || connect(s, (struct sockaddr *)&a, sizeof a) < 0)
		return err_errno(e, errno, "control socket");
	if (!attach_runtime_is_own(s))
		return err_set(e, EACCES,
		    "the control socket is another user's");
	*fd = fd_take(&s);
	return 0;
}

int
attach_runtime_listen(int dir_fd, const char *key, int *fd, struct err *e)
{
	scoped_fd s =
	    socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char name[NAME_MAX_SIZE];
	struct sockaddr_un a;
	mode_t mask;
	int r;

	if (s < 0)
		return err_errno(e, errno, "control socket");
	put_name(name, key, "sock");
	put_address(&a, dir_fd, key);
	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		return err_errno(e, errno, "old control socket");
	mask = umask(0177);
	r = bind(s, (struct sockaddr *)&a, sizeof a) < 0 ? -errno : 0;
	(void)umask(mask);
	if (r == 0 && listen(s, SOMAXCONN) < 0)
		r = -errno;
	if (r < 0)
		return err_errno(e, -r, "control socket");
	*fd = fd_take(&s);
	return 0;
}

void
attach_runtime_remove(int dir_fd, const char *key)
{
	char name[NAME_MAX_SIZE];

	put_name(name, key, "sock");
	(void)unlinkat(dir_fd, name, 0);
	put_name(name, key, "lock");
	(void)unlinkat(dir_fd, name, 0);
}
