#include "net/process.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "base/base64.h"
#include "base/log.h"
#include "net/method.h"

struct process *
process_find(struct session *s, struct bytes id)
{
	struct process *p;

	TAILQ_FOREACH (p, &s->processes, link)
		if (bytes_equal(p->id, id))
			return p;
	return NULL;
}

static struct process *
by_lease(struct net *n, uint32_t lease)
{
	struct session *s;
	struct process *p;

	TAILQ_FOREACH (s, &n->sessions, link)
		TAILQ_FOREACH (p, &s->processes, link)
			if (p->lease.v == lease)
				return p;
	return NULL;
}

void
process_unknown(struct connection *c, const struct rpc_id *id,
    struct bytes process_id)
{
	rpc_error(c, id, RPC_INVALID_REQUEST, "unknown process id %.*s",
	    (int)process_id.len, (const char *)process_id.data);
}

bool
process_is_live(const struct process *p)
{
	return p->state != PROCESS_CLOSED;
}

static void
forget_write_id(struct process *p)
{
	struct write_id *w = TAILQ_FIRST(&p->write_ids);

	TAILQ_REMOVE(&p->write_ids, w, link);
	p->write_id_count--;
	free(w);
}

void
process_free(struct process *p)
{
	struct session *s = p->session;
	union {
		const uint8_t *data;
		void *heap;
	} id = {.data = p->id.data};

	timer_clear(&p->retention);
	process_drop_waiters(p);
	rpc_later_done(s->net, &p->start);
	for (size_t i = 0; i < 2; i++)
		stream_close(&p->streams[i]);
	input_close(&p->input);
	output_done(&p->output);
	while (!TAILQ_EMPTY(&p->write_ids))
		forget_write_id(p);
	TAILQ_REMOVE(&s->processes, p, link);
	s->process_count--;
	s->net->process_count--;
	free(id.heap);
	free(p);
}

void
process_detach(struct process *p)
{
	process_drop_waiters(p);
	rpc_later_done(p->session->net, &p->start);
	process_resume_streams(p);
}

void
process_resume_streams(struct process *p)
{
	for (size_t i = 0; i < 2; i++)
		stream_resume(&p->streams[i]);
}

/* Start the params of a notification of p: {"processId":...,"seq":... */
static void
notify_begin(struct process *p, const char *method, uint64_t seq,
    struct jsonw *w, struct buf *text)
{
	rpc_notify_begin(p->session->connection, method, w, text);
	jsonw_open(w, '{');
	jsonw_key(w, "processId");
	jsonw_string(w, p->id);
	jsonw_key(w, "seq");
	jsonw_uint(w, seq);
}

static void
notify_end(struct process *p, struct jsonw *w)
{
	jsonw_close(w, '}');
	rpc_result_send(p->session->connection, w);
}

void
process_on_output(struct process *p, enum stream_kind kind, struct bytes data)
{
	uint64_t seq = output_append(&p->output, kind, data);
	struct jsonw w;
	struct buf text;

	if (p->session->connection != NULL) {
		notify_begin(p, "process/output", seq, &w, &text);
		jsonw_key(&w, "stream");
		jsonw_text(&w, stream_kind_name(kind));
		jsonw_key(&w, "chunk");
		jsonw_base64(&w, data);
		notify_end(p, &w);
	}
	process_wake(p);
}

static void
retention_passed(struct timer *t)
{
	process_free(container_of(t, struct process, retention));
}

/* After the exit and the end of every stream comes the last event. */
static void
close_if_over(struct process *p)
{
	struct net *n = p->session->net;
	struct jsonw w;
	struct buf text;
	uint64_t seq;

	if (p->state != PROCESS_EXITED || p->streams[0].open ||
	    p->streams[1].open)
		return;
	p->state = PROCESS_CLOSED;
	input_close(&p->input);
	seq = output_event(&p->output);
	if (p->session->connection != NULL) {
		notify_begin(p, "process/closed", seq, &w, &text);
		notify_end(p, &w);
	}
	timer_set(n->lws, &p->retention, n->config.limits.process_retention,
	    retention_passed);
	process_wake(p);
}

void
process_on_eof(struct process *p)
{
	close_if_over(p);
}

/* 128 + N for signal N, as shells do; a terminal's processes get 1, as the
 * references' terminal libraries do. */
static int
exit_code_of(uint32_t status, bool tty)
{
	int raw = (int)status;

	if (WIFEXITED(raw))
		return WEXITSTATUS(raw);
	return tty ? 1 : 128 + WTERMSIG(raw);
}

void
process_on_exited(struct net *n, const struct msg_process_exited *m)
{
	struct process *p = by_lease(n, m->lease);
	struct jsonw w;
	struct buf text;
	uint64_t seq;

	/* Its session may have ended while the message was on its way. */
	if (p == NULL || p->state != PROCESS_RUNNING)
		return;
	p->state = PROCESS_EXITED;
	p->exit_code = exit_code_of(m->status, p->tty);
	seq = output_event(&p->output);
	if (p->session->connection != NULL) {
		notify_begin(p, "process/exited", seq, &w, &text);
		jsonw_key(&w, "exitCode");
		jsonw_int(&w, p->exit_code);
		jsonw_key(&w, "sandboxDenied");
		jsonw_bool(&w, false);
		notify_end(p, &w);
	}
	process_wake(p);
	close_if_over(p);
}

static uint64_t
hash_of(struct bytes s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ s.data[i]) * UINT64_C(0x100000001b3);
	return h;
}

static bool
write_id_seen(const struct process *p, struct bytes id)
{
	uint64_t hash = hash_of(id);
	const struct write_id *w;

	TAILQ_FOREACH (w, &p->write_ids, link)
		if (w->hash == hash &&
		    bytes_equal((struct bytes){w->data, w->len}, id))
			return true;
	return false;
}

static void
remember_write_id(struct process *p, struct bytes id)
{
	struct write_id *w = malloc(sizeof *w + id.len);

	/* Unremembered, a resend would be written twice; short of memory
	 * that is the lesser evil. */
	if (w == NULL)
		return;
	w->hash = hash_of(id);
	w->len = id.len;
	memcpy(w->data, id.data, id.len);
	TAILQ_INSERT_TAIL(&p->write_ids, w, link);
	if (++p->write_id_count > WRITE_IDS_MAX)
		forget_write_id(p);
}

static void
reply_status(struct connection *c, const struct rpc_id *id, const char *status)
{
	struct jsonw w;
	struct buf text;

	rpc_result_begin(c, id, &w, &text);
	jsonw_open(&w, '{');
	jsonw_key(&w, "status");
	jsonw_text(&w, status);
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
}

/* Write decoded bytes to p and answer. */
static void
write_to(struct connection *c, const struct rpc_id *id, struct process *p,
    struct bytes data, struct bytes write_id)
{
	bool named = write_id.data != NULL;
	int r;

	if (named && write_id_seen(p, write_id)) {
		reply_status(c, id, "accepted");
		return;
	}
	r = input_write(&p->input, data);
	if (r == -EMSGSIZE || r == -ENOMEM) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "busy: the process has not read what was written before; "
		    "at most %llu bytes wait for it, try again later",
		    (unsigned long long)c->net->config.limits.queued_write_max);
		return;
	}
	if (r == 0 && named)
		remember_write_id(p, write_id);
	reply_status(c, id, r == 0 ? "accepted" : "stdinClosed");
}

void
on_process_write(struct connection *c, const struct rpc_id *id,
    struct params_process_write *p)
{
	struct process *process = process_find(c->session, p->process_id);
	scoped_free uint8_t *data = NULL;
	size_t len, bad = 0;

	if (p->write_id.data != NULL && p->write_id.len == 0) {
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "writeId must not be empty");
		return;
	}
	data = malloc(base64_decoded_max(p->chunk.len) + 1);
	if (data == NULL) {
		rpc_error(c, id, RPC_INTERNAL, "out of memory");
		return;
	}
	if (base64_decode(data, (const char *)p->chunk.data, p->chunk.len, &len,
		&bad) < 0) {
		if (bad < p->chunk.len)
			rpc_error(c, id, RPC_INVALID_PARAMS,
			    "chunk: Invalid symbol %u, offset %zu.",
			    p->chunk.data[bad], bad);
		else
			rpc_error(c, id, RPC_INVALID_PARAMS,
			    "chunk: Invalid input length: %zu", p->chunk.len);
		return;
	}
	if (process == NULL)
		reply_status(c, id, "unknownProcess");
	else if (process->state == PROCESS_STARTING)
		reply_status(c, id, "starting");
	else
		write_to(c, id, process,
		    (struct bytes){.data = data, .len = len}, p->write_id);
}

void
on_process_close_stdin(struct connection *c, const struct rpc_id *id,
    struct params_process_close_stdin *p)
{
	struct process *process = process_find(c->session, p->process_id);

	if (process == NULL) {
		process_unknown(c, id, p->process_id);
		return;
	}
	if (process->tty) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "process has a terminal: its end of input is byte 4, sent "
		    "by process/write");
		return;
	}
	input_finish(&process->input);
	rpc_result_empty(c, id);
}

void
on_process_resize(struct connection *c, const struct rpc_id *id,
    struct params_process_resize *p)
{
	struct process *process = process_find(c->session, p->process_id);

	if (p->rows.v == 0 || p->cols.v == 0) {
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "rows and cols must be between 1 and %d", TTY_SIZE_MAX);
		return;
	}
	if (process == NULL) {
		process_unknown(c, id, p->process_id);
		return;
	}
	if (!process->tty) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "process has no terminal");
		return;
	}
	if (process->state == PROCESS_RUNNING &&
	    net_exec(c->net, process_resize, .session = c->session->id.v,
		.lease = process->lease.v, .rows = (uint32_t)p->rows.v,
		.cols = (uint32_t)p->cols.v) < 0) {
		rpc_error(c, id, RPC_INVALID_REQUEST, "busy: try again later");
		return;
	}
	rpc_result_empty(c, id);
}

void
on_process_signal(struct connection *c, const struct rpc_id *id,
    struct params_process_signal *p)
{
	struct process *process = process_find(c->session, p->process_id);

	if (!bytes_is(p->signal, "interrupt")) {
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "unknown variant for `signal`, expected `interrupt`");
		return;
	}
	if (process != NULL && process->state == PROCESS_STARTING)
		process->interrupt_wanted = true;
	if (process != NULL && process->state == PROCESS_RUNNING &&
	    net_exec(c->net, process_signal, .session = c->session->id.v,
		.lease = process->lease.v, .signum = 2 /* SIGINT */) < 0) {
		rpc_error(c, id, RPC_INVALID_REQUEST, "busy: try again later");
		return;
	}
	rpc_result_empty(c, id);
}

void
on_process_terminate(struct connection *c, const struct rpc_id *id,
    struct params_process_terminate *p)
{
	struct process *process = process_find(c->session, p->process_id);
	bool running = false;
	struct jsonw w;
	struct buf text;

	if (process != NULL && process->state == PROCESS_STARTING)
		process->terminate_wanted = running = true;
	else if (process != NULL && process->state != PROCESS_CLOSED) {
		/* After the exit this ends what still holds the streams. */
		running = process->state == PROCESS_RUNNING;
		if (net_exec(c->net, process_terminate,
			.session = c->session->id.v,
			.lease = process->lease.v) < 0) {
			rpc_error(c, id, RPC_INVALID_REQUEST,
			    "busy: try again later");
			return;
		}
	}
	rpc_result_begin(c, id, &w, &text);
	jsonw_open(&w, '{');
	jsonw_key(&w, "running");
	jsonw_bool(&w, running);
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
}
