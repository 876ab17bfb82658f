#include "supervisor/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "supervisor/audit_event.h"
#include "supervisor/confine.h"
#include "supervisor/crashes.h"
#include "supervisor/handover.h"
#include "supervisor/readiness.h"
#include "supervisor/reloading.h"
#include "supervisor/role.h"
#include "supervisor/signals.h"

/* From its start to its report; exec tries out what the host can do. */
#define READY_MS     20000
/* For what was killed to be gone before we exit all the same. */
#define REAP_MS	     2000
/* Messages of one role before others have their turn. */
#define MESSAGES_MAX 64

enum phase {
	PHASE_RUN,   /* starting, serving or starting anew */
	PHASE_DRAIN, /* net closes its connections */
	PHASE_STOP,  /* exec ends its children */
	PHASE_KILL,  /* what is left gets SIGKILL */
	PHASE_DONE,
};

struct supervisor {
	const struct server *server; /* as started or as reloaded */
	struct reloading reloading;
	struct role_process net, exec;
	struct crashes crashes;
	enum phase phase;
	enum exit_code code;
	bool served;		/* net has been told to accept, once */
	uint32_t generation;	/* of the last net */
	uint64_t restart_at_ms; /* 0: nothing is to be started anew */
	uint64_t phase_end_ms;	/* of every phase but the first */
	uint64_t stop_end_ms;	/* of an orderly stop as a whole */
	int signal_fd;
	bool terminal; /* there was one when we started */
};

static uint64_t
now_ms(void)
{
	return (uint64_t)clock_ms();
}

/* --- the end ------------------------------------------------------------ */

static void
kill_all(struct supervisor *s, enum exit_code code)
{
	s->code = code;
	s->phase = PHASE_KILL;
	s->phase_end_ms = now_ms() + REAP_MS;
	role_kill(&s->net);
	role_kill(&s->exec);
}

/* Exec ends its children and itself. */
static void
stop_exec(struct supervisor *s)
{
	uint64_t now = now_ms();
	uint64_t left = s->stop_end_ms > now ? s->stop_end_ms - now : 0;
	const struct msg_exec_stop m = {.timeout_ms = (uint32_t)left};

	role_kill(&s->net);
	s->phase = PHASE_STOP;
	s->phase_end_ms = s->stop_end_ms;
	if (s->exec.channel == NULL || !s->exec.ready ||
	    channel_send_exec_stop(s->exec.channel, &m, NULL, 0) < 0)
		kill_all(s, s->code);
}

/* Net first, so that clients see a reason; half of the time is exec's. */
static void
stop(struct supervisor *s, enum exit_code code)
{
	uint64_t all = s->server->config->limits.shutdown_timeout;
	const struct msg_net_drain m = {.timeout_ms = (uint32_t)(all / 2)};

	if (s->phase == PHASE_KILL || s->phase == PHASE_DONE)
		return;
	if (s->phase != PHASE_RUN) {
		kill_all(s, s->code); /* asked twice: at once */
		return;
	}
	audit_own(s->server->audit, "server_stop", (const char *[]){NULL});
	s->code = code;
	s->stop_end_ms = now_ms() + all;
	if (s->net.channel == NULL || !s->net.ready ||
	    channel_send_net_drain(s->net.channel, &m, NULL, 0) < 0) {
		stop_exec(s);
		return;
	}
	s->phase = PHASE_DRAIN;
	s->phase_end_ms = s->stop_end_ms - all / 2;
}

/* --- start -------------------------------------------------------------- */

/* Something went wrong while starting: fatal before the first client could
 * come, a crash like any other afterwards. */
static void
crashed(struct supervisor *s, enum role role, const char *what)
{
	uint64_t delay, now = now_ms();

	audit_own(s->server->audit, "crash",
	    (const char *[]){"process", role_name(role), "how", what, NULL});
	if (!s->served) {
		log_error("not_serving reason=\"%s: %s\"", role_name(role),
		    what);
		kill_all(s, EXIT_LOCKDOWN);
		return;
	}
	if (!crashes_note(&s->crashes, now, &delay)) {
		log_error("staying_down crashes=%d window_ms=%d",
		    CRASHES_MAX + 1, CRASHES_WINDOW_MS);
		kill_all(s, EXIT_CRASHES);
		return;
	}
	s->restart_at_ms = now + delay;
}

static void
start_exec(struct supervisor *s)
{
	const struct role_start how = {.binary_fd = s->server->exec->fd,
	    .null_fd = s->server->null_fd};
	struct err e;
	int r;

	if (role_start(&s->exec, &how, &e) < 0) {
		log_error("%s", e.text);
		crashed(s, ROLE_EXEC, "cannot be started");
		return;
	}
	s->exec.ready_by_ms = now_ms() + READY_MS;
	r = handover_exec(s->server, s->exec.channel);
	if (r == 0)
		r = handover_http(s->server, s->exec.channel);
	if (r < 0) {
		log_error("exec_config error=%s", strerrorname_np(-r));
		role_kill(&s->exec);
	}
}

/* Give exec the far end of a new net's channel. */
static int
attach(struct supervisor *s, int fd)
{
	const struct msg_net_attach m = {.generation = s->generation};

	return channel_send_net_attach(s->exec.channel, &m, &fd, 1);
}

static void
start_net(struct supervisor *s)
{
	struct role_start how = {.binary_fd = s->server->net->fd,
	    .null_fd = s->server->null_fd,
	    .extra_count = 2};
	scoped_fd net_end = -1;
	struct err e;
	int ends[2], r = channel_pair(ends);

	s->generation++;
	if (r == 0) {
		net_end = ends[0];
		r = attach(s, ends[1]);
	}
	if (r < 0) {
		log_error("net_attach error=%s", strerrorname_np(-r));
		role_kill(&s->exec);
		return;
	}
	how.extra[0] = net_end;
	how.extra[1] = s->server->listener_fd;
	if (role_start(&s->net, &how, &e) < 0) {
		log_error("%s", e.text);
		crashed(s, ROLE_NET, "cannot be started");
		return;
	}
	s->net.ready_by_ms = now_ms() + READY_MS;
	r = handover_net(s->server, s->net.channel);
	if (r < 0) {
		log_error("net_config error=%s", strerrorname_np(-r));
		role_kill(&s->net);
	}
}

/* Exec first: net is of no use without it. */
static void
restart(struct supervisor *s)
{
	if (s->net.pid != 0)
		return; /* the one of the exec that died has to go first */
	s->restart_at_ms = 0;
	if (s->exec.pid == 0)
		start_exec(s);
	else if (s->exec.ready)
		start_net(s);
}

static void
accept_clients(struct supervisor *s)
{
	const struct msg_net_accept m = {.generation = s->generation};

	if (channel_send_net_accept(s->net.channel, &m, NULL, 0) < 0) {
		role_kill(&s->net);
		return;
	}
	log_info("serving address=%s generation=%u", s->server->host,
	    s->generation);
	if (s->served)
		return;
	s->served = true;
	audit_server_start(s->server);
	if (listen_url_tell(s->server->url_fd, s->server->host,
		s->server->path) < 0) {
		log_error("the URL cannot be written");
		kill_all(s, EXIT_RUNTIME);
	}
}

/* --- messages ----------------------------------------------------------- */

static void
on_role_ready(struct supervisor *s, struct role_process *p,
    const struct msg_role_ready *got)
{
	const struct readiness want = {.root = geteuid() == 0,
	    .uid = geteuid(),
	    .gid = getegid(),
	    .net_uid = s->server->config->net_uid,
	    .role_caps = confine_role_caps(s->server->userns),
	    .landlock_abi = s->server->landlock_abi,
	    .lacks = s->server->lacks};
	struct err e;

	if (p->ready) {
		log_error("%s: reported twice", role_name(p->role));
		role_kill(p);
		return;
	}
	log_info("ready role=%s uid=%u caps=%llx seccomp=%u landlock=%u "
		 "namespaces=%x %.*s",
	    role_name(p->role), got->uid,
	    (unsigned long long)got->caps_effective, got->seccomp,
	    got->landlock_abi, got->namespaces, (int)got->probe.len,
	    (const char *)got->probe.data);
	if (readiness_check(p->role, &want, got, &e) < 0) {
		log_error("%s", e.text);
		kill_all(s, EXIT_LOCKDOWN);
		return;
	}
	audit_role_ready(s->server, p->role, got);
	p->ready = true;
	if (p->role == ROLE_NET)
		accept_clients(s);
	else if (*s->server->isolation != ISOLATION_UNKNOWN)
		start_net(s);
}

/* Net would tell its clients something else without it. */
static int
on_inspected(struct supervisor *s, const struct msg_exec_inspected *m,
    struct err *e)
{
	struct err why;
	int r = isolation_take(s->server->isolation, m, &why);

	if (r == -EPROTO)
		return err_set(e, EPROTO, "%s", why.text);
	if (r == 0 && s->phase == PHASE_RUN) {
		start_net(s);
	} else if (s->phase == PHASE_RUN) {
		log_error("not_serving reason=\"%s\"", why.text);
		kill_all(s, EXIT_RUNTIME);
	}
	return 0;
}

/* Returns 0, or -EPROTO with e if the message was not to come now. */
static int
dispatch(struct supervisor *s, struct role_process *p, const struct msg *m,
    struct err *e)
{
	if (m->type == MSG_ROLE_READY) {
		on_role_ready(s, p, &m->u.role_ready);
		return 0;
	}
	if (m->type == MSG_AUDIT)
		return audit_write(s->server->audit, p->role, m->u.audit.event,
		    m->u.audit.pairs, e);
	if (m->type == MSG_EXEC_INSPECTED)
		return on_inspected(s, &m->u.exec_inspected, e);
	if (m->type == MSG_EXEC_APPLIED)
		return reloading_on_applied(&s->reloading, &m->u.exec_applied,
		    e);
	if (m->type == MSG_NET_DRAINED && s->phase != PHASE_RUN) {
		log_info("drained connections=%u",
		    m->u.net_drained.connections);
		return 0;
	}
	if (m->type == MSG_EXEC_STOPPED && s->phase != PHASE_RUN) {
		log_info("stopped leases=%u", m->u.exec_stopped.leases);
		return 0;
	}
	return err_set(e, EPROTO, "%s out of turn", msg_row(m->type)->name);
}

/* At its end, or after a broken record, the channel is closed and the role
 * killed: what it says from then on is not heard. */
static void
read_channel(struct supervisor *s, struct role_process *p)
{
	for (int i = 0; i < MESSAGES_MAX && p->channel != NULL; i++) {
		struct err e = {0};
		struct msg m;
		int r = channel_recv(p->channel, &m, &e);

		if (r == -EAGAIN)
			return;
		if (r == 1) {
			r = dispatch(s, p, &m, &e);
			msg_done(&m);
			if (r == 0)
				continue;
		}
		if (r < 0)
			log_error("channel_broken role=%s reason=\"%s\"",
			    role_name(p->role),
			    e.code != 0 ? e.text : strerrorname_np(-r));
		role_kill(p);
	}
}

/* --- deaths ------------------------------------------------------------- */

static void
on_net_death(struct supervisor *s, const char *how)
{
	const struct msg_net_gone m = {.generation = s->generation};

	if (s->phase == PHASE_DRAIN) {
		stop_exec(s);
		return;
	}
	if (s->phase != PHASE_RUN)
		return;
	/* If exec is not there, this is its crash and not one more. */
	if (s->exec.channel == NULL)
		return;
	crashed(s, ROLE_NET, how);
	if (s->exec.channel != NULL &&
	    channel_send_net_gone(s->exec.channel, &m, NULL, 0) < 0)
		role_kill(&s->exec);
}

static void
on_exec_death(struct supervisor *s, const char *how)
{
	role_kill(&s->net);
	reloading_give_up(&s->reloading, "exec has died");
	if (s->phase == PHASE_RUN)
		crashed(s, ROLE_EXEC, how);
}

static void
check_death(struct supervisor *s, struct role_process *p)
{
	char how[ROLE_END_MAX];
	int status;

	if (!role_reap(p, &status))
		return;
	role_describe_end(status, how);
	/* On the way out a clean exit and our own SIGKILL are no news. */
	if (s->phase == PHASE_RUN ||
	    (status != 0 && WTERMSIG(status) != SIGKILL))
		log_error("died role=%s how=\"%s\"", role_name(p->role), how);
	if (p->role == ROLE_NET)
		on_net_death(s, how);
	else
		on_exec_death(s, how);
}

/* --- the loop ----------------------------------------------------------- */

/* The audit file may have been moved away, and the configuration changed. */
static void
on_hangup(struct supervisor *s)
{
	struct err e;

	if (s->phase != PHASE_RUN)
		return;
	if (audit_reopen(s->server->audit, &e) < 0)
		log_error("audit_reopen error=\"%s\"", e.text);
	else
		log_info("audit_reopened");
	reloading_start(&s->reloading);
}

static void
on_signal(struct supervisor *s, int signal)
{
	if (signal == SIGCHLD)
		return;
	if (signal == SIGHUP && !(s->terminal && !signals_has_terminal())) {
		on_hangup(s);
		return;
	}
	log_info("stopping signal=%d", signal);
	stop(s, EXIT_OK);
}

static void
on_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof info) == sizeof info)
		on_signal(s, (int)info.ssi_signo);
}

/* No work that is not told: [audit] on_error = stop. */
static void
check_audit(struct supervisor *s)
{
	if (s->phase != PHASE_RUN || !audit_failed(s->server->audit))
		return;
	log_error("stopping reason=\"the audit log cannot be written\"");
	stop(s, EXIT_RUNTIME);
}

static void
check_ready_by(struct role_process *p, uint64_t now)
{
	if (p->channel == NULL || p->ready || now < p->ready_by_ms)
		return;
	log_error("not_ready role=%s after_ms=%d", role_name(p->role),
	    READY_MS);
	role_kill(p);
}

static void
on_time(struct supervisor *s, uint64_t now)
{
	check_ready_by(&s->exec, now);
	check_ready_by(&s->net, now);
	switch (s->phase) {
	case PHASE_RUN:
		if (s->restart_at_ms != 0 && now >= s->restart_at_ms)
			restart(s);
		break;
	case PHASE_DRAIN:
		if (now >= s->phase_end_ms)
			stop_exec(s);
		break;
	case PHASE_STOP:
		if (now >= s->phase_end_ms)
			kill_all(s, s->code);
		break;
	case PHASE_KILL:
		if (now >= s->phase_end_ms)
			s->phase = PHASE_DONE;
		break;
	case PHASE_DONE:
		break;
	}
}

static void
earlier(uint64_t *at, uint64_t candidate)
{
	if (candidate < *at)
		*at = candidate;
}

/* Milliseconds until on_time has something to do; -1: never. */
static int
time_left(const struct supervisor *s, uint64_t now)
{
	uint64_t at = UINT64_MAX;

	if (s->phase != PHASE_RUN)
		earlier(&at, s->phase_end_ms);
	/* A restart that waits for a death is woken by that. */
	else if (s->restart_at_ms != 0 && s->net.pid == 0)
		earlier(&at, s->restart_at_ms);
	if (s->exec.channel != NULL && !s->exec.ready)
		earlier(&at, s->exec.ready_by_ms);
	if (s->net.channel != NULL && !s->net.ready)
		earlier(&at, s->net.ready_by_ms);
	if (at == UINT64_MAX)
		return -1;
	return at > now ? (int)(at - now) : 0;
}

static void
watch(struct pollfd *slot, int fd, bool write_too)
{
	*slot = (struct pollfd){.fd = fd,
	    .events = (short)(POLLIN | (write_too ? POLLOUT : 0))};
}

static void
watch_role(struct pollfd slots[3], const struct role_process *p)
{
	watch(&slots[0], p->log.fd, false);
	watch(&slots[1], p->channel != NULL ? channel_fd(p->channel) : -1,
	    p->channel != NULL && channel_pending(p->channel));
	watch(&slots[2], p->pidfd, false);
}

static void
attend(struct supervisor *s, struct role_process *p,
    const struct pollfd slots[3])
{
	if (slots[0].revents != 0 && p->log.fd >= 0 && !rolelog_read(&p->log))
		rolelog_close(&p->log);
	if (slots[1].revents != 0 && p->channel != NULL) {
		if (channel_flush(p->channel) < 0)
			role_kill(p);
		read_channel(s, p);
	}
	if (slots[2].revents != 0)
		check_death(s, p);
}

/* Seven descriptors: poll needs none of the bookkeeping of an epoll set. Exec
 * comes before net, so that its death is seen first. */
static void
turn(struct supervisor *s)
{
	struct pollfd slots[7];

	watch(&slots[0], s->signal_fd, false);
	watch_role(&slots[1], &s->exec);
	watch_role(&slots[4], &s->net);
	if (poll(slots, 7, time_left(s, now_ms())) < 0 && errno != EINTR) {
		log_error("poll error=%s", strerrorname_np(errno));
		kill_all(s, EXIT_RUNTIME);
		return;
	}
	attend(s, &s->exec, &slots[1]);
	attend(s, &s->net, &slots[4]);
	if (slots[0].revents != 0)
		on_signals(s);
	on_time(s, now_ms());
	check_audit(s);
	if (!role_reap_orphans(&s->net, &s->exec) && s->phase != PHASE_RUN)
		s->phase = PHASE_DONE;
}

enum exit_code
supervisor_run(const struct server *server)
{
	struct supervisor s = {.server = server,
	    .signal_fd = signals_open(),
	    .terminal = signals_has_terminal()};

	role_init(&s.net, ROLE_NET);
	role_init(&s.exec, ROLE_EXEC);
	s.reloading = (struct reloading){.server = &s.server,
	    .exec = &s.exec,
	    .net = &s.net};
	if (s.signal_fd < 0) {
		log_error("signals error=%s", strerrorname_np(-s.signal_fd));
		return EXIT_RUNTIME;
	}
	start_exec(&s);
	while (s.phase != PHASE_DONE)
		turn(&s);
	fd_close(&s.signal_fd);
	audit_server_end(s.server, s.code);
	reloading_done(&s.reloading);
	log_info("stopped code=%d", (int)s.code);
	return s.code;
}
