#include "exec/cgroup_unified.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "exec/cgroup_file.h"
#include "exec/raw.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Whether text has each of the words behind the signs of "+a +b". */
static bool
has_all(const char *text, const char *words)
{
	char word[CGROUP_WORDS_MAX];

	for (const char *at = words; *at != '\0';) {
		size_t len = strcspn(at, " ");

		(void)snprintf(word, sizeof word, "%.*s", (int)len - 1, at + 1);
		if (!cgroup_file_has(text, word))
			return false;
		at += len;
		at += strspn(at, " ");
	}
	return true;
}

static int
move(int to, pid_t pid)
{
	char text[16];

	(void)snprintf(text, sizeof text, "%d", (int)pid);
	return raw_write_file_at(to, "cgroup.procs", text);
}

static int
move_both(int to)
{
	int r = move(to, getppid());

	return r < 0 ? r : move(to, getpid());
}

static int
open_roles(int base)
{
	int fd;

	if (mkdirat(base, CGROUP_ROLES, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(base, CGROUP_ROLES, DIRECTORY);
	return fd < 0 ? -errno : fd;
}

/* What takes words back: the same with other signs. */
static void
negate(const char *words, char out[CGROUP_WORDS_MAX])
{
	(void)snprintf(out, CGROUP_WORDS_MAX, "%s", words);
	for (char *at = out; *at != '\0'; at++)
		if (*at == '+')
			*at = '-';
}

/* Move, and hand down; move back if that fails. */
static int
give_way(struct cgroup_unified *u, const char *words)
{
	int r;

	u->roles = open_roles(u->base);
	if (u->roles < 0)
		return u->roles;
	r = move_both(u->roles);
	if (r == 0)
		r = raw_write_file_at(u->base, "cgroup.subtree_control", words);
	if (r == 0) {
		negate(words, u->enabled);
		return 0;
	}
	(void)!move_both(u->base);
	(void)unlinkat(u->base, CGROUP_ROLES, AT_REMOVEDIR);
	fd_close(&u->roles);
	return r;
}

void
cgroup_unified_init(struct cgroup_unified *u)
{
	*u = (struct cgroup_unified){.base = -1, .roles = -1};
}

int
cgroup_unified_enable(struct cgroup_unified *u, int base, const char *words)
{
	char text[CGROUP_FILE_MAX];
	int r = cgroup_file_read(base, "cgroup.controllers", text);

	if (r < 0)
		return r;
	if (!has_all(text, words))
		return -EOPNOTSUPP;
	r = cgroup_file_read(base, "cgroup.subtree_control", text);
	if (r < 0)
		return r;
	u->base = base;
	if (!has_all(text, words)) {
		/* The root of all groups has no such file; what it hands down
		 * is not ours to change. */
		if (cgroup_file_read(base, "cgroup.type", text) == -ENOENT)
			return -EPERM;
		return give_way(u, words);
	}
	/* An earlier exec of this server has seen to it, or the host. */
	u->roles = openat(base, CGROUP_ROLES, DIRECTORY);
	if (u->roles >= 0)
		negate(words, u->enabled);
	return 0;
}

void
cgroup_unified_restore(struct cgroup_unified *u)
{
	char text[CGROUP_FILE_MAX];

	if (u->roles < 0)
		return;
	(void)!raw_write_file_at(u->base, "cgroup.subtree_control", u->enabled);
	/* No more than the supervisor and exec are left, so one read is all. */
	if (cgroup_file_read(u->roles, "cgroup.procs", text) == 0)
		for (char *at = text; *at != '\0';) {
			size_t len = strcspn(at, "\n");
			bool last = at[len] == '\0';

			at[len] = '\0';
			(void)!raw_write_file_at(u->base, "cgroup.procs", at);
			at += last ? len : len + 1;
		}
	(void)unlinkat(u->base, CGROUP_ROLES, AT_REMOVEDIR);
	fd_close(&u->roles);
}

void
cgroup_unified_strip(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash != NULL && strcmp(slash + 1, CGROUP_ROLES) == 0)
		*slash = '\0';
}
