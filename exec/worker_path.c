#include "exec/worker_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Links followed in one path: the kernel's own bound. */
#define LINKS_MAX 40

#define OPEN_DIR (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* A path that is being followed. */
struct follower {
	struct worker_place at;
	unsigned int links;
	char todo[PATH_LEN_MAX]; /* what is left of the path */
};

void
worker_place_done(struct worker_place *p)
{
	fd_close(&p->dir_fd);
}

int
worker_path_copy(struct bytes path, char out[WORKER_PATH_SIZE])
{
	if (path.len == 0 || path.len >= WORKER_PATH_SIZE ||
	    path.data[0] != '/' || bytes_has_nul(path))
		return -EPROTO;
	memcpy(out, path.data, path.len);
	out[path.len] = '\0';
	return 0;
}

int
worker_path_split(const char *path, char dir[WORKER_PATH_SIZE],
    const char **name)
{
	const char *slash = strrchr(path, '/');
	size_t len;

	if (slash == NULL)
		return -EINVAL;
	if (path[strspn(path, "/")] == '\0')
		return -EBUSY;
	if (slash[1] == '\0' || strcmp(slash + 1, ".") == 0 ||
	    strcmp(slash + 1, "..") == 0)
		return -EINVAL;
	len = (size_t)(slash - path) + 1;
	memcpy(dir, path, len);
	dir[len] = '\0';
	*name = slash + 1;
	return 0;
}

static int
go_root(struct follower *f)
{
	int fd = open("/", OPEN_DIR);

	if (fd < 0)
		return -errno;
	fd_close(&f->at.dir_fd);
	f->at.dir_fd = fd;
	f->at.dir[0] = '\0';
	return 0;
}

static int
go_up(struct follower *f)
{
	int fd = openat(f->at.dir_fd, "..", OPEN_DIR);
	char *slash = strrchr(f->at.dir, '/');

	if (fd < 0)
		return -errno;
	fd_close(&f->at.dir_fd);
	f->at.dir_fd = fd;
	if (slash != NULL)
		*slash = '\0';
	return 0;
}

static int
go_down(struct follower *f, const char *name)
{
	size_t used = strlen(f->at.dir), len = strlen(name);
	int fd;

	if (len + 1 >= sizeof f->at.dir - used)
		return -ENAMETOOLONG;
	fd = openat(f->at.dir_fd, name, OPEN_DIR | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	fd_close(&f->at.dir_fd);
	f->at.dir_fd = fd;
	f->at.dir[used] = '/';
	memcpy(f->at.dir + used + 1, name, len + 1);
	return 0;
}

/* Put the target of a link, len bytes, in front of what is left. */
static int
expand(struct follower *f, const char *target, size_t len)
{
	size_t left = strlen(f->todo) + 1;

	if (++f->links > LINKS_MAX)
		return -ELOOP;
	if (len == 0)
		return -ENOENT;
	if (len + 1 > sizeof f->todo - left)
		return -ENAMETOOLONG;
	memmove(f->todo + len + 1, f->todo, left);
	memcpy(f->todo, target, len);
	f->todo[len] = '/';
	return target[0] == '/' ? go_root(f) : 0;
}

/* Take the next component out of todo. Returns 1, or 0 if none is left. */
static int
next_name(struct follower *f, char name[NAME_MAX + 1])
{
	size_t skip = strspn(f->todo, "/");
	size_t len = strcspn(f->todo + skip, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, f->todo + skip, len);
	name[len] = '\0';
	memmove(f->todo, f->todo + skip + len,
	    strlen(f->todo + skip + len) + 1);
	return len > 0;
}

/* Returns 1 when the place is found, 0 to go on. */
static int
follow_name(struct follower *f, const char *name)
{
	char target[PATH_LEN_MAX];
	bool last = f->todo[strspn(f->todo, "/")] == '\0';
	ssize_t n = readlinkat(f->at.dir_fd, name, target, sizeof target);

	if (n == (ssize_t)sizeof target)
		return -ENAMETOOLONG;
	if (n >= 0)
		return expand(f, target, (size_t)n);
	if (errno == ENOENT || (errno == EINVAL && last)) {
		(void)stpcpy(f->at.name, name);
		return errno == ENOENT && !last ? -ENOENT : 1;
	}
	return errno == EINVAL ? go_down(f, name) : -errno;
}

static int
follow(struct follower *f)
{
	char name[NAME_MAX + 1];
	int r = go_root(f);

	while (r == 0) {
		r = next_name(f, name);
		if (r <= 0) {
			f->at.name[0] = '\0';
			return r;
		}
		if (strcmp(name, ".") == 0)
			r = 0;
		else if (strcmp(name, "..") == 0)
			r = go_up(f);
		else
			r = follow_name(f, name);
	}
	return r < 0 ? r : 0;
}

int
worker_path_find(const char *path, struct worker_place *out)
{
	struct follower f = {.at = PLACE_NONE};
	size_t len = strlen(path);
	int r;

	if (len >= sizeof f.todo)
		return -ENAMETOOLONG;
	memcpy(f.todo, path, len + 1);
	r = follow(&f);
	if (r == 0 || r == -ENOENT)
		*out = f.at;
	else
		worker_place_done(&f.at);
	return r;
}

int
worker_path_canonical(const char *path, char out[PATH_LEN_MAX])
{
	scoped_place struct worker_place at = PLACE_NONE;
	struct stat st;
	int n, r = worker_path_find(path, &at);

	if (r < 0)
		return r;
	if (at.name[0] == '\0') {
		(void)stpcpy(out, at.dir[0] == '\0' ? "/" : at.dir);
		return 0;
	}
	if (fstatat(at.dir_fd, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	n = snprintf(out, PATH_LEN_MAX, "%s/%s", at.dir, at.name);
	return n < 0 || n >= PATH_LEN_MAX ? -ENAMETOOLONG : 0;
}
