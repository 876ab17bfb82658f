#include "exec/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "exec/raw.h"
#include "privsep/privdrop.h"

static struct placeholder *
find(const struct placeholders *all, const char *path)
{
	struct placeholder *p;

	LIST_FOREACH (p, all, link)
		if (strcmp(p->path, path) == 0)
			return p;
	return NULL;
}

static struct placeholder *
find_or_add(struct placeholders *all, const char *path)
{
	struct placeholder *p = find(all, path);

	if (p != NULL)
		return p;
	p = calloc(1, sizeof *p);
	if (p == NULL)
		return NULL;
	p->path = strdup(path);
	if (p->path == NULL) {
		free(p);
		return NULL;
	}
	LIST_INSERT_HEAD(all, p, link);
	return p;
}

static void
drop(struct placeholder *p)
{
	LIST_REMOVE(p, link);
	free(p->path);
	free(p);
}

static bool
is_due(const struct placeholder *p)
{
	return p->users == 0 && p->made_len > 0 && !p->leaving;
}

static size_t
count_of(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->path_count; i++)
		n += plan->paths[i].missing == PLAN_MISSING_PLACEHOLDER;
	return n;
}

int
placeholder_hold(struct placeholders *all, const struct plan *plan,
    struct placeholder_hold *out)
{
	struct placeholder_hold hold = {0};
	size_t count = count_of(plan);

	*out = hold;
	if (count == 0)
		return 0;
	hold.v = calloc(count, sizeof hold.v[0]);
	if (hold.v == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < plan->path_count; i++) {
		struct placeholder *p;

		if (plan->paths[i].missing != PLAN_MISSING_PLACEHOLDER)
			continue;
		p = find_or_add(all, plan->paths[i].path);
		if (p == NULL) {
			(void)placeholder_release(&hold);
			return -ENOMEM;
		}
		p->users++;
		hold.v[hold.count++] = p;
	}
	*out = hold;
	return 0;
}

void
placeholder_note(const struct placeholder_hold *hold, const struct control *c)
{
	struct placeholder *p;

	if (c->type != CONTROL_MADE || c->a >= hold->count)
		return;
	p = hold->v[c->a];
	if (c->b == 0 || c->b > strlen(p->path))
		return;
	p->made_len = c->b;
	p->dev = c->dev;
	p->ino = c->ino;
}

bool
placeholder_release(struct placeholder_hold *hold)
{
	bool due = false;

	for (size_t i = 0; i < hold->count; i++) {
		struct placeholder *p = hold->v[i];

		p->users--;
		due |= is_due(p);
		if (p->users == 0 && p->made_len == 0)
			drop(p);
	}
	free(hold->v);
	*hold = (struct placeholder_hold){0};
	return due;
}

bool
placeholder_is_leaving(const struct placeholders *all, const struct plan *plan)
{
	for (size_t i = 0; i < plan->path_count; i++) {
		const struct placeholder *p;

		if (plan->paths[i].missing != PLAN_MISSING_PLACEHOLDER)
			continue;
		p = find(all, plan->paths[i].path);
		if (p != NULL && p->leaving)
			return true;
	}
	return false;
}

/* --- the process that removes --------------------------------------------- */

/* That process. */
struct remover {
	const struct exec_config *config;
	pid_t parent; /* exec */
};

/* Files are accessed as by that user; we may be root, but without the rights
 * that pass over permissions. A file system may not answer: then this process
 * ends with exec, or when exec has waited enough. */
static void
become(const struct remover *r, uid_t uid, gid_t gid)
{
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	if (privdrop_end_with_parent(r->parent) < 0)
		_exit(1);
}

/* Open the directory that path lies in, without following a link. */
static int
open_parent(char *path, const char **name)
{
	const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	char *slash = strrchr(path, '/');
	long fd;

	*slash = '\0';
	*name = slash + 1;
	fd = syscall(SYS_openat2, AT_FDCWD, slash == path ? "/" : path, &how,
	    sizeof how);
	return fd < 0 ? -errno : (int)fd;
}

/* The owner of the workspace that holds it may pass where we may not. */
static void
become_owner(const struct remover *r, const char *path)
{
	const struct exec_config *c = r->config;

	for (size_t i = 0; i < c->workspace_count; i++) {
		const struct workspace *w = &c->workspaces[i];

		if (c->root && profile_is_in(bytes_of(path), bytes_of(w->path)))
			become(r, w->uid, w->gid);
	}
}

/* The directory's owner removes it; whatever is in it keeps it in place. */
static void
remove_one(const struct remover *r, const struct placeholder *p)
{
	char path[PATH_LEN_MAX];
	const char *name;
	scoped_fd dir = -1;
	struct stat st;

	if (p->made_len >= sizeof path)
		return;
	memcpy(path, p->path, p->made_len);
	path[p->made_len] = '\0';
	become(r, geteuid(), getegid());
	become_owner(r, path);
	dir = open_parent(path, &name);
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode) || st.st_dev != p->dev || st.st_ino != p->ino)
		return;
	if (r->config->root)
		become(r, st.st_uid, st.st_gid);
	(void)unlinkat(dir, name, AT_REMOVEDIR);
}

static _Noreturn void
remover_run(const struct placeholders *all, const struct remover *r)
{
	const struct placeholder *p;

	if (privdrop_end_with_parent(r->parent) < 0 ||
	    raw_close_except(NULL, 0) < 0)
		_exit(1);
	LIST_FOREACH (p, all, link)
		if (p->leaving)
			remove_one(r, p);
	_exit(0);
}

int
placeholder_remove(struct placeholders *all, const struct exec_config *config,
    int *pidfd)
{
	const struct remover r = {.config = config, .parent = getpid()};
	const struct placeholder *first = NULL;
	struct placeholder *p;
	pid_t pid;

	LIST_FOREACH (p, all, link) {
		if (!is_due(p))
			continue;
		first = first == NULL ? p : first;
		p->leaving = p->dev == first->dev;
	}
	pid = raw_clone(0, pidfd);
	if (pid == 0)
		remover_run(all, &r);
	if (pid > 0)
		return 0;
	LIST_FOREACH (p, all, link)
		p->leaving = false;
	return pid;
}

bool
placeholder_removed(struct placeholders *all)
{
	struct placeholder *p, *next;
	bool due = false;

	for (p = LIST_FIRST(all); p != NULL; p = next) {
		next = LIST_NEXT(p, link);
		if (p->leaving)
			drop(p);
		else
			due |= is_due(p);
	}
	return due;
}

void
placeholder_done(struct placeholders *all)
{
	while (!LIST_EMPTY(all))
		drop(LIST_FIRST(all));
}
