/* process/read: at once or as a long poll. */
#include "net/method.h"
#include "net/process.h"

/* Whether there is something that a reader at after_seq has not seen. */
static bool
is_ready(const struct process *p, uint64_t after_seq)
{
	if (p->state == PROCESS_CLOSED)
		return true;
	if (p->state == PROCESS_EXITED && after_seq < p->output.next_seq - 1)
		return true;
	return output_after(&p->output, after_seq) != NULL;
}

static void
write_chunk(struct jsonw *w, const struct chunk *c)
{
	jsonw_open(w, '{');
	jsonw_key(w, "seq");
	jsonw_uint(w, c->seq);
	jsonw_key(w, "stream");
	jsonw_text(w, stream_kind_name(c->kind));
	jsonw_key(w, "chunk");
	jsonw_base64(w, (struct bytes){.data = c->data, .len = c->len});
	jsonw_close(w, '}');
}

/*
 * Write the chunks after after_seq: the first whatever its size, others while
 * the sum stays within max_bytes. Returns the cursor to go on from.
 */
static uint64_t
write_chunks(struct jsonw *w, const struct process *p, uint64_t after_seq,
    uint64_t max_bytes)
{
	const struct chunk *c = output_after(&p->output, after_seq);
	uint64_t sum = 0, last = after_seq, next = p->output.next_seq;

	jsonw_open(w, '[');
	for (bool first = true; c != NULL; c = TAILQ_NEXT(c, link)) {
		if (!first && (sum >= max_bytes || c->len > max_bytes - sum)) {
			next = last + 1;
			break;
		}
		write_chunk(w, c);
		sum += c->len;
		last = c->seq;
		first = false;
		if (sum >= max_bytes) {
			next = last + 1;
			break;
		}
	}
	jsonw_close(w, ']');
	return next;
}

static void
answer(struct connection *c, const struct rpc_id *id, const struct process *p,
    uint64_t after_seq, uint64_t max_bytes)
{
	bool exited = p->state >= PROCESS_EXITED;
	uint64_t next;
	struct jsonw w;
	struct buf text;

	rpc_result_begin(c, id, &w, &text);
	jsonw_open(&w, '{');
	jsonw_key(&w, "chunks");
	next = write_chunks(&w, p, after_seq, max_bytes);
	jsonw_key(&w, "nextSeq");
	jsonw_uint(&w, next);
	jsonw_key(&w, "exited");
	jsonw_bool(&w, exited);
	jsonw_key(&w, "exitCode");
	if (exited)
		jsonw_int(&w, p->exit_code);
	else
		jsonw_null(&w);
	jsonw_key(&w, "closed");
	jsonw_bool(&w, p->state == PROCESS_CLOSED);
	jsonw_key(&w, "failure");
	if (p->failure != NULL)
		jsonw_text(&w, p->failure);
	else
		jsonw_null(&w);
	jsonw_key(&w, "sandboxDenied");
	jsonw_bool(&w, p->sandbox_denied);
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
}

static void
waiter_free(struct waiter *waiter)
{
	struct process *p = waiter->process;

	timer_clear(&waiter->timer);
	rpc_later_done(p->session->net, &waiter->later);
	TAILQ_REMOVE(&p->waiters, waiter, link);
	free(waiter);
}

static void
waiter_answer(struct waiter *waiter)
{
	struct connection *c = waiter->process->session->connection;

	if (c != NULL)
		answer(c, &waiter->later.id, waiter->process, waiter->after_seq,
		    waiter->max_bytes);
	waiter_free(waiter);
}

void
process_wake(struct process *p)
{
	struct waiter *waiter = TAILQ_FIRST(&p->waiters);

	while (waiter != NULL) {
		struct waiter *next = TAILQ_NEXT(waiter, link);

		if (is_ready(p, waiter->after_seq))
			waiter_answer(waiter);
		waiter = next;
	}
}

void
process_drop_waiters(struct process *p)
{
	while (!TAILQ_EMPTY(&p->waiters)) {
		struct waiter *waiter = TAILQ_FIRST(&p->waiters);
		struct connection *c = p->session->connection;

		/* It did not start after all. */
		if (c != NULL)
			process_unknown(c, &waiter->later.id, p->id);
		waiter_free(waiter);
	}
}

static void
wait_passed(struct timer *t)
{
	waiter_answer(container_of(t, struct waiter, timer));
}

static void
wait_for_more(struct connection *c, const struct rpc_id *id, struct process *p,
    struct waiter request, uint64_t wait_ms)
{
	struct waiter *waiter = malloc(sizeof *waiter);

	if (waiter == NULL) {
		rpc_error(c, id, RPC_INTERNAL, "out of memory");
		return;
	}
	*waiter = request;
	waiter->process = p;
	if (rpc_later_init(&waiter->later, c, id) < 0) {
		free(waiter);
		return;
	}
	TAILQ_INSERT_TAIL(&p->waiters, waiter, link);
	if (wait_ms > c->net->config.limits.long_poll_max)
		wait_ms = c->net->config.limits.long_poll_max;
	timer_set(c->net->lws, &waiter->timer, wait_ms, wait_passed);
}

void
on_process_read(struct connection *c, const struct rpc_id *id,
    struct params_process_read *p)
{
	struct process *process = process_find(c->session, p->process_id);
	uint64_t max = p->max_bytes.present ? p->max_bytes.v : UINT64_MAX;

	if (process == NULL) {
		process_unknown(c, id, p->process_id);
		return;
	}
	if (p->wait_ms.v == 0 || is_ready(process, p->after_seq.v)) {
		answer(c, id, process, p->after_seq.v, max);
		return;
	}
	wait_for_more(c, id, process,
	    (struct waiter){.after_seq = p->after_seq.v, .max_bytes = max},
	    p->wait_ms.v);
}
