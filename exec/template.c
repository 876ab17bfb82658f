#include "exec/template.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/log.h"
#include "exec/raw.h"
#include "exec/view.h"
#include "privsep/privdrop.h"

/* What a helper answers, with the descriptors that present names. */
struct answer {
	int errnum; /* 0: the template stands */
	/* Bit per enum template_ns, for each set. */
	uint32_t present[TEMPLATE_SETS];
	struct identity ids[TEMPLATE_SETS];
	bool tell;
	char text[ERR_TEXT_MAX];
};

/* The work of a helper. */
struct helper {
	const struct exec_config *config;
	pid_t parent; /* exec */
	struct template template;
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

/* Leave the present namespaces for new ones and open them, while /proc is at
 * hand. */
static int
enter_namespaces(const struct exec_config *c, struct template_start *set,
    int flags, bool network, struct err *e)
{
	if (network && !c->no_netns) {
		set->ns[TEMPLATE_NET] = nsmake_loopback(e);
		if (set->ns[TEMPLATE_NET] < 0)
			return set->ns[TEMPLATE_NET];
	}
	if (unshare(flags) < 0)
		return err_errno(e, errno, "session namespaces");
	for (size_t i = 0; i < TEMPLATE_NS; i++) {
		if ((kinds[i].flag & flags) == 0)
			continue;
		set->ns[i] = open(kinds[i].path, O_RDONLY | O_CLOEXEC);
		if (set->ns[i] < 0)
			return err_errno(e, errno, "open %s", kinds[i].path);
	}
	return 0;
}

static int
assemble(struct view *v, struct template_start *set, bool network,
    struct err *e)
{
	int flags = CLONE_NEWNS, r = view_open(v, e);

	if (!view_is_open(v))
		flags |= CLONE_NEWIPC | CLONE_NEWUTS;
	if (r == 0)
		r = enter_namespaces(v->config, set, flags, network, e);
	if (r == 0)
		r = view_build(v, e);
	set->id = v->id;
	return r;
}

/* Beside a session with the host's network: all the same but for that. */
static int
narrow_enabled(struct view *v, struct template *t, struct err *e)
{
	struct template_start *from = &t->sets[TEMPLATE_CEILING];
	struct template_start *to = &t->sets[TEMPLATE_NARROW];
	int r;

	to->id = from->id;
	to->ns[TEMPLATE_IPC] = from->ns[TEMPLATE_IPC];
	to->ns[TEMPLATE_UTS] = from->ns[TEMPLATE_UTS];
	r = enter_namespaces(v->config, to, CLONE_NEWNS, true, e);
	return r < 0 ? r : view_narrow(v, e);
}

/* Beside a session of the preset open: a view of its own kind, made first.
 * Then the helper returns to where it was. */
static int
narrow_open(struct helper *h, struct err *e)
{
	struct template_start *to = &h->template.sets[TEMPLATE_NARROW];
	scoped_fd back = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	struct view v;
	int r;

	if (back < 0)
		return err_errno(e, errno, "open the mount namespace");
	view_init(&v, VIEW_OPEN_NARROW, h->config, &to->id, h->parent);
	r = assemble(&v, to, true, e);
	h->template.tell = v.tell;
	view_done(&v);
	if (setns(back, CLONE_NEWNS) < 0)
		return err_errno(e, errno, "return to the mount namespace");
	return r;
}

/* A set that was not finished is absent; of what it shares nothing is
 * closed, as this process ends soon. */
static void
drop_narrow(struct template *t)
{
	for (size_t i = 0; i < TEMPLATE_NS; i++)
		t->sets[TEMPLATE_NARROW].ns[i] = -1;
}

static int
make_sets(struct helper *h, struct err *e)
{
	const struct exec_config *c = h->config;
	struct template *t = &h->template;
	struct template_start *set = &t->sets[TEMPLATE_CEILING];
	bool restricted = c->network == NETWORK_RESTRICTED;
	struct err why = {0};
	struct view v;
	int r;

	if (c->preset == PRESET_OPEN && narrow_open(h, &why) < 0)
		drop_narrow(t);
	view_init(&v, VIEW_CEILING, c, &set->id, h->parent);
	r = assemble(&v, set, restricted, e);
	t->tell |= v.tell;
	if (r == 0 && !restricted && c->preset != PRESET_OPEN &&
	    narrow_enabled(&v, t, &why) < 0)
		drop_narrow(t);
	if (why.code != 0)
		log_warn("session_narrow errno=%d %s", why.code, why.text);
	return r;
}

static _Noreturn void
helper_run(struct helper *h, int socket)
{
	int fds[TEMPLATE_SETS * TEMPLATE_NS], r;
	struct answer a = {0};
	struct err e = {0};
	size_t count = 0;

	(void)umask(0);
	r = privdrop_end_with_parent(h->parent);
	if (r < 0)
		_exit(1);
	r = make_sets(h, &e);
	a.errnum = -r;
	a.tell = h->template.tell;
	(void)memcpy(a.text, e.text, sizeof a.text);
	for (size_t k = 0; r == 0 && k < TEMPLATE_SETS; k++) {
		const struct template_start *set = &h->template.sets[k];

		a.ids[k] = set->id;
		for (unsigned int i = 0; i < TEMPLATE_NS; i++) {
			if (set->ns[i] < 0)
				continue;
			a.present[k] |= 1u << i;
			fds[count++] = set->ns[i];
		}
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
template_begin(const struct exec_config *config,
    const struct identity ids[TEMPLATE_SETS], int *pidfd, int *socket)
{
	struct helper h = {.config = config, .parent = getpid()};
	int pair[2];
	pid_t pid;

	template_init(&h.template);
	for (size_t k = 0; k < TEMPLATE_SETS; k++)
		h.template.sets[k].id = ids[k];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = raw_clone(0, pidfd);
	if (pid == 0) {
		if (close_others(config, pair[1]) < 0)
			_exit(1);
		helper_run(&h, pair[1]);
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
	int fds[TEMPLATE_SETS * TEMPLATE_NS], r;
	size_t count = TEMPLATE_SETS * TEMPLATE_NS, next = 0;

	t->tell = false;
	r = raw_recv(socket, &a, sizeof a, fds, &count);
	if (r <= 0)
		return err_set(e, r < 0 ? -r : ECHILD,
		    "the helper ended without an answer");
	for (size_t k = 0; k < TEMPLATE_SETS; k++) {
		t->sets[k].id = a.ids[k];
		for (unsigned int i = 0; i < TEMPLATE_NS; i++)
			if ((a.present[k] & 1u << i) != 0 && next < count)
				t->sets[k].ns[i] = fds[next++];
	}
	t->tell = a.tell;
	if (a.errnum == 0)
		return 0;
	template_done(t);
	a.text[sizeof a.text - 1] = '\0';
	return err_set(e, a.errnum, "%s", a.text);
}

void
template_init(struct template *t)
{
	*t = (struct template){0};
	for (size_t k = 0; k < TEMPLATE_SETS; k++)
		for (size_t i = 0; i < TEMPLATE_NS; i++)
			t->sets[k].ns[i] = -1;
}

void
template_done(struct template *t)
{
	for (size_t k = 0; k < TEMPLATE_SETS; k++)
		for (size_t i = 0; i < TEMPLATE_NS; i++)
			fd_close(&t->sets[k].ns[i]);
}

const struct template_start *
template_for(const struct template *t, const struct exec_config *config,
    const struct plan *plan)
{
	const struct template_start *narrow = &t->sets[TEMPLATE_NARROW];

	if (t->bare)
		return &t->sets[TEMPLATE_CEILING];
	if (!plan->never_root &&
	    (plan->network_enabled || config->network == NETWORK_RESTRICTED))
		return &t->sets[TEMPLATE_CEILING];
	if (narrow->ns[TEMPLATE_MNT] >= 0)
		return narrow;
	/* A session that is confined as a whole is as narrow as can be. */
	return config->network == NETWORK_RESTRICTED
		   ? &t->sets[TEMPLATE_CEILING]
		   : NULL;
}
