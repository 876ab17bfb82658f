#include "net/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

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

void
process_forget_write_id(struct process *p)
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
	while (!TAILQ_EMPTY(&p->write_ids))
		process_forget_write_id(p);
	TAILQ_REMOVE(&s->processes, p, link);
	if (p->state == PROCESS_CLOSED) {
		TAILQ_REMOVE(&s->net->finished, p, finished_link);
		s->net->finished_count--;
		s->net->finished_bytes -= p->output.kept;
	} else {
		s->process_count--;
		s->net->process_count--;
	}
	output_done(&p->output);
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

/* From now on p only waits to be read, or to make room for others. */
static void
keep_for_reading(struct process *p)
{
	struct net *n = p->session->net;
	const struct limits *l = &n->config.limits;

	while (!TAILQ_EMPTY(&p->write_ids))
		process_forget_write_id(p);
	p->session->process_count--;
	n->process_count--;
	TAILQ_INSERT_TAIL(&n->finished, p, finished_link);
	n->finished_count++;
	n->finished_bytes += p->output.kept;
	timer_set(n->lws, &p->retention, l->process_retention,
	    retention_passed);
	while (TAILQ_FIRST(&n->finished) != p &&
	       (n->finished_count > l->finished_max ||
		   n->finished_bytes > l->finished_output))
		process_free(TAILQ_FIRST(&n->finished));
}

/* After the exit and the end of every stream comes the last event. */
static void
audit_output(const struct process *p)
{
	char session[16], lease[16], bytes[24];

	(void)snprintf(session, sizeof session, "%u", p->session->id.v);
	(void)snprintf(lease, sizeof lease, "%u", p->lease.v);
	(void)snprintf(bytes, sizeof bytes, "%" PRIu64, p->output.bytes);
	net_audit(p->session->net, "process_output",
	    (const char *[]){"session", session, "lease", lease, "bytes", bytes,
		"denied", p->sandbox_denied ? "yes" : "no", NULL});
}

static void
close_if_over(struct process *p)
{
	struct jsonw w;
	struct buf text;
	uint64_t seq;

	if (p->state != PROCESS_EXITED || p->streams[0].open ||
	    p->streams[1].open)
		return;
	p->state = PROCESS_CLOSED;
	input_close(&p->input);
	audit_output(p);
	seq = output_event(&p->output);
	if (p->session->connection != NULL) {
		notify_begin(p, "process/closed", seq, &w, &text);
		notify_end(p, &w);
	}
	process_wake(p);
	keep_for_reading(p);
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
	/* What it wrote before its end is told before its end, as far as a
	 * pipe holds it. */
	stream_catch_up(&p->streams[0]);
	stream_catch_up(&p->streams[1]);
	p->state = PROCESS_EXITED;
	p->exit_code = exit_code_of(m->status, p->tty);
	p->sandbox_denied =
	    WIFSIGNALED((int)m->status) && WTERMSIG((int)m->status) == SIGSYS;
	p->failure = end_reason_words(m->reason);
	seq = output_event(&p->output);
	if (p->session->connection != NULL) {
		notify_begin(p, "process/exited", seq, &w, &text);
		jsonw_key(&w, "exitCode");
		jsonw_int(&w, p->exit_code);
		jsonw_key(&w, "sandboxDenied");
		jsonw_bool(&w, p->sandbox_denied);
		notify_end(p, &w);
	}
	process_wake(p);
	close_if_over(p);
}
