#include "exec/host.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "privsep/jail.h"
#include "privsep/layer.h"
#include "privsep/privdrop.h"

/* Children inherit what is ignored and what is blocked; nothing shall be. */
static void
default_signals(void)
{
	sigset_t none;

	for (int signum = 1; signum < NSIG; signum++)
		(void)signal(signum, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int
host_settle(struct err *e)
{
	struct rlimit files;
	int r;

	default_signals();
	/* Fails for the leader of a group, which is out of a terminal's reach
	 * as well. */
	(void)setsid();
	/* An empty keyring instead of the administrator's, for all children:
	 * they may not use it. Absent from some kernels. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 &&
	    errno != ENOSYS)
		return err_errno(e, errno, "session keyring");
	r = privdrop_rlimit(RLIMIT_CORE, 0);
	if (r < 0)
		return err_errno(e, -r, "core limit");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (geteuid() == 0 && setgroups(0, NULL) < 0)
		return err_errno(e, errno, "groups");
	return 0;
}

/* The same directory as the supervisor's, in this mount namespace. */
static int
reopen(struct workspace *w, struct err *e)
{
	struct stat theirs, ours;
	scoped_fd fd =
	    open(w->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &ours) < 0 || fstat(w->fd, &theirs) < 0)
		return err_errno(e, errno, "open workspace %s", w->path);
	if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		return err_set(e, ESTALE, "workspace %s was replaced", w->path);
	fd_close(&w->fd);
	w->fd = fd_take(&fd);
	return 0;
}

static int
enter_userns(struct err *e)
{
	char why[LAYER_USERNS_WHY_MAX];
	int r = jail_enter_userns(e);

	if (r == 0)
		return 0;
	layer_userns_why(why);
	return err_set(e, -r,
	    "no user namespaces (%s): start as root, set "
	    "sandbox.degraded=allow, or %s",
	    strerrorname_np(-r), why);
}

int
host_leave(struct exec_config *c, struct err *e)
{
	int r = 0;

	if (!c->root)
		r = enter_userns(e);
	if (r < 0)
		return r;
	if (unshare(CLONE_NEWNS) < 0)
		return err_errno(e, errno, "mount namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_errno(e, errno, "make mounts private");
	for (size_t i = 0; i < c->workspace_count && r == 0; i++)
		r = reopen(&c->workspaces[i], e);
	return r;
}
