#include "exec/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "exec/cgroup.h"
#include "exec/child.h"
#include "exec/control.h"
#include "exec/init_streams.h"
#include "exec/landlock.h"
#include "exec/raw.h"
#include "exec/view.h"
#include "exec/view_plan.h"
#include "privsep/filters.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"

#define STEP(stage, expression)                                                \
	do {                                                                   \
		int r_ = (expression);                                         \
		if (r_ < 0)                                                    \
			raw_fail(o->status_fd, STAGE_##stage, -r_);            \
	} while (0)

/* Leave everything of exec's but what the order names. */
static int
close_others(const struct order *o)
{
	int keep[TEMPLATE_NS + 4];

	for (size_t i = 0; i < TEMPLATE_NS; i++)
		keep[i] = o->ns[i];
	keep[TEMPLATE_NS] = o->status_fd;
	keep[TEMPLATE_NS + 1] = o->control_fd;
	keep[TEMPLATE_NS + 2] = o->worker_fd;
	keep[TEMPLATE_NS + 3] = o->program_fd;
	return raw_close_except(keep, TEMPLATE_NS + 4);
}

/* Join the session. */
static int
join(const struct order *o)
{
	if (o->bare)
		return 0;
	for (size_t i = 0; i < TEMPLATE_NS; i++) {
		if (o->ns[i] >= 0 && setns(o->ns[i], 0) < 0)
			return -errno;
		if (o->ns[i] >= 0)
			(void)close(o->ns[i]);
	}
	return 0;
}

/* A copy of the session's mounts, to which nothing of this child comes back. */
static int
leave_mounts(const struct order *o)
{
	return o->bare || unshare(CLONE_NEWNS) == 0 ? 0 : -errno;
}

/* Never the host's: it shows the host's processes. */
static int
mount_empty_proc(void)
{
	const unsigned long flags =
	    MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;

	return mount("none", "/proc", "tmpfs", flags, "size=4k,mode=0555") < 0
		   ? -errno
		   : 0;
}

/*
 * This child's own /proc. Its switches that concern the whole host are
 * read-only: some can be written by a host uid without any capability.
 */
static int
mount_proc(void)
{
	static const char *const shared[] = {"/proc/sys", "/proc/sysrq-trigger",
	    "/proc/irq", "/proc/bus"};
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mount("proc", "/proc", "proc", flags, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
		const char *path = shared[i];

		if (mount(path, path, NULL, MS_BIND, NULL) < 0) {
			if (errno == ENOENT)
				continue; /* not every kernel has it */
			return -errno;
		}
		if (mount(NULL, path, NULL,
			MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) < 0)
			return -errno;
	}
	return 0;
}

static int
mount_devpts(const struct order *o)
{
	if (o->devpts == NULL)
		return 0;
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		o->devpts) < 0)
		return -errno;
	return 0;
}

/* What the program inherits of scheduling and memory pressure is never
 * better than the default. */
static int
be_ordinary(const struct order *o)
{
	if (o->dumpable && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	/* Fails where a lower value than exec's is not ours to set: then it
	 * is worse than the default already. */
	(void)setpriority(PRIO_PROCESS, 0, 0);
	if (o->raise_oom_score)
		return raw_write_file("/proc/self/oom_score_adj", "0");
	return 0;
}

static int
open_proc(void)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Its /proc and terminals, and of the files what the plan says. Keeps /proc as
 * it is before that: a plan may deny it, or let it be read alone. */
static void
make_view(const struct order *o, int *proc)
{
	struct view_plan v;
	bool own = o->plan->own_view;

	if (o->bare) {
		STEP(FORK, be_ordinary(o));
		return;
	}
	if (own)
		STEP(MOUNT, view_plan_begin(&v, o));
	STEP(MOUNT_PROC, o->own_proc ? mount_proc() : mount_empty_proc());
	STEP(MOUNT_PROC, *proc = open_proc());
	STEP(MOUNT_DEV, mount_devpts(o));
	STEP(FORK, be_ordinary(o));
	if (!own)
		return;
	STEP(VIEW, view_plan_paths(&v));
	STEP(GLOBS, view_plan_globs(&v));
	STEP(VIEW, view_plan_end(&v));
}

static int
write_map(int proc, pid_t pid, const char *file, const char *text)
{
	char path[64];
	int r = raw_number_path(path, sizeof path, "", (unsigned int)pid, file);

	return r < 0 ? r : raw_write_file_at(proc, path, text);
}

static int
write_maps(const struct order *o, int proc, pid_t program)
{
	int r;

	if (!o->userns)
		return 0;
	r = write_map(proc, program, "/setgroups", "deny");
	if (r == 0)
		r = write_map(proc, program, "/gid_map", o->gid_map);
	return r < 0 ? r : write_map(proc, program, "/uid_map", o->uid_map);
}

/* From here on init is the same nobody as the program, but outside its user
 * namespace and behind a filter of its own. */
static int
give_up(const struct order *o)
{
	int r = o->bounds ? child_drop_bounding(o->bounding) : 0;

	if (r == 0 && o->become)
		r = privdrop_ids(o->id.uid, o->id.gid, true);
	if (r == 0)
		r = child_drop_caps(o->bounds);
	if (r == 0)
		r = privdrop_undumpable();
	if (r == 0 && !o->bare)
		r = raw_end_with_peer(o->control_fd);
	if (r == 0)
		r = privdrop_no_new_privs();
	return r < 0 ? r : lockdown(&filter_init);
}

struct init {
	int control, signals;
	pid_t program;	  /* 0 once it is reaped */
	unsigned int pty; /* its number, if there is one */
	bool tty, bare;
};

/*
 * End everything below, and this process. Without a pid namespace the kernel
 * does not do that by itself; but all processes that a signal of ours reaches
 * are descendants, since our Landlock domain scopes it, and none can fork
 * while they are gone through.
 */
static _Noreturn void
end_tree(const struct init *in)
{
	while (in->bare) {
		(void)kill(-1, SIGKILL);
		if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
			break;
	}
	_exit(1);
}

/* Reap all that can be. The end of the last descendant is init's own. */
static void
reap(struct init *in)
{
	struct signalfd_siginfo drop;
	int status;
	pid_t pid;

	(void)!read(in->signals, &drop, sizeof drop);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct control c = {.type = CONTROL_EXITED,
		    .a = (uint32_t)status};

		if (pid != in->program)
			continue;
		in->program = 0;
		/* The socket holds it for exec even after we are gone. */
		if (raw_send(in->control, &c, sizeof c, NULL, 0) < 0)
			end_tree(in);
	}
	if (pid < 0 && errno == ECHILD)
		_exit(0);
}

static void
resize(const struct init *in, const struct control *c)
{
	struct winsize size = {.ws_row = (unsigned short)c->a,
	    .ws_col = (unsigned short)c->b};
	char path[32];
	int fd;

	if (!in->tty ||
	    raw_number_path(path, sizeof path, "/dev/pts/", in->pty, "") < 0)
		return;
	fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return; /* the program has closed its last descriptor */
	(void)ioctl(fd, TIOCSWINSZ, &size);
	(void)close(fd);
}

static void
take_control(struct init *in)
{
	struct control c;
	size_t none = 0;
	int r = raw_recv(in->control, &c, sizeof c, NULL, &none);

	if (r == -EAGAIN)
		return;
	if (r <= 0)
		end_tree(in); /* exec is gone or mad, or says so */
	/* Only while the leader is unreaped is its number surely its own. */
	if (c.type == CONTROL_INTERRUPT && in->program > 0)
		(void)kill(-in->program, SIGINT);
	else if (c.type == CONTROL_RESIZE && in->program > 0)
		resize(in, &c);
}

static _Noreturn void
loop(struct init *in)
{
	for (;;) {
		struct pollfd p[] = {
		    {.fd = in->control, .events = POLLIN},
		    {.fd = in->signals, .events = POLLIN},
		};

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			end_tree(in);
		if (p[0].revents != 0)
			take_control(in);
		if (p[1].revents != 0)
			reap(in);
	}
}

static int
watch_children(void)
{
	sigset_t chld;
	int fd;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &chld, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* The program, waiting for its maps; go[1] lets it go. */
static pid_t
start_program(const struct order *o, const struct streams *s, int go[2])
{
	uint64_t flags = o->userns ? CLONE_NEWUSER : 0;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	pid = raw_clone(flags, NULL);
	if (pid == 0) {
		(void)close(go[1]);
		child_run(o, s, go[0]);
	}
	(void)close(go[0]);
	return pid;
}

/* What stands in for a pid namespace: orphans below fall to us, and signals
 * reach nobody else. That is seen by trying it on exec. */
static int
begin_tree(const struct order *o)
{
	int r;

	if (!o->bare)
		return 0;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return -errno;
	r = landlock_scope_signals();
	if (r < 0)
		return r;
	if (kill(getppid(), 0) == 0 || errno != EPERM)
		return -EOPNOTSUPP;
	/* From here on killing this process would leave the others. */
	return prctl(PR_SET_PDEATHSIG, 0) < 0 ? -errno : 0;
}

_Noreturn void
init_run(const struct order *o)
{
	struct init in = {.control = o->control_fd,
	    .tty = o->tty,
	    .bare = o->bare};
	struct streams s;
	int go[2], proc = -1;

	/* First of all: what follows counts already. */
	STEP(CGROUP, cgroup_enter(o->cgroups));
	STEP(JOIN, close_others(o));
	STEP(JOIN, raw_end_with_peer(o->control_fd));
	STEP(JOIN, join(o));
	STEP(SOCKETS, view_more_sockets(o));
	STEP(JOIN, leave_mounts(o));
	make_view(o, &proc);
	STEP(LANDLOCK, begin_tree(o));
	STEP(PTY, streams_make(&s, o));
	STEP(FORK, in.signals = watch_children());
	STEP(FORK, in.program = start_program(o, &s, go));
	STEP(ID_MAP, write_maps(o, proc, in.program));
	fd_close(&proc);
	(void)!write(go[1], "", 1);
	(void)close(go[1]);
	in.pty = s.pty;
	streams_close(&s);
	if (o->worker_fd >= 0)
		(void)close(o->worker_fd);
	if (o->program_fd >= 0)
		(void)close(o->program_fd);
	STEP(INIT_LOCKDOWN, give_up(o));
	/* The program's copy closes when it executes; until then, or until a
	 * failure is written, exec waits. */
	(void)close(o->status_fd);
	loop(&in);
}
