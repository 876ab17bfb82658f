#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "exec/executor_backend.h"
#include "exec/executor_limits.h"

/* A helper that takes longer hangs in a file system. */
#define HELPER_TIMEOUT_MS 10000

struct session *
executor_session(const struct executor *x, struct generation generation,
    uint32_t id)
{
	for (size_t i = 0; i < x->slot_count; i++) {
		struct session *s = x->sessions[i];

		if (s != NULL && s->state != SESSION_CLOSED && s->id.v == id &&
		    s->generation.v == generation.v)
			return s;
	}
	return NULL;
}

bool
executor_session_is_own(const struct session *s)
{
	return s->id.v == 0;
}

static void
audit_session(struct executor *x, const char *event, const struct session *s)
{
	char id[16], generation[16];

	if (executor_session_is_own(s))
		return;
	(void)snprintf(id, sizeof id, "%u", s->id.v);
	(void)snprintf(generation, sizeof generation, "%u", s->generation.v);
	executor_audit(x, event,
	    (const char *[]){"session", id, "generation", generation,
		s->text[0] == '\0' ? NULL : "reason", s->text, NULL});
}

/* Who the children of the session are; narrow: those that restrict
 * something. */
static struct identity
identity_of(const struct executor *x, const struct session *s, bool narrow)
{
	const struct exec_config *c = s->config;
	unsigned int slot = s->slot;
	struct identity id = {.uid = geteuid(), .gid = getegid()};

	id.inside_uid = id.uid;
	id.inside_gid = id.gid;
	if (!c->root || (c->preset == PRESET_OPEN && !narrow))
		return id;
	/* Its files cannot be shown as another's. */
	if (x->probe->bare) {
		id.uid = id.inside_uid = c->workspaces[0].uid;
		id.gid = id.inside_gid = c->workspaces[0].gid;
		return id;
	}
	id.uid = c->uid_base + slot;
	id.gid = c->uid_base + slot;
	id.inside_uid = c->workspaces[0].uid;
	id.inside_gid = c->workspaces[0].gid;
	if (id.inside_uid == 0) {
		id.inside_uid = 1000;
		id.inside_gid = 1000;
	}
	if (c->backend.uid != 0)
		id.uid = c->backend.uid;
	if (c->backend.gid != 0)
		id.gid = c->backend.gid;
	if (!x->probe->userns) {
		id.inside_uid = id.uid;
		id.inside_gid = id.gid;
	}
	return id;
}

static void
refuse(struct executor *x, struct session *s, int errnum, const char *text)
{
	struct msg_session_refused m = {.session = s->id.v,
	    .errnum = (uint32_t)errnum};
	struct peer *p = executor_peer(x, s->generation);

	s->state = SESSION_REFUSED;
	s->errnum = errnum;
	(void)snprintf(s->text, sizeof s->text, "%s", text);
	m.text = bytes_of(s->text);
	audit_session(x, "session_refused", s);
	if (p != NULL)
		executor_sent(p,
		    channel_send_session_refused(p->channel, &m, NULL, 0));
}

/* Does not wait: it has ended, or ends now. */
static void
reap_helper(struct executor *x, struct session *s)
{
	siginfo_t info;

	(void)raw_pidfd_signal(s->helper.fd, SIGKILL);
	(void)waitid(P_PIDFD, (id_t)s->helper.fd, &info, WEXITED);
	source_close(&s->helper);
	x->opening--;
}

/*
 * At the start the host could show the workspaces' files with other ids, and
 * now it could not: then programs are their owner, which is less than what was
 * promised.
 */
static void
tell_unmapped(struct executor *x, const struct session *s)
{
	bool narrow = s->config->preset == PRESET_OPEN;
	enum template_set set = narrow ? TEMPLATE_NARROW : TEMPLATE_CEILING;
	const struct template_start *t = &s->template.sets[set];
	char id[16], uid[16];

	if (!s->config->root || x->probe->errnum[LAYER_IDMAP] != 0 ||
	    t->ns[TEMPLATE_MNT] < 0 ||
	    t->id.uid == identity_of(x, s, narrow).uid)
		return;
	(void)snprintf(id, sizeof id, "%u", s->id.v);
	(void)snprintf(uid, sizeof uid, "%u", t->id.uid);
	log_warn("session_unmapped session=%s uid=%s error=\"id-mapped mounts "
		 "worked at the start, but not now\"",
	    id, uid);
	executor_audit(x, "session_unmapped",
	    (const char *[]){"session", id, "uid", uid, NULL});
}

static void
helper_ready(struct executor *x, struct source *source)
{
	struct session *s = source->owner;
	struct err e = {0};
	int r;

	reap_helper(x, s);
	r = template_take(s->helper_socket, &s->template, &e);
	fd_close(&s->helper_socket);
	if (s->state == SESSION_CLOSED) {
		executor_session_settle(x, s);
		return;
	}
	if (r == 0) {
		s->state = SESSION_READY;
		audit_session(x, "session_open", s);
		tell_unmapped(x, s);
	} else {
		log_error("session_refused session=%u generation=%u errno=%d "
			  "%s",
		    s->id.v, s->generation.v, -r, e.text);
		refuse(x, s, -r,
		    s->template.tell
			? e.text
			: "the session's sandbox could not be made");
	}
	if (executor_session_is_own(s))
		executor_inspect_ready(x, s);
	else
		executor_process_resume(x, s);
}

static int
start_helper(struct executor *x, struct session *s)
{
	const struct identity ids[TEMPLATE_SETS] = {
	    [TEMPLATE_CEILING] = identity_of(x, s, false),
	    [TEMPLATE_NARROW] = identity_of(x, s, true),
	};
	int r;

	executor_sockets_open(x, s);
	r = template_begin(s->config, ids, &s->helper.fd, &s->helper_socket);
	if (r < 0)
		return r;
	s->deadline_ms = clock_ms() + HELPER_TIMEOUT_MS;
	s->helper.ready = helper_ready;
	x->opening++;
	r = source_watch(x->epfd, &s->helper, EPOLLIN);
	if (r < 0)
		reap_helper(x, s);
	return r;
}

/* A free slot, and how many sessions are open. */
static int
find_slot(const struct executor *x, unsigned int *slot, unsigned int *open)
{
	int r = -EPROTO;

	*open = 0;
	for (unsigned int i = x->slot_count; i-- > 0;) {
		const struct session *s = x->sessions[i];

		if (s == NULL) {
			*slot = i;
			r = 0;
		} else if (s->state != SESSION_CLOSED) {
			(*open)++;
		}
	}
	return r;
}

static void
open_session(struct executor *x, struct session *s, unsigned int open)
{
	struct err e = {0};
	int r;

	if (open >= x->config->limits.sessions_max) {
		refuse(x, s, EAGAIN, "too many sessions");
		return;
	}
	r = executor_limits_session(x, s, &e);
	if (r < 0) {
		log_error("session_group session=%u %s", s->id.v, e.text);
		refuse(x, s, -r,
		    "the session's control group could not be "
		    "made");
		return;
	}
	if (x->probe->bare) {
		s->template.bare = true;
		s->template.sets[TEMPLATE_CEILING].id = identity_of(x, s, true);
		s->state = SESSION_READY;
		audit_session(x, "session_open", s);
		return;
	}
	r = start_helper(x, s);
	if (r < 0) {
		log_error("session_helper session=%u errno=%d", s->id.v, -r);
		refuse(x, s, -r, "the session's sandbox could not be made");
	}
}

int
executor_on_session_open(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e)
{
	const struct msg_session_open *m = &msg->u.session_open;
	struct session_id id = {m->session};
	unsigned int slot = 0, open;
	struct session *s;

	if (id.v == 0 || executor_session(x, p->generation, id.v) != NULL)
		return err_set(e, EPROTO, "session %u again", id.v);
	if (find_slot(x, &slot, &open) < 0)
		return err_set(e, EPROTO, "far too many sessions");
	s = session_new(x->config, id, p->generation, slot);
	if (s == NULL)
		return err_set(e, ENOMEM, "session_open");
	x->sessions[slot] = s;
	open_session(x, s, open);
	return 0;
}

struct session *
executor_session_own(struct executor *x, struct err *e)
{
	unsigned int slot = 0, open;
	struct session *s = NULL;

	if (find_slot(x, &slot, &open) == 0)
		s = session_new(x->config, (struct session_id){0},
		    (struct generation){0}, slot);
	if (s == NULL) {
		(void)err_set(e, ENOMEM, "there is no room for a session");
		return NULL;
	}
	x->sessions[slot] = s;
	open_session(x, s, open);
	return s;
}

int
executor_on_session_close(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e)
{
	const struct msg_session_close *m = &msg->u.session_close;
	struct session *s = executor_session(x, p->generation, m->session);

	if (s == NULL)
		return err_set(e, EPROTO, "session %u is not open", m->session);
	executor_session_end(x, s);
	return 0;
}

/* Commands go on, but for those that come before a program. */
static void
end_lease(struct executor *x, const struct session *s, struct lease *l)
{
	if (executor_session_is_own(s))
		lease_kill(l);
	else if (l->command_of != NULL)
		executor_backend_cancel(l);
	else
		executor_lease_end(x, l);
}

void
executor_session_end(struct executor *x, struct session *s)
{
	struct lease *l;

	if (s->state == SESSION_CLOSED)
		return;
	if (s->state == SESSION_READY)
		audit_session(x, "session_close", s);
	s->state = SESSION_CLOSED;
	if (s->helper.fd >= 0)
		(void)raw_pidfd_signal(s->helper.fd, SIGKILL);
	LIST_FOREACH (l, &x->leases, link)
		if (l->slot == s->slot)
			end_lease(x, s, l);
	/* A backend's commands follow, in the same group. */
	if (!s->config->backend.on)
		cgroup_kill(&s->group);
	executor_http_end(x, s->generation, s->id.v);
	executor_process_resume(x, s);
	/* A backend's commands still start from it. */
	if (!s->config->backend.on)
		template_done(&s->template);
	executor_session_settle(x, s);
}

/* Its slot is a host id: it is not given to another session while something
 * still runs under it. */
void
executor_session_settle(struct executor *x, struct session *s)
{
	if (s->state != SESSION_CLOSED || s->lease_count > 0 ||
	    s->helper.fd >= 0)
		return;
	x->sessions[s->slot] = NULL;
	executor_limits_session_done(x, s);
	session_free(s);
}

int64_t
executor_session_deadlines(struct executor *x, int64_t now_ms)
{
	int64_t next = -1;

	if (x->opening == 0)
		return -1;
	for (size_t i = 0; i < x->slot_count; i++) {
		struct session *s = x->sessions[i];

		if (s == NULL || s->state != SESSION_OPENING)
			continue;
		if (s->deadline_ms <= now_ms) {
			/* Its end is what answers the session. */
			(void)raw_pidfd_signal(s->helper.fd, SIGKILL);
			s->deadline_ms = now_ms + HELPER_TIMEOUT_MS;
		}
		if (next < 0 || s->deadline_ms < next)
			next = s->deadline_ms;
	}
	return next;
}
