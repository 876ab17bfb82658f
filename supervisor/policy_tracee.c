#include "supervisor/policy_tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* No page is smaller: what lies within one is there as a whole. */
#define PAGE 4096u

static ssize_t
read_memory(pid_t pid, uint64_t address, void *out, size_t len)
{
	struct iovec here = {.iov_base = out, .iov_len = len};
	struct iovec there = {.iov_base = (void *)(uintptr_t)address,
	    .iov_len = len};

	return process_vm_readv(pid, &here, 1, &there, 1, 0);
}

int
tracee_string(pid_t pid, uint64_t address, char out[PATH_LEN_MAX])
{
	size_t used = 0;

	while (used < PATH_LEN_MAX) {
		size_t part = PAGE - (size_t)((address + used) % PAGE);
		ssize_t n;

		part = part < PATH_LEN_MAX - used ? part : PATH_LEN_MAX - used;
		n = read_memory(pid, address + used, out + used, part);
		if (n <= 0)
			return -EFAULT;
		if (memchr(out + used, 0, (size_t)n) != NULL)
			return 0;
		used += (size_t)n;
	}
	return -ENAMETOOLONG;
}

int
tracee_sockaddr(pid_t pid, uint64_t address, uint64_t len,
    struct sockaddr_storage *out)
{
	*out = (struct sockaddr_storage){0};
	if (len < sizeof(sa_family_t) || len > sizeof *out)
		return -EINVAL;
	return read_memory(pid, address, out, (size_t)len) == (ssize_t)len
		   ? 0
		   : -EFAULT;
}

/* --- paths ---------------------------------------------------------------- */

/* Append name to the canonical path in out, as text. */
static int
append(char out[PATH_LEN_MAX], const char *name)
{
	while (*name != '\0') {
		size_t len = strcspn(name, "/"), used = strlen(out);

		if (len == 2 && memcmp(name, "..", 2) == 0) {
			char *slash = strrchr(out, '/');

			if (slash != NULL)
				*slash = '\0';
		} else if (len > 0 && !(len == 1 && *name == '.')) {
			if (len + 2 > PATH_LEN_MAX - used)
				return -ENAMETOOLONG;
			(void)snprintf(out + used, PATH_LEN_MAX - used, "/%.*s",
			    (int)len, name);
		}
		name += len;
		name += strspn(name, "/");
	}
	return 0;
}

/* Where name begins: "" for the root. */
static int
base_of(pid_t pid, int dirfd, const char *name, char out[PATH_LEN_MAX])
{
	char link[64];
	ssize_t n;

	out[0] = '\0';
	if (name[0] == '/')
		return 0;
	if (dirfd == AT_FDCWD)
		(void)snprintf(link, sizeof link, "/proc/%d/cwd", pid);
	else
		(void)snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, dirfd);
	n = readlink(link, out, PATH_LEN_MAX - 1);
	if (n <= 0 || out[0] != '/')
		return -ENOENT;
	out[n == 1 ? 0 : n] = '\0';
	return 0;
}

/* The directory of path with its links followed in the process's view; path
 * stays as it is where that cannot be seen. */
static void
follow(pid_t pid, char path[PATH_LEN_MAX])
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_IN_ROOT};
	char name[64], dir[PATH_LEN_MAX], real[PATH_LEN_MAX];
	char *slash = strrchr(path, '/');
	scoped_fd root = -1, fd = -1;
	ssize_t n;

	(void)snprintf(name, sizeof name, "/proc/%d/root", pid);
	(void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || dir[0] == '\0')
		return;
	fd = (int)syscall(SYS_openat2, root, dir, &how, sizeof how);
	if (fd < 0)
		return;
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	n = readlink(name, real, sizeof real - 1);
	if (n <= 0 || real[0] != '/')
		return;
	real[n == 1 ? 0 : n] = '\0';
	if (append(real, slash + 1) == 0)
		memcpy(path, real, strlen(real) + 1);
}

int
tracee_path(pid_t pid, int dirfd, const char *name, char out[PATH_LEN_MAX])
{
	int r = base_of(pid, dirfd, name, out);

	if (r == 0)
		r = append(out, name);
	if (r < 0)
		return r;
	if (out[0] == '\0')
		(void)snprintf(out, PATH_LEN_MAX, "/");
	else
		follow(pid, out);
	return 0;
}
