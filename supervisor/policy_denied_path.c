#include "supervisor/policy_denied_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/policy_tracee.h"

#define NONE	 (-1)
#define WHY_MAX	 (16u * 1024u)
#define WHAT_MAX (PATH_LEN_MAX + 96)
#define HINT_MAX (PATH_LEN_MAX + 160)

enum intent { LOOKS, CHANGES, OPENS };

/* Calls with a path: the argument that is a descriptor of a directory, that of
 * the path, and what is meant to be done there. */
static const struct path_call {
	const char *name;
	int dirfd, path;
	enum intent intent;
} path_calls[] = {
    {"open", NONE, 0, OPENS},
    {"openat", 0, 1, OPENS},
    {"creat", NONE, 0, CHANGES},
    {"stat", NONE, 0, LOOKS},
    {"lstat", NONE, 0, LOOKS},
    {"newfstatat", 0, 1, LOOKS},
    {"statx", 0, 1, LOOKS},
    {"statfs", NONE, 0, LOOKS},
    {"access", NONE, 0, LOOKS},
    {"faccessat", 0, 1, LOOKS},
    {"faccessat2", 0, 1, LOOKS},
    {"readlink", NONE, 0, LOOKS},
    {"readlinkat", 0, 1, LOOKS},
    {"execve", NONE, 0, LOOKS},
    {"execveat", 0, 1, LOOKS},
    {"chdir", NONE, 0, LOOKS},
    {"inotify_add_watch", NONE, 1, LOOKS},
    {"getxattr", NONE, 0, LOOKS},
    {"lgetxattr", NONE, 0, LOOKS},
    {"mkdir", NONE, 0, CHANGES},
    {"mkdirat", 0, 1, CHANGES},
    {"mknod", NONE, 0, CHANGES},
    {"mknodat", 0, 1, CHANGES},
    {"rmdir", NONE, 0, CHANGES},
    {"unlink", NONE, 0, CHANGES},
    {"unlinkat", 0, 1, CHANGES},
    {"rename", NONE, 0, CHANGES},
    {"rename", NONE, 1, CHANGES},
    {"renameat", 0, 1, CHANGES},
    {"renameat", 2, 3, CHANGES},
    {"renameat2", 0, 1, CHANGES},
    {"renameat2", 2, 3, CHANGES},
    {"link", NONE, 1, CHANGES},
    {"linkat", 2, 3, CHANGES},
    {"symlink", NONE, 1, CHANGES},
    {"symlinkat", 1, 2, CHANGES},
    {"chmod", NONE, 0, CHANGES},
    {"fchmodat", 0, 1, CHANGES},
    {"fchmodat2", 0, 1, CHANGES},
    {"chown", NONE, 0, CHANGES},
    {"lchown", NONE, 0, CHANGES},
    {"fchownat", 0, 1, CHANGES},
    {"truncate", NONE, 0, CHANGES},
    {"utime", NONE, 0, CHANGES},
    {"utimes", NONE, 0, CHANGES},
    {"utimensat", 0, 1, CHANGES},
    {"setxattr", NONE, 0, CHANGES},
    {"lsetxattr", NONE, 0, CHANGES},
    {"removexattr", NONE, 0, CHANGES},
};

/* --- which line ----------------------------------------------------------- */

/* The directory of path, to be made a workspace. */
static int
directory_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == path ? 1 : (int)(slash - path);
}

static void
suggest(const struct denied *d, const char *path,
    const struct policy_verdict *v, bool writes, char line[HINT_MAX])
{
	bool profile = d->ceiling.has_profile;

	if (v->own)
		(void)snprintf(line, HINT_MAX,
		    "none: a command could change what the next start runs");
	else if (v->place != NULL)
		(void)snprintf(line, HINT_MAX,
		    "none but preset = open in [sandbox]");
	else if (v->rule != NULL && v->access == PLAN_DENY)
		(void)snprintf(line, HINT_MAX, "take that line away");
	else if (writes && profile)
		(void)snprintf(line, HINT_MAX,
		    "write = %s in [profile \"%s\"]; it must lie in a "
		    "workspace or {tmp}",
		    path, d->config->profile);
	else if (writes)
		(void)snprintf(line, HINT_MAX, "workspace = %.*s in [server]",
		    directory_len(path), path);
	else if (profile)
		(void)snprintf(line, HINT_MAX, "read = %s in [profile \"%s\"]",
		    path, d->config->profile);
	else
		(void)snprintf(line, HINT_MAX,
		    "preset = workspace in [sandbox], or a [profile] with read "
		    "= %s",
		    path);
}

/* --- whether the policy is why -------------------------------------------- */

static void
tell(struct denied *d, const char *name, const char *path, bool writes,
    int errnum, const struct policy_verdict *v)
{
	char what[WHAT_MAX], line[HINT_MAX];
	scoped_buf why;

	buf_init(&why, WHY_MAX);
	(void)snprintf(what, sizeof what, "%s %s%s: %s", name, path,
	    writes ? " (to change it)" : "", strerrorname_np(errnum));
	if (policy_verdict_put(&d->ceiling, d->config, v, &why) < 0 ||
	    buf_put_u8(&why, 0) < 0) {
		d->lost++;
		return;
	}
	suggest(d, v->real[0] != '\0' ? v->real : path, v, writes, line);
	denied_add(d, what, (const char *)why.data, line);
}

static void
tell_mode(struct denied *d, const char *name, const char *path, bool writes,
    int errnum)
{
	char what[WHAT_MAX];

	(void)snprintf(what, sizeof what, "%s %s%s: %s", name, path,
	    writes ? " (to change it)" : "", strerrorname_np(errnum));
	denied_add(d, what,
	    "no line of the policy: by the mode and owner of the file, or of a "
	    "directory above it, or by the kernel",
	    "none");
}

/* Whether the host has what the command does not find. */
static bool
is_on_host(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

void
denied_one_path(struct denied *d, const char *name, const char *path,
    bool writes, int errnum)
{
	struct policy_verdict v;
	unsigned int wanted = writes ? 2 : 1;

	if (errnum != EACCES && errnum != EPERM && errnum != EROFS &&
	    errnum != ENOENT)
		return;
	policy_path_judge(&d->ceiling, d->config, path, &v);
	if (errnum == ENOENT) {
		if (profile_access_rank(v.access) == 0 && is_on_host(path))
			tell(d, name, path, writes, errnum, &v);
		return;
	}
	if (errnum == EROFS || profile_access_rank(v.access) < wanted)
		tell(d, name, path, writes || errnum == EROFS, errnum, &v);
	else
		tell_mode(d, name, path, writes, errnum);
}

/* --- calls ---------------------------------------------------------------- */

static bool
changes(const struct path_call *p, const struct trace_call *call)
{
	uint64_t flags = call->args[p->path + 1];

	if (p->intent != OPENS)
		return p->intent == CHANGES;
	return (flags & O_ACCMODE) != O_RDONLY ||
	       (flags & (O_CREAT | O_TRUNC)) != 0;
}

static void
on_path_call(struct denied *d, const struct path_call *p,
    const struct trace_call *call)
{
	char name[PATH_LEN_MAX], path[PATH_LEN_MAX];
	int dirfd = AT_FDCWD;

	if (p->dirfd != NONE)
		dirfd = (int)(uint32_t)call->args[p->dirfd];
	if (tracee_string(call->pid, call->args[p->path], name) == 0 &&
	    tracee_path(call->pid, dirfd, name, path) == 0)
		denied_one_path(d, p->name, path, changes(p, call),
		    call->errnum);
}

bool
denied_path(struct denied *d, const struct trace_call *call, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < sizeof path_calls / sizeof path_calls[0]; i++) {
		if (strcmp(path_calls[i].name, name) != 0)
			continue;
		on_path_call(d, &path_calls[i], call);
		found = true;
	}
	return found;
}
