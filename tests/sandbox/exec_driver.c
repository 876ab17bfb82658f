#include "tests/sandbox/exec_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "policy/env.h"

static _Noreturn void
die(const char *what)
{
	(void)fprintf(stderr, "driver: %s: %s\n", what, strerror(errno));
	abort();
}

static void
check(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

static long
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void
driver_opts_init(struct driver_opts *o, const char *workspace)
{
	*o = (struct driver_opts){.preset = PRESET_WORKSPACE,
	    .uid = geteuid(),
	    .workspaces = {workspace}};
	limits_init(&o->limits);
}

/* --- start and end ------------------------------------------------------- */

/* From here on the three calls of Landlock do not exist. */
static void
hide_landlock(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_landlock_create_ruleset, 0,
		2),
	    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_landlock_restrict_self, 1,
		0),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {.len = 5, .filter = code};

	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0,
	    "seccomp");
}

/* As the supervisor does it: the binary is opened with our own rights. */
static _Noreturn void
become_exec(const struct driver_opts *o, int channel, int hang)
{
	static char name[] = "sallyport-exec";
	const char *path = getenv("SALLYPORT_EXEC");
	int binary, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	check(path != NULL, "SALLYPORT_EXEC");
	binary = fcntl(open(path, O_PATH | O_CLOEXEC), F_DUPFD_CLOEXEC, 10);
	check(binary >= 0, path);
	(void)dup2(null, 0);
	(void)dup2(null, 1);
	if (channel == ROLE_FD_SUPERVISOR)
		(void)fcntl(channel, F_SETFD, 0);
	else
		(void)dup2(channel, ROLE_FD_SUPERVISOR);
	if (o->uid != geteuid()) {
		check(setgroups(0, NULL) == 0, "setgroups");
		check(setresgid(o->uid, o->uid, o->uid) == 0, "setgid");
		check(setresuid(o->uid, o->uid, o->uid) == 0, "setuid");
	}
	if (o->no_landlock)
		hide_landlock();
	if (o->hang != NULL)
		hang_install(o->hang, hang);
	(void)syscall(SYS_execveat, binary, "", (char *[]){name, NULL},
	    (char *[]){NULL}, AT_EMPTY_PATH);
	die(path);
}

static void
put_strings(struct buf *b, const char *const *strings, size_t max)
{
	for (size_t i = 0; i < max && strings[i] != NULL; i++)
		check(buf_put_cstring(b, strings[i]) == 0, "pack");
}

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

static void
pack_env(struct buf *out)
{
	scoped_buf base = {.max = 65536}, scrub = {.max = 65536};
	struct env_config c = {0};

	check(env_list_put(env_base_default, &base) == 0, "env base");
	check(env_list_put(env_scrub_default, &scrub) == 0, "env scrub");
	c.base = view(&base);
	c.scrub = view(&scrub);
	check(env_config_pack(&c, out) == 0, "env");
}

static void
send_config(struct driver *d, const struct driver_opts *o)
{
	scoped_buf limits = {.max = 4096}, paths = {.max = 16384};
	scoped_buf protected = {.max = 16384}, env = {.max = 65536};
	struct msg_exec_config m = {.preset = o->preset,
	    .network = o->network,
	    .flags = o->flags,
	    .log_level = getenv("DRIVER_VERBOSE") != NULL ? 3 : 1,
	    .uid_base = 0x7a000000,
	    .umask = 022};
	int fds[4];
	size_t count = 0;

	check(limits_pack(&o->limits, &limits) == 0, "limits");
	put_strings(&paths, o->workspaces, 4);
	put_strings(&protected, o->protected_paths, 4);
	pack_env(&env);
	m.limits = view(&limits);
	m.workspaces = view(&paths);
	m.protected_paths = view(&protected);
	m.env = view(&env);
	for (; count < 4 && o->workspaces[count] != NULL; count++) {
		fds[count] = open(o->workspaces[count],
		    O_PATH | O_DIRECTORY | O_CLOEXEC);
		check(fds[count] >= 0, o->workspaces[count]);
	}
	check(channel_send_exec_config(d->supervisor, &m, fds, count) == 0,
	    "send config");
}

static void
append(char *to, size_t size, size_t *len, const void *from, size_t n)
{
	check(n < size - *len, "output is too long for the driver");
	memcpy(to + *len, from, n);
	*len += n;
	to[*len] = '\0';
}

static void
note_audit(struct driver *d, const struct msg_audit *m)
{
	size_t len = strlen(d->audit);
	struct reader r;
	struct bytes s;

	append(d->audit, sizeof d->audit, &len, m->event.data, m->event.len);
	reader_init(&r, m->pairs.data, m->pairs.len);
	for (size_t i = 0; strings_next(&r, &s); i++) {
		append(d->audit, sizeof d->audit, &len, i % 2 ? "=" : " ", 1);
		append(d->audit, sizeof d->audit, &len, s.data, s.len);
	}
	append(d->audit, sizeof d->audit, &len, "\n", 1);
}

/* Take every message that supervisor has got; the type of the last one that
 * is not AUDIT, MSG_NONE if there was none, MSG_TYPES at the end. */
static enum msg_type
pump_supervisor(struct driver *d)
{
	enum msg_type last = MSG_NONE;
	struct err e = {0};
	struct msg m;
	int r;

	while ((r = channel_recv(d->supervisor, &m, &e)) == 1) {
		if (m.type == MSG_AUDIT) {
			note_audit(d, &m.u.audit);
		} else {
			last = m.type;
			if (m.type == MSG_ROLE_READY) {
				d->ready = m.u.role_ready;
				(void)snprintf(d->probe, sizeof d->probe,
				    "%.*s", (int)d->ready.probe.len,
				    (const char *)d->ready.probe.data);
			}
		}
		msg_done(&m);
	}
	return r == -EAGAIN || last != MSG_NONE ? last : MSG_TYPES;
}

static void
wait_supervisor(struct driver *d, enum msg_type type)
{
	long end = now_ms() + DRIVER_DEADLINE_MS;
	struct pollfd p = {.fd = channel_fd(d->supervisor), .events = POLLIN};

	for (;;) {
		enum msg_type got = pump_supervisor(d);

		if (got == type)
			return;
		check(got == MSG_NONE, "exec has ended");
		check(now_ms() < end, "exec is silent");
		(void)poll(&p, 1, 100);
	}
}

void
driver_attach(struct driver *d, uint32_t generation)
{
	const struct msg_net_attach m = {.generation = generation};
	int fds[2];

	check(channel_pair(fds) == 0, "channel");
	channel_free(d->net);
	d->net = channel_new(fds[0], ROLE_NET, ROLE_EXEC);
	check(channel_send_net_attach(d->supervisor, &m, &fds[1], 1) == 0,
	    "attach");
}

/* Start exec and configure it. */
static void
launch(struct driver *d, const struct driver_opts *o)
{
	int fds[2], hang[2];

	memset(d, 0, sizeof *d);
	check(channel_pair(fds) == 0, "channel");
	check(channel_pair(hang) == 0, "channel");
	d->pid = fork();
	if (d->pid == 0)
		become_exec(o, fds[1], hang[1]);
	(void)close(fds[1]);
	(void)close(hang[1]);
	d->hung = -1;
	if (o->hang != NULL)
		d->hung = hang_take(hang[0]);
	else
		(void)close(hang[0]);
	if (o->refuse != NULL)
		d->answering = hang_answer(d->hung, o->refuse);
	d->supervisor = channel_new(fds[0], ROLE_SUPERVISOR, ROLE_EXEC);
	send_config(d, o);
}

int
driver_refused(struct driver *d, const struct driver_opts *o)
{
	int status;

	launch(d, o);
	wait_supervisor(d, MSG_TYPES); /* its end */
	check(waitpid(d->pid, &status, 0) == d->pid, "waitpid");
	d->pid = 0;
	driver_close(d);
	return status;
}

void
driver_open(struct driver *d, const struct driver_opts *o)
{
	launch(d, o);
	wait_supervisor(d, MSG_ROLE_READY);
	driver_attach(d, 1);
}

void
driver_close(struct driver *d)
{
	channel_free(d->net);
	channel_free(d->supervisor);
	if (d->pid > 0) {
		(void)kill(d->pid, SIGKILL);
		(void)waitpid(d->pid, NULL, 0);
	}
	if (d->answering > 0) {
		(void)kill(d->answering, SIGKILL);
		(void)waitpid(d->answering, NULL, 0);
	}
	fd_close(&d->hung);
	memset(d, 0, sizeof *d);
}

int
driver_stop(struct driver *d)
{
	const struct msg_exec_stop m = {.timeout_ms = 30000};
	int status;

	check(channel_send_exec_stop(d->supervisor, &m, NULL, 0) == 0, "stop");
	wait_supervisor(d, MSG_EXEC_STOPPED);
	check(waitpid(d->pid, &status, 0) == d->pid, "wait");
	d->pid = 0;
	return status;
}

/* --- as net -------------------------------------------------------------- */

void
driver_session(struct driver *d, uint32_t session)
{
	const struct msg_session_open m = {.session = session};

	check(channel_send_session_open(d->net, &m, NULL, 0) == 0, "open");
}

void
driver_session_close(struct driver *d, uint32_t session)
{
	const struct msg_session_close m = {.session = session};

	check(channel_send_session_close(d->net, &m, NULL, 0) == 0, "close");
}

static void
pack_sandbox(const struct driver_start *s, struct buf *out)
{
	scoped_buf entries = {.max = SANDBOX_SPEC_MAX};
	struct sandbox_spec object = {.kind = s->sandbox,
	    .network_enabled = s->sandbox_network_enabled};

	for (size_t i = 0; i < s->entry_count; i++) {
		const struct driver_entry *from = &s->entries[i];
		struct sandbox_entry entry = {.path = from->path,
		    .access = from->access,
		    .skip_missing = from->skip_missing};

		if (from->text != NULL)
			entry.text = bytes_of(from->text);
		check(sandbox_entry_put(&entries, &entry) == 0, "entry");
	}
	object.entries = view(&entries);
	check(sandbox_spec_pack(&object, out) == 0, "sandbox");
}

void
driver_send_start(struct driver *d, uint32_t session,
    const struct driver_start *s, struct driver_process *p)
{
	scoped_buf argv = {.max = PROCESS_SPEC_MAX};
	scoped_buf env = {.max = PROCESS_SPEC_MAX};
	scoped_buf packed = {.max = PROCESS_SPEC_MAX};
	scoped_buf sandbox = {.max = SANDBOX_SPEC_MAX};
	struct spec spec = {.tty = s->tty,
	    .pipe_stdin = s->pipe_stdin,
	    .managed_network = s->managed_network,
	    .network_proxy = s->network_proxy};
	struct msg_process_start m = {.number = ++d->number,
	    .session = session};

	driver_process_init(p);
	put_strings(&argv, s->argv, 16);
	put_strings(&env, s->env, 16);
	if (!s->no_path)
		put_strings(&env,
		    (const char *[]){"PATH",
			"/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
		    2);
	spec.argv = view(&argv);
	spec.env = view(&env);
	spec.cwd = bytes_of(s->cwd != NULL ? s->cwd : "/");
	spec.has_arg0 = s->arg0 != NULL;
	if (spec.has_arg0)
		spec.arg0 = bytes_of(s->arg0);
	pack_sandbox(s, &sandbox);
	spec.sandbox = view(&sandbox);
	check(spec_pack(&spec, &packed) == 0, "spec");
	m.spec = view(&packed);
	check(channel_send_process_start(d->net, &m, NULL, 0) == 0, "start");
}

static void
take_streams(struct driver_process *p, struct msg *m)
{
	size_t i = 0;

	p->lease = m->u.process_started.lease;
	if (m->u.process_started.has_stdin)
		p->fds[0] = msg_take_fd(m, i++);
	p->fds[1] = msg_take_fd(m, i++);
	if (!m->u.process_started.tty)
		p->fds[2] = msg_take_fd(m, i);
}

/* What a message says of p; messages of other processes are dropped. */
static void
note(struct driver_process *p, struct msg *m)
{
	switch ((int)m->type) {
	case MSG_PROCESS_STARTED:
		take_streams(p, m);
		break;
	case MSG_PROCESS_REFUSED:
		p->refused = true;
		p->reason = m->u.process_refused.reason;
		(void)snprintf(p->text, sizeof p->text, "%.*s",
		    (int)m->u.process_refused.text.len,
		    (const char *)m->u.process_refused.text.data);
		break;
	case MSG_PROCESS_FAILED:
		p->failed = true;
		p->stage = m->u.process_failed.stage;
		p->errnum = m->u.process_failed.errnum;
		break;
	case MSG_PROCESS_EXITED:
		if (m->u.process_exited.lease == p->lease) {
			p->exited = true;
			p->status = m->u.process_exited.status;
		}
		break;
	case MSG_PROCESS_GONE:
		if (m->u.process_gone.lease == p->lease)
			p->gone = true;
		break;
	default:
		break;
	}
}

static void
read_stream(int *fd, char *to, size_t size, size_t *len)
{
	char data[4096];
	ssize_t n;

	if (*fd < 0)
		return;
	while ((n = read(*fd, data, sizeof data)) > 0)
		append(to, size, len, data, (size_t)n);
	if (n == 0 || (n < 0 && errno == EIO)) {
		(void)close(*fd);
		*fd = -1;
	}
}

void
driver_round(struct driver *d, struct driver_process *p)
{
	struct pollfd fds[] = {
	    {.fd = channel_fd(d->net), .events = POLLIN},
	    {.fd = p->fds[1], .events = POLLIN},
	    {.fd = p->fds[2], .events = POLLIN},
	    {.fd = channel_fd(d->supervisor), .events = POLLIN},
	};
	struct err e = {0};
	struct msg m;
	int r;

	(void)poll(fds, 4, 100);
	(void)pump_supervisor(d);
	while ((r = channel_recv(d->net, &m, &e)) == 1) {
		note(p, &m);
		msg_done(&m);
	}
	check(r == -EAGAIN, "exec has closed net's channel");
	read_stream(&p->fds[1], p->out, sizeof p->out, &p->out_len);
	read_stream(&p->fds[2], p->err, sizeof p->err, &p->err_len);
}

void
driver_wait_answer(struct driver *d, struct driver_process *p)
{
	long end = now_ms() + DRIVER_DEADLINE_MS;

	while (p->lease == 0 && !p->refused && !p->failed) {
		check(now_ms() < end, "no answer to a start");
		driver_round(d, p);
	}
}

void
driver_wait_exit(struct driver *d, struct driver_process *p)
{
	long end = now_ms() + DRIVER_DEADLINE_MS;

	driver_wait_answer(d, p);
	if (p->refused || p->failed)
		return;
	while (!p->exited || p->fds[1] >= 0 || p->fds[2] >= 0) {
		check(now_ms() < end, "no exit");
		driver_round(d, p);
	}
}

void
driver_wait_gone(struct driver *d, struct driver_process *p)
{
	long end = now_ms() + DRIVER_DEADLINE_MS;

	driver_wait_answer(d, p);
	if (p->refused || p->failed)
		return;
	while (!p->gone) {
		check(now_ms() < end, "not gone");
		driver_round(d, p);
	}
	driver_round(d, p);
}

void
driver_wait_output(struct driver *d, struct driver_process *p, const char *text)
{
	long end = now_ms() + DRIVER_DEADLINE_MS;

	driver_wait_answer(d, p);
	while (strstr(p->out, text) == NULL) {
		check(!p->failed && !p->refused, "not started");
		check(now_ms() < end, "output does not come");
		driver_round(d, p);
	}
}

void
driver_process_init(struct driver_process *p)
{
	memset(p, 0, sizeof *p);
	for (int i = 0; i < 3; i++)
		p->fds[i] = -1;
}

void
driver_process_done(struct driver_process *p)
{
	for (int i = 0; i < 3; i++)
		fd_close(&p->fds[i]);
}

void
driver_sh(struct driver *d, uint32_t session, const char *script,
    struct driver_process *p)
{
	const struct driver_start s = {.argv = {"sh", "-c", script}};

	driver_send_start(d, session, &s, p);
	driver_wait_gone(d, p);
	driver_process_done(p);
}

void
driver_expect(struct driver *d, uint32_t session, const char *script,
    const char *out)
{
	struct driver_process p;

	driver_sh(d, session, script, &p);
	if (!p.exited || p.status != 0 || strcmp(p.out, out) != 0) {
		(void)fprintf(stderr,
		    "script: %s\nfailed %d (%s %u), refused %d (%s), status "
		    "%#x\nstdout: %s\nwanted: %s\nstderr: %s\n",
		    script, p.failed, stage_words(p.stage), p.errnum, p.refused,
		    p.text, p.status, p.out, out, p.err);
		abort();
	}
}
