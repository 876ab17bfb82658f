#include "cli/relay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "base/base64.h"
#include "base/clock.h"
#include "cli/outlet.h"

/* Bytes of one process/write, and how many may wait for their answer. */
#define WRITE_SIZE    (32u * 1024u)
#define WRITES_MAX    8
/* For the answer to process/terminate before leaving anyhow. */
#define TERMINATE_MS  2000
/* Exit status of a command that signal n ended, as shells tell it. */
#define STATUS_SIGNAL 128

/* What end of input is on a terminal that is read line by line. */
static const uint8_t end_of_input[] = {0x04};

enum { WATCH_SIGNALS, WATCH_STDIN, WATCH_STDOUT, WATCH_STDERR, WATCH_COUNT };

struct watch {
	int fd;
	uint32_t events;
	bool active; /* in the epoll set */
	bool always; /* a regular file: epoll refuses it, it is always ready */
};

struct relay {
	const struct relay_opts *o;
	struct watch watches[WATCH_COUNT];
	struct outlet out, err;
	int64_t writes[WRITES_MAX]; /* requests without an answer; 0: free */
	uint64_t write_count;
	bool stdin_done;  /* nothing more is to be read */
	bool stdin_ended; /* its end must be told when all writes are through */
	bool interrupted;
	bool exited, closed;
	int status;
	int64_t terminate_id; /* its request, or 0 */
	int64_t leave_at_ms;
	bool leaving;
	uint8_t input[WRITE_SIZE];
	char encoded[(WRITE_SIZE + 2) / 3 * 4]; /* the same in base64 */
};

/* Have w in the epoll set exactly while it is wanted: a hang-up is reported
 * even when no event is asked for. */
static int
watch_set(const struct relay *r, struct watch *w, bool wanted)
{
	struct epoll_event ev = {.events = w->events};
	uint32_t index = (uint32_t)(w - r->watches);

	ev.data.u32 = index;
	if (w->always || wanted == w->active)
		return 0;
	if (epoll_ctl(r->o->epoll_fd, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
		w->fd, &ev) == 0) {
		w->active = wanted;
		return 0;
	}
	if (errno != EPERM)
		return -errno;
	w->always = true;
	return 0;
}

static bool
has_free_write(const struct relay *r)
{
	for (size_t i = 0; i < WRITES_MAX; i++)
		if (r->writes[i] == 0)
			return true;
	return false;
}

static bool
has_no_write(const struct relay *r)
{
	for (size_t i = 0; i < WRITES_MAX; i++)
		if (r->writes[i] != 0)
			return false;
	return true;
}

static bool
wants_stdin(const struct relay *r)
{
	return !r->stdin_done && has_free_write(r);
}

static int
update_watches(struct relay *r, struct err *e)
{
	const bool wanted[WATCH_COUNT] = {
	    [WATCH_SIGNALS] = true,
	    [WATCH_STDIN] = wants_stdin(r),
	    [WATCH_STDOUT] = !outlet_is_empty(&r->out),
	    [WATCH_STDERR] = !outlet_is_empty(&r->err),
	};

	for (size_t i = 0; i < WATCH_COUNT; i++) {
		int n = watch_set(r, &r->watches[i], wanted[i]);

		if (n < 0)
			return err_errno(e, -n, "cannot watch a descriptor");
	}
	return 0;
}

/* Requests whose answer nobody needs. */
static int
send_request(struct relay *r, const char *method, json_t *params, struct err *e)
{
	int64_t id;

	return client_send(r->o->client, method, params, &id, e);
}

static json_t *
process_params(const struct relay *r)
{
	return json_pack("{s:s}", "processId", r->o->process_id);
}

static int
send_write(struct relay *r, const uint8_t *data, size_t len, struct err *e)
{
	char number[24];
	int64_t *slot = r->writes;

	while (*slot != 0)
		slot++;
	(void)snprintf(number, sizeof number, "%llu",
	    (unsigned long long)++r->write_count);
	return client_send(r->o->client, "process/write",
	    json_pack("{s:s,s:s%,s:s}", "processId", r->o->process_id, "chunk",
		r->encoded, base64_encode(r->encoded, data, len), "writeId",
		number),
	    slot, e);
}

static int
read_stdin(struct relay *r, struct err *e)
{
	ssize_t n = read(STDIN_FILENO, r->input, sizeof r->input);

	if (n > 0)
		return send_write(r, r->input, (size_t)n, e);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	r->stdin_done = true;
	r->stdin_ended = true;
	return 0;
}

/* Tell the end of input once what came before it is through. */
static int
end_stdin(struct relay *r, struct err *e)
{
	if (!r->stdin_ended || !has_no_write(r))
		return 0;
	r->stdin_ended = false;
	if (r->exited)
		return 0;
	if (r->o->tty)
		return send_write(r, end_of_input, sizeof end_of_input, e);
	if (r->o->can_close_stdin)
		return send_request(r, "process/closeStdin", process_params(r),
		    e);
	(void)fputs("sallyport exec: this server cannot pass on the end of "
		    "input\n",
	    stderr);
	return 0;
}

static int
send_size(struct relay *r, struct err *e)
{
	unsigned int rows, cols;

	if (!r->o->tty || !r->o->can_resize || r->exited ||
	    !terminal_size(STDIN_FILENO, &rows, &cols))
		return 0;
	return send_request(r, "process/resize",
	    json_pack("{s:s,s:i,s:i}", "processId", r->o->process_id, "rows",
		(int)rows, "cols", (int)cols),
	    e);
}

/* End the process and leave with status, without waiting for its output. */
static int
terminate(struct relay *r, int status, struct err *e)
{
	if (r->terminate_id != 0) {
		r->leaving = true;
		return 0;
	}
	r->status = status;
	r->leave_at_ms = clock_ms() + TERMINATE_MS;
	return client_send(r->o->client, "process/terminate", process_params(r),
	    &r->terminate_id, e);
}

static int
interrupt(struct relay *r, struct err *e)
{
	/* After its exit only background descendants are left to wait for. */
	if (r->exited)
		return terminate(r, r->status, e);
	if (r->interrupted)
		return terminate(r, STATUS_SIGNAL + SIGINT, e);
	r->interrupted = true;
	return send_request(r, "process/signal",
	    json_pack("{s:s,s:s}", "processId", r->o->process_id, "signal",
		"interrupt"),
	    e);
}

static int
read_signal(struct relay *r, struct err *e)
{
	struct signalfd_siginfo info;
	ssize_t n = read(r->watches[WATCH_SIGNALS].fd, &info, sizeof info);

	if (n != sizeof info)
		return 0;
	switch (info.ssi_signo) {
	case SIGINT:
		return interrupt(r, e);
	case SIGWINCH:
		return send_size(r, e);
	case SIGCONT:
		terminal_resume(r->o->terminal);
		return send_size(r, e);
	default:
		return terminate(r, STATUS_SIGNAL + (int)info.ssi_signo, e);
	}
}

static int
flush_outlet(struct relay *r, struct outlet *o, struct err *e)
{
	int n = outlet_flush(o);

	if (n < 0)
		return err_errno(e, -n, "write to descriptor %d", o->fd);
	/* As a program whose reader has gone. */
	if (o->broken && r->terminate_id == 0)
		return terminate(r, STATUS_SIGNAL + SIGPIPE, e);
	return 0;
}

static int
on_ready(struct relay *r, uint32_t index, struct err *e)
{
	switch (index) {
	case WATCH_SIGNALS:
		return read_signal(r, e);
	case WATCH_STDIN:
		return wants_stdin(r) ? read_stdin(r, e) : 0;
	case WATCH_STDOUT:
		return flush_outlet(r, &r->out, e);
	default:
		return flush_outlet(r, &r->err, e);
	}
}

static int
take_events(struct relay *r, struct err *e)
{
	struct epoll_event events[WATCH_COUNT];
	int count = epoll_wait(r->o->epoll_fd, events, WATCH_COUNT, 0);
	int n = 0;

	for (int i = 0; n == 0 && i < count; i++)
		n = on_ready(r, events[i].data.u32, e);
	if (n == 0 && r->watches[WATCH_STDIN].always)
		n = on_ready(r, WATCH_STDIN, e);
	return n;
}

static int
on_output(struct relay *r, const struct message *m, struct err *e)
{
	const char *stream, *chunk;
	struct outlet *o;
	size_t len;
	int n;

	if (json_unpack(m->params, "{s:s,s:s%}", "stream", &stream, "chunk",
		&chunk, &len) < 0)
		return err_set(e, EPROTO,
		    "process/output: a member is missing");
	o = strcmp(stream, "stderr") == 0 ? &r->err : &r->out;
	n = outlet_put_base64(o, chunk, len);
	if (n < 0)
		return err_errno(e, -n, "process/output");
	return flush_outlet(r, o, e);
}

static int
on_exited(struct relay *r, const struct message *m, struct err *e)
{
	int status;

	if (json_unpack(m->params, "{s:i}", "exitCode", &status) < 0)
		return err_set(e, EPROTO, "process/exited: no exitCode");
	r->exited = true;
	r->stdin_done = true;
	/* Who asked for its end has chosen the status to leave with. */
	if (r->terminate_id == 0)
		r->status = status;
	return 0;
}

static int
on_notification(struct relay *r, const struct message *m, struct err *e)
{
	if (strcmp(m->method, "process/output") == 0)
		return on_output(r, m, e);
	if (strcmp(m->method, "process/exited") == 0)
		return on_exited(r, m, e);
	if (strcmp(m->method, "process/closed") == 0)
		r->closed = true;
	return 0;
}

static void
on_answer(struct relay *r, const struct message *m)
{
	const char *status =
	    json_string_value(json_object_get(m->result, "status"));

	if (r->terminate_id != 0 && m->id == r->terminate_id)
		r->leaving = true;
	for (size_t i = 0; i < WRITES_MAX; i++) {
		if (r->writes[i] == 0 || r->writes[i] != m->id)
			continue;
		r->writes[i] = 0;
		/* Nobody reads it any more. */
		if (status == NULL || strcmp(status, "accepted") != 0)
			r->stdin_done = true;
	}
}

static int
take_messages(struct relay *r, struct err *e)
{
	int n = 0;

	while (n == 0 && !outlet_is_full(&r->out) && !outlet_is_full(&r->err)) {
		scoped_message m = {0};

		if (!client_next(r->o->client, &m))
			break;
		if (m.method != NULL)
			n = on_notification(r, &m, e);
		else
			on_answer(r, &m);
	}
	return n;
}

static int
wait_timeout(const struct relay *r)
{
	int64_t left = r->leave_at_ms - clock_ms();

	if (r->watches[WATCH_STDIN].always && wants_stdin(r))
		return 0;
	if (r->terminate_id == 0)
		return -1;
	return left > 0 ? (int)left : 0;
}

static bool
is_done(const struct relay *r)
{
	if (r->leaving ||
	    (r->terminate_id != 0 && clock_ms() >= r->leave_at_ms))
		return true;
	return r->exited && r->closed && outlet_is_empty(&r->out) &&
	       outlet_is_empty(&r->err);
}

static int
relay_loop(struct relay *r, struct err *e)
{
	int n = send_size(r, e);

	/* What came with the answer to the start wakes nobody any more. */
	if (n == 0)
		n = take_messages(r, e);
	while (n == 0 && !is_done(r)) {
		n = update_watches(r, e);
		if (n < 0)
			break;
		client_wait(r->o->client, wait_timeout(r));
		n = take_events(r, e);
		if (n == 0)
			n = take_messages(r, e);
		if (n == 0)
			n = end_stdin(r, e);
		/* A lost connection matters only before the end, which a
		 * server may tell in part. */
		if (n == 0 && !(r->closed && r->exited))
			n = client_check(r->o->client, e);
	}
	return n;
}

static int
open_signals(struct err *e)
{
	static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH,
	    SIGCONT};
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		(void)sigaddset(&set, passed[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_errno(e, errno, "signals") : fd;
}

static struct relay *
relay_new(const struct relay_opts *opts, int signals)
{
	struct relay *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	r->o = opts;
	r->watches[WATCH_SIGNALS] =
	    (struct watch){.fd = signals, .events = EPOLLIN};
	r->watches[WATCH_STDIN] =
	    (struct watch){.fd = STDIN_FILENO, .events = EPOLLIN};
	r->watches[WATCH_STDOUT] =
	    (struct watch){.fd = STDOUT_FILENO, .events = EPOLLOUT};
	r->watches[WATCH_STDERR] =
	    (struct watch){.fd = STDERR_FILENO, .events = EPOLLOUT};
	outlet_init(&r->out, STDOUT_FILENO);
	outlet_init(&r->err, STDERR_FILENO);
	return r;
}

static void
relay_free(struct relay *r)
{
	for (size_t i = 0; i < WATCH_COUNT; i++)
		(void)watch_set(r, &r->watches[i], false);
	outlet_done(&r->out);
	outlet_done(&r->err);
	free(r);
}

int
relay_run(const struct relay_opts *opts, int *status, struct err *e)
{
	scoped_fd signals = open_signals(e);
	struct relay *r;
	int n;

	if (signals < 0)
		return signals;
	n = opts->tty ? terminal_raw(opts->terminal, STDIN_FILENO, e) : 0;
	if (n < 0)
		return n;
	r = relay_new(opts, signals);
	if (r == NULL)
		return err_set(e, ENOMEM, "out of memory");
	n = relay_loop(r, e);
	if (n == 0)
		*status = r->status;
	relay_free(r);
	return n;
}
