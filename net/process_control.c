/* process/write, closeStdin, resize, signal and terminate. */
#include <errno.h>
#include <string.h>

#include "net/method.h"
#include "net/process.h"

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
		process_forget_write_id(p);
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

static void
busy_writing(struct connection *c, const struct rpc_id *id)
{
	rpc_error(c, id, RPC_INVALID_REQUEST,
	    "busy: the process has not read what was written before; at most "
	    "%llu bytes wait for it, try again later",
	    (unsigned long long)c->net->config.limits.queued_write_max);
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
	if (r == -ENOBUFS) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "busy: limits.message_budget is used up; try again later");
		return;
	}
	if (r == -EMSGSIZE || r == -ENOMEM) {
		busy_writing(c, id);
		return;
	}
	if (r == 0 && named)
		remember_write_id(p, write_id);
	reply_status(c, id, r == 0 ? "accepted" : "stdinClosed");
}

/* The bytes of a blob that was cut out, in buf. Returns 0 or a negative errno;
 * -EMSGSIZE if they pass its maximum. */
static int
read_blob(const struct param_blob *b, struct buf *out)
{
	int r =
	    b->len > out->max ? -EMSGSIZE : buf_reserve(out, (size_t)b->len);

	while (r == 0 && out->len < b->len) {
		ssize_t n = pread(b->fd, out->data + out->len,
		    (size_t)b->len - out->len, (off_t)out->len);

		if (n <= 0)
			return -EIO;
		out->len += (size_t)n;
	}
	return r;
}

static void
write_blob(struct connection *c, const struct rpc_id *id,
    struct process *process, const struct params_process_write *p)
{
	struct bytes data = {.data = p->chunk.data,
	    .len = (size_t)p->chunk.len};
	scoped_buf copy;
	int r = 0;

	buf_init(&copy, c->net->config.limits.queued_write_max);
	if (p->chunk.fd >= 0) {
		r = read_blob(&p->chunk, &copy);
		data = (struct bytes){.data = copy.data, .len = copy.len};
	}
	if (r < 0)
		busy_writing(c, id);
	else
		write_to(c, id, process, data, p->write_id);
}

void
on_process_write(struct connection *c, const struct rpc_id *id,
    struct params_process_write *p)
{
	struct process *process = process_find(c->session, p->process_id);

	if (p->write_id.data != NULL && p->write_id.len == 0)
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "writeId must not be empty");
	else if (p->chunk.bad)
		rpc_error(c, id, RPC_INVALID_PARAMS, "chunk: %s", p->chunk.why);
	else if (process == NULL)
		reply_status(c, id, "unknownProcess");
	else if (process->state == PROCESS_STARTING)
		reply_status(c, id, "starting");
	else
		write_blob(c, id, process, p);
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
	if (process->state == PROCESS_STARTING)
		process->close_stdin_wanted = true;
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
	process->rows_wanted = (uint32_t)p->rows.v;
	process->cols_wanted = (uint32_t)p->cols.v;
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

	if (process != NULL && process->state == PROCESS_STARTING) {
		process->terminate_wanted = running = true;
		net_order(c->net, process_cancel, .session = c->session->id.v,
		    .number = process->number);
	} else if (process != NULL && process->state != PROCESS_CLOSED) {
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
