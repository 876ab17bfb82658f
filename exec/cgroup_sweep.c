#include "exec/cgroup_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/num.h"
#include "exec/cgroup_file.h"
#include "exec/raw.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PREFIX	  "sallyport-"
#define DIGITS	  32

/* For what was killed to leave its group. */
#define TRIES	 100
#define PAUSE_NS 10000000 /* 10 ms */

int
cgroup_name_make(char out[CGROUP_NAME_MAX])
{
	unsigned char random[DIGITS / 2];
	size_t used = sizeof PREFIX - 1;

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return -EIO;
	memcpy(out, PREFIX, used);
	for (size_t i = 0; i < sizeof random; i++, used += 2)
		(void)snprintf(out + used, 3, "%02x", random[i]);
	return 0;
}

bool
cgroup_name_is_ours(const char *name)
{
	size_t prefix = sizeof PREFIX - 1;

	return strncmp(name, PREFIX, prefix) == 0 &&
	       strlen(name) == prefix + DIGITS &&
	       strspn(name + prefix, "0123456789abcdef") == DIGITS;
}

int
cgroup_lock(int dir)
{
	return flock(dir, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

/* --- killing -------------------------------------------------------------- */

/* That process is still in the group when we hold a descriptor of it, so its
 * number has not become another's. */
static void
kill_one(int dir, const char *number)
{
	char text[CGROUP_FILE_MAX];
	uint64_t pid;
	scoped_fd fd = -1;

	/* 0: a process of another namespace. */
	if (num_parse_u64(number, 1, INT32_MAX, &pid) < 0)
		return;
	fd = pidfd_open((pid_t)pid, 0);
	if (fd >= 0 && cgroup_file_read(dir, "cgroup.procs", text) == 0 &&
	    cgroup_file_has(text, number))
		(void)raw_pidfd_signal(fd, SIGKILL);
}

/* As many as the file holds; the rest when these are gone. */
static void
kill_each(int dir)
{
	char text[CGROUP_FILE_MAX];
	scoped_fd fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	char *at = text;

	if (n <= 0)
		return;
	text[n] = '\0';
	for (char *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		*end = '\0';
		kill_one(dir, at);
	}
}

void
cgroup_kill_all(int dir)
{
	int r = raw_write_file_at(dir, "cgroup.kill", "1");

	/* Only version 2 has that file. */
	if (r < 0)
		kill_each(dir);
}

/* --- removing ------------------------------------------------------------- */

/* One directory of those in dir, in name; false if there is none. */
static bool
first_inside(int dir, char name[NAME_MAX + 1])
{
	int copy = openat(dir, ".", DIRECTORY);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	bool found = false;

	if (stream == NULL) {
		fd_close(&copy);
		return false;
	}
	while (!found && (entry = readdir(stream)) != NULL) {
		found = entry->d_type == DT_DIR && entry->d_name[0] != '.';
		if (found)
			(void)snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
	}
	(void)closedir(stream);
	return found;
}

/* A group with none below it. */
static int
remove_leaf(int base, const char *name, bool wait)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	scoped_fd dir = openat(base, name, DIRECTORY);

	if (dir < 0)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0;; i++) {
		if (unlinkat(base, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY || !wait || i == TRIES)
			return -errno;
		cgroup_kill_all(dir);
		(void)nanosleep(&pause, NULL);
	}
}

static int
remove_session(int base, const char *name, bool wait)
{
	char inside[NAME_MAX + 1];
	scoped_fd dir = openat(base, name, DIRECTORY);
	int r = 0;

	while (r == 0 && dir >= 0 && first_inside(dir, inside))
		r = remove_leaf(dir, inside, wait);
	return r < 0 ? r : remove_leaf(base, name, wait);
}

int
cgroup_remove_tree(int base, const char *name, bool wait)
{
	char inside[NAME_MAX + 1];
	scoped_fd dir = openat(base, name, DIRECTORY);
	int r = 0;

	if (dir >= 0)
		cgroup_kill_all(dir);
	while (r == 0 && dir >= 0 && first_inside(dir, inside))
		r = remove_session(dir, inside, wait);
	return r < 0 ? r : remove_leaf(base, name, wait);
}

/* Whether the server that made it is gone. */
static bool
is_dead(int base, const char *name)
{
	scoped_fd dir = openat(base, name, DIRECTORY);
	struct stat st;

	return dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid() &&
	       cgroup_lock(dir) == 0;
}

void
cgroup_sweep(int base)
{
	int copy = openat(base, ".", DIRECTORY);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (stream == NULL) {
		fd_close(&copy);
		return;
	}
	while ((entry = readdir(stream)) != NULL)
		if (cgroup_name_is_ours(entry->d_name) &&
		    is_dead(base, entry->d_name))
			(void)!cgroup_remove_tree(base, entry->d_name, true);
	(void)closedir(stream);
}
