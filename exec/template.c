#include "exec/template.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "exec/raw.h"
#include "exec/view.h"

/* What a helper answers, with the descriptors that present names. */
struct answer {
	int errnum;	  /* 0: the template stands */
	uint32_t present; /* bit per enum template_ns */
	struct identity id;
	bool tell;
	char text[ERR_TEXT_MAX];
};

static const struct {
	const char *path;
	int flag;
} kinds[TEMPLATE_NS] = {
    [TEMPLATE_NET] = {"/proc/self/ns/net", 0},
    [TEMPLATE_IPC] = {"/proc/self/ns/ipc", CLONE_NEWIPC},
    [TEMPLATE_UTS] = {"/proc/self/ns/uts", CLONE_NEWUTS},
    [TEMPLATE_MNT] = {"/proc/self/ns/mnt", CLONE_NEWNS},
};

/* Leave exec's namespaces and open the new ones, while /proc is at hand. */
static int
enter_namespaces(const struct exec_config *c, int ns[TEMPLATE_NS],
    struct err *e)
{
	bool open_preset = c->preset == PRESET_OPEN;
	int flags = CLONE_NEWNS;

	if (!open_preset)
		flags |= CLONE_NEWIPC | CLONE_NEWUTS;
	if (c->network == NETWORK_RESTRICTED) {
		ns[TEMPLATE_NET] = nsmake_loopback(e);
		if (ns[TEMPLATE_NET] < 0)
			return ns[TEMPLATE_NET];
	}
	if (unshare(flags) < 0)
		return err_errno(e, errno, "session namespaces");
	for (size_t i = 0; i < TEMPLATE_NS; i++) {
		if ((kinds[i].flag & flags) == 0)
			continue;
		ns[i] = open(kinds[i].path, O_RDONLY | O_CLOEXEC);
		if (ns[i] < 0)
			return err_errno(e, errno, "open %s", kinds[i].path);
	}
	return 0;
}

static int
assemble(struct view *v, int ns[TEMPLATE_NS], struct err *e)
{
	int r = view_open(v, e);

	if (r == 0)
		r = enter_namespaces(v->config, ns, e);
	return r < 0 ? r : view_build(v, e);
}

static _Noreturn void
helper_run(const struct exec_config *config, const struct identity *id,
    int socket)
{
	struct answer a = {0};
	int ns[TEMPLATE_NS] = {-1, -1, -1, -1}, fds[TEMPLATE_NS], r;
	struct err e = {0};
	struct view v;
	size_t count = 0;

	(void)umask(0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	view_init(&v, config, id);
	r = assemble(&v, ns, &e);
	a.errnum = -r;
	a.id = v.id;
	a.tell = v.tell;
	(void)memcpy(a.text, e.text, sizeof a.text);
	for (unsigned int i = 0; r == 0 && i < TEMPLATE_NS; i++) {
		if (ns[i] < 0)
			continue;
		a.present |= 1u << i;
		fds[count++] = ns[i];
	}
	_exit(raw_send(socket, &a, sizeof a, fds, count) < 0);
}

/* Of exec's descriptors the helper needs only these: it must not hold a
 * channel open when exec is gone. */
static int
close_others(const struct exec_config *c, int socket)
{
	int keep[WORKSPACES_MAX + 1];

	for (size_t i = 0; i < WORKSPACES_MAX; i++)
		keep[i] = c->workspaces[i].fd;
	keep[WORKSPACES_MAX] = socket;
	return raw_close_except(keep, WORKSPACES_MAX + 1);
}

int
template_start(const struct exec_config *config, const struct identity *id,
    int *pidfd, int *socket)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = raw_clone(0, pidfd);
	if (pid == 0) {
		if (close_others(config, pair[1]) < 0)
			_exit(1);
		helper_run(config, id, pair[1]);
	}
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return pid;
	}
	*socket = pair[0];
	return 0;
}

int
template_take(int socket, struct template *t, struct err *e)
{
	struct answer a;
	int fds[TEMPLATE_NS], r;
	size_t count = TEMPLATE_NS, next = 0;

	t->tell = false;
	r = raw_recv(socket, &a, sizeof a, fds, &count);
	if (r <= 0)
		return err_set(e, r < 0 ? -r : ECHILD,
		    "the helper ended without an answer");
	for (unsigned int i = 0; i < TEMPLATE_NS; i++) {
		bool has = (a.present & 1u << i) && next < count;

		t->ns[i] = has ? fds[next++] : -1;
	}
	t->id = a.id;
	t->tell = a.tell;
	if (a.errnum == 0)
		return 0;
	template_done(t);
	a.text[sizeof a.text - 1] = '\0';
	return err_set(e, a.errnum, "%s", a.text);
}

void
template_done(struct template *t)
{
	for (size_t i = 0; i < TEMPLATE_NS; i++)
		fd_close(&t->ns[i]);
}
