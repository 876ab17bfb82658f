#include "exec/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "exec/cgroup_file.h"
#include "exec/raw.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* For another server that takes ours for a dead one's to be through. */
#define TRIES	 10
#define PAUSE_NS 10000000 /* 10 ms */

static int
hand_down(const struct cgroup_tree *t, int dir)
{
	char words[CGROUP_WORDS_MAX];

	cgroup_totals_words(&t->session, &t->command, &t->carriers, words);
	return words[0] == '\0'
		   ? 0
		   : raw_write_file_at(dir, "cgroup.subtree_control", words);
}

/* --- groups --------------------------------------------------------------- */

void
cgroup_init(struct cgroup *g)
{
	*g = (struct cgroup){.oom = {.fd = -1}};
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
		g->dir[h] = -1;
}

static int
make_one(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0700) < 0)
		return -errno;
	fd = openat(parent, name, DIRECTORY);
	return fd < 0 ? -errno : fd;
}

void
cgroup_close(struct cgroup *g)
{
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
		fd_close(&g->dir[h]);
	oom_close(&g->oom);
}

void
cgroup_drop(const int parent[CGROUP_HIERARCHIES], struct cgroup *g)
{
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
		if (g->dir[h] >= 0)
			(void)unlinkat(parent[h], g->name, AT_REMOVEDIR);
	cgroup_close(g);
}

static int
make(const struct cgroup_tree *t, const int parent[CGROUP_HIERARCHIES],
    const struct cgroup_totals *totals, struct cgroup *g)
{
	int r = 0;

	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++) {
		if (parent[h] < 0 || r < 0)
			continue;
		g->dir[h] = make_one(parent[h], g->name);
		r = g->dir[h] < 0 ? g->dir[h] : 0;
	}
	if (r == 0)
		r = cgroup_totals_set(totals, &t->carriers, g->dir);
	if (r < 0) {
		cgroup_drop(parent, g);
		return r;
	}
	if (g->dir[t->carriers.memory] >= 0)
		oom_open_in(&g->oom, g->dir[t->carriers.memory],
		    t->carriers.memory == CGROUP_V2);
	return 0;
}

bool
cgroup_has_members(const struct cgroup_tree *t)
{
	return cgroup_tree_is_open(t) && cgroup_totals_any(&t->command);
}

int
cgroup_make_session(const struct cgroup_tree *t, unsigned int number,
    struct cgroup *g, struct err *e)
{
	int r = 0;

	cgroup_init(g);
	(void)snprintf(g->name, sizeof g->name, "%u", number);
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
		if (t->dir[h] >= 0 && r == 0)
			r = cgroup_remove_tree(t->dir[h], g->name, false);
	if (r == 0)
		r = make(t, t->dir, &t->session, g);
	/* A group that hands down has no processes itself. */
	if (r == 0 && cgroup_has_members(t) && g->dir[CGROUP_V2] >= 0) {
		r = hand_down(t, g->dir[CGROUP_V2]);
		if (r < 0)
			cgroup_drop(t->dir, g);
	}
	return r < 0 ? err_errno(e, -r, "control group of a session") : 0;
}

int
cgroup_make_member(const struct cgroup_tree *t, const struct cgroup *session,
    uint32_t number, bool limited, struct cgroup *g, struct err *e)
{
	static const struct cgroup_totals none = {0};
	int r;

	cgroup_init(g);
	(void)snprintf(g->name, sizeof g->name, "%u", number);
	r = make(t, session->dir, limited ? &t->command : &none, g);
	/* Only read, later. */
	if (r == 0 && limited && t->command.cpu_time_ms > 0)
		r = faccessat(g->dir[CGROUP_V2], "cpu.stat", R_OK, 0) < 0
			? -errno
			: 0;
	/* All of it goes together; later kernels of version 2 have that. */
	if (r == 0 && limited && t->carriers.memory == CGROUP_V2 &&
	    t->command.memory > 0)
		r = cgroup_file_limit_if(g->dir[CGROUP_V2], "memory.oom.group",
		    1);
	if (r == 0)
		return 0;
	cgroup_drop(session->dir, g);
	return err_errno(e, -r, "control group of a command");
}

int
cgroup_enter(const int dir[CGROUP_HIERARCHIES])
{
	int r = 0;

	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
		if (dir[h] >= 0 && r == 0)
			r = raw_write_file_at(dir[h], "cgroup.procs", "0");
	return r;
}

void
cgroup_kill(const struct cgroup *g)
{
	if (g->dir[CGROUP_V2] >= 0)
		(void)!raw_write_file_at(g->dir[CGROUP_V2], "cgroup.kill", "1");
}

int
cgroup_cpu_time_ms(const struct cgroup *g, uint64_t *ms)
{
	char text[CGROUP_FILE_MAX];
	uint64_t us;
	int r = cgroup_file_read(g->dir[CGROUP_V2], "cpu.stat", text);

	if (r < 0)
		return r;
	if (!cgroup_file_find(text, "usage_usec", &us))
		return -ENODATA;
	*ms = us / 1000;
	return 0;
}

uint64_t
cgroup_refused_forks(const struct cgroup_tree *t, const struct cgroup *g)
{
	int dir = g->dir[t->carriers.processes];
	char text[CGROUP_FILE_MAX];
	uint64_t count;

	if (dir < 0 || cgroup_file_read(dir, "pids.events", text) < 0 ||
	    !cgroup_file_find(text, "max", &count))
		return 0;
	return count;
}

/* --- the tree ------------------------------------------------------------- */

void
cgroup_tree_init(struct cgroup_tree *t)
{
	*t = (struct cgroup_tree){0};
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++) {
		t->base[h] = -1;
		t->dir[h] = -1;
	}
	cgroup_unified_init(&t->unified);
}

bool
cgroup_tree_is_open(const struct cgroup_tree *t)
{
	return t->name[0] != '\0';
}

static int
open_base(struct cgroup_tree *t, size_t h, char *path)
{
	if (h == CGROUP_V2)
		cgroup_unified_strip(path);
	t->base[h] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t->base[h] < 0 ? -errno : 0;
}

/* With the lock that tells of our life; -EAGAIN if another server's start has
 * taken it for a dead one's before that. */
static int
make_locked(int base, const char *name)
{
	struct stat made, there;
	scoped_fd dir = -1;

	if (mkdirat(base, name, 0700) < 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	dir = openat(base, name, DIRECTORY);
	if (dir < 0 || cgroup_lock(dir) < 0 || fstat(dir, &made) < 0 ||
	    fstatat(base, name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	    made.st_ino != there.st_ino)
		return -EAGAIN;
	return fd_take(&dir);
}

/* Our directory in one hierarchy. */
static int
make_own(struct cgroup_tree *t, size_t h)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int r = make_locked(t->base[h], t->name);

	for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
		(void)nanosleep(&pause, NULL);
		r = make_locked(t->base[h], t->name);
	}
	t->dir[h] = r;
	return r < 0 ? r : 0;
}

static int
open_hierarchy(struct cgroup_tree *t, size_t h, char *path)
{
	char words[CGROUP_WORDS_MAX];
	int r = open_base(t, h, path);

	cgroup_totals_words(&t->session, &t->command, &t->carriers, words);
	if (r == 0 && h == CGROUP_V2 && words[0] != '\0')
		r = cgroup_unified_enable(&t->unified, t->base[h], words);
	if (r == 0)
		r = make_own(t, h);
	if (r == 0 && h == CGROUP_V2)
		r = hand_down(t, t->dir[h]);
	return r;
}

static void
close_hierarchy(struct cgroup_tree *t, size_t h)
{
	if (t->dir[h] >= 0)
		(void)!cgroup_remove_tree(t->base[h], t->name, true);
	fd_close(&t->dir[h]);
	if (h == CGROUP_V2)
		cgroup_unified_restore(&t->unified);
	fd_close(&t->base[h]);
}

/* A process in a group like those that are to come. */
static int
try_enter(const struct cgroup *g)
{
	pid_t pid = raw_clone(0, NULL);
	int status;

	if (pid == 0)
		_exit(-cgroup_enter(g->dir));
	if (pid < 0)
		return pid;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -ECHILD;
	return -WEXITSTATUS(status);
}

static int
try_groups(const struct cgroup_tree *t, struct err *e)
{
	struct cgroup session, member;
	int r = cgroup_make_session(t, 0, &session, e);

	if (r < 0)
		return r;
	cgroup_init(&member);
	if (cgroup_has_members(t))
		r = cgroup_make_member(t, &session, 0, true, &member, e);
	if (r == 0) {
		r = try_enter(cgroup_has_members(t) ? &member : &session);
		if (r < 0)
			(void)err_errno(e, -r, "enter a control group");
	}
	cgroup_drop(session.dir, &member);
	cgroup_drop(t->dir, &session);
	return r;
}

int
cgroup_tree_open_at(struct cgroup_tree *t, const struct cgroup_places *p,
    struct err *e)
{
	bool use[CGROUP_HIERARCHIES] = {false};
	int r = cgroup_carriers_choose(&t->carriers, p, &t->session,
	    &t->command, use);

	if (r < 0)
		return err_errno(e, -r, "a controller is missing");
	r = cgroup_name_make(t->name);
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++) {
		if (r < 0 || !use[h])
			continue;
		r = open_hierarchy(t, h, p->path[h]);
		if (r < 0)
			(void)err_errno(e, -r, "control groups in %s",
			    p->path[h]);
	}
	/* For killing at one stroke, which can be done without. */
	if (r == 0 && !use[CGROUP_V2] && p->path[CGROUP_V2] != NULL &&
	    open_hierarchy(t, CGROUP_V2, p->path[CGROUP_V2]) < 0)
		close_hierarchy(t, CGROUP_V2);
	if (r == 0)
		r = try_groups(t, e);
	if (r < 0)
		cgroup_tree_close(t);
	return r;
}

void
cgroup_sweep_all(void)
{
	struct cgroup_tree t;
	struct cgroup_places p;

	cgroup_tree_init(&t);
	if (cgroup_places_read(&p) == 0)
		for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
			if (p.path[h] != NULL &&
			    open_base(&t, h, p.path[h]) == 0)
				cgroup_sweep(t.base[h]);
	cgroup_places_done(&p);
	cgroup_tree_close(&t);
}

int
cgroup_tree_open(struct cgroup_tree *t, const struct limits *l, struct err *e)
{
	struct cgroup_places p;
	int r = cgroup_places_read(&p);

	t->session = cgroup_totals_session(l);
	t->command = cgroup_totals_command(l);
	r = r < 0 ? err_errno(e, -r, "tables of control groups")
		  : cgroup_tree_open_at(t, &p, e);
	cgroup_places_done(&p);
	return r;
}

void
cgroup_tree_close(struct cgroup_tree *t)
{
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
		close_hierarchy(t, h);
	t->name[0] = '\0';
}
