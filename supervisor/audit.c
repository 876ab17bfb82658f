#include "supervisor/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "privsep/pack.h"

/* Told in the log if there is no audit log. */
static const char *const noteworthy[] = {"process_refused", "session_refused"};

/* --- one line ------------------------------------------------------------- */

/* Returns 0 or a negative errno. The chain goes on only after what stands. */
static int
write_line(struct audit *a, struct buf *line)
{
	struct audit_chain next;
	int r = 0;

	if (a->chain.on)
		r = audit_chain_seal(&a->chain, line, &next);
	if (r == 0)
		r = audit_sink_write(&a->sink,
		    (struct bytes){.data = line->data, .len = line->len});
	if (r == 0 && a->chain.on)
		a->chain = next;
	return r;
}

static void
lose(struct audit *a, int r)
{
	if (a->lost == 0) {
		log_error("audit_lost reason=%s", strerrorname_np(-r));
		a->lost_errno = -r;
	}
	a->lost++;
	a->failed = a->failed || a->stop_on_error;
}

/* pairs: name, value, ..., NULL; a value that is NULL leaves its name out. */
static int
format_own(struct buf *line, const char *event, const char *const *pairs)
{
	struct timespec now;
	scoped_buf packed;
	int r = 0;

	buf_init(&packed, AUDIT_PACKED_MAX);
	for (; *pairs != NULL && r == 0; pairs += 2) {
		if (pairs[1] == NULL)
			continue;
		r = buf_put_cstring(&packed, pairs[0]);
		if (r == 0)
			r = buf_put_cstring(&packed, pairs[1]);
	}
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return r < 0
		   ? r
		   : audit_format(line, &now, ROLE_SUPERVISOR, bytes_of(event),
			 (struct bytes){.data = packed.data, .len = packed.len},
			 NULL);
}

/* The decimal digits of n in text, or NULL if it is nothing to tell. */
static const char *
count_text(uint64_t n, char text[24])
{
	(void)snprintf(text, 24, "%" PRIu64, n);
	return n > 0 ? text : NULL;
}

/* First what went missing: who reads on must not think that nothing did. */
static int
tell_gap(struct audit *a)
{
	char lines[24], torn[24];
	scoped_buf line = {.max = AUDIT_LINE_MAX};
	int r;

	if (a->lost == 0)
		return 0;
	r = format_own(&line, "audit_gap",
	    (const char *[]){"lines", count_text(a->lost, lines), "reason",
		strerrorname_np(a->lost_errno), "torn",
		count_text(a->sink.torn, torn), NULL});
	if (r == 0)
		r = write_line(a, &line);
	if (r == 0) {
		log_warn("audit_gap lines=%s", lines);
		a->lost = 0;
	}
	return r;
}

static void
put(struct audit *a, struct buf *line)
{
	int r = tell_gap(a);

	if (r == 0)
		r = write_line(a, line);
	if (r < 0)
		lose(a, r);
}

/* --- opening -------------------------------------------------------------- */

/* What the log has of the chain's end helps where the file was cut short. */
static void
log_chain(const struct audit *a)
{
	if (a->chain.on)
		log_info("audit_chain seq=%" PRIu64 " hash=%s", a->chain.seq,
		    a->chain.hash);
}

/* The first line of each file: what it goes on from. */
static void
tell_open(struct audit *a, const char *why)
{
	char torn[24];
	const char *prev = a->chain.on ? a->chain.hash : NULL;

	if (a->sink.output == AUDIT_NONE)
		return;
	audit_own(a, "audit_open",
	    (const char *[]){"why", why, "output",
		audit_output_name(a->sink.output), "prev", prev, "torn",
		count_text(a->sink.torn, torn), NULL});
	log_chain(a);
}

static int
resume_chain(struct audit *a, struct err *e)
{
	scoped_buf tail;
	int r;

	buf_init(&tail, 4u * AUDIT_LINE_MAX);
	r = audit_sink_tail(&a->sink, tail.max, &tail);
	if (r < 0)
		return err_errno(e, -r, "audit file");
	audit_chain_resume(&a->chain,
	    (struct bytes){.data = tail.data, .len = tail.len});
	return 0;
}

int
audit_open(struct audit *a, const struct config_audit *c, struct err *e)
{
	const char *path = c->file != NULL ? c->file : c->socket;
	enum audit_output output = c->file != NULL     ? AUDIT_FILE
				   : c->socket != NULL ? AUDIT_SOCKET
				   : c->to_stderr      ? AUDIT_STDERR
						       : AUDIT_NONE;
	int r;

	*a = (struct audit){0};
	a->sink.fd = a->sink.dir_fd = -1;
	audit_chain_init(&a->chain);
	a->rate = calloc(1, sizeof *a->rate);
	a->begun = calloc(1, sizeof *a->begun);
	if (a->rate == NULL || a->begun == NULL)
		return err_set(e, ENOMEM, "out of memory");
	audit_adjust(a, c);
	a->chain.on = c->chain;
	r = audit_sink_open(&a->sink, output, path, e);
	if (r == 0 && c->key_file != NULL)
		r = audit_chain_read_key(&a->chain, c->key_file, e);
	if (r == 0 && c->chain)
		r = resume_chain(a, e);
	if (r < 0)
		return r;
	tell_open(a, "start");
	return a->failed ? err_errno(e, a->lost_errno, "audit log") : 0;
}

void
audit_adjust(struct audit *a, const struct config_audit *c)
{
	a->stop_on_error = c->on_error == AUDIT_STOP;
	a->rate->per_second = c->rate;
	a->rate->burst = c->burst;
}

int
audit_reopen(struct audit *a, struct err *e)
{
	int r = audit_sink_reopen(&a->sink, e);

	if (r == 0)
		tell_open(a, "reopened");
	return r;
}

void
audit_close(struct audit *a)
{
	if (a->sink.fd >= 0)
		log_chain(a);
	audit_sink_close(&a->sink);
	audit_chain_done(&a->chain);
	free(a->rate);
	free(a->begun);
	a->rate = NULL;
	a->begun = NULL;
}

/* --- writing -------------------------------------------------------------- */

static bool
is_noteworthy(struct bytes event)
{
	for (size_t i = 0; i < sizeof noteworthy / sizeof noteworthy[0]; i++)
		if (bytes_is(event, noteworthy[i]))
			return true;
	return false;
}

int
audit_write(struct audit *a, enum role role, struct bytes event,
    struct bytes pairs, struct err *e)
{
	struct timespec now;
	uint64_t dropped = 0;
	char text[24];
	scoped_buf line;
	int r;

	buf_init(&line, AUDIT_LINE_MAX);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	r = audit_format(&line, &now, role, event, pairs, e);
	if (r == -EPROTO)
		return r;
	if (r == 0 && a->sink.output == AUDIT_NONE) {
		log_line(is_noteworthy(event) ? LOG_INFO : LOG_DEBUG,
		    "audit %.*s", (int)line.len - 1, (char *)line.data);
		return 0;
	}
	if (!audit_begun_end(a->begun, role, event, pairs) &&
	    !audit_rate_take(a->rate, role, audit_find(pairs, "session"),
		(uint64_t)clock_ms(), &dropped))
		return 0;
	audit_begun_add(a->begun, role, event, pairs);
	if (r == 0 && dropped > 0)
		r = audit_extend(&line, "dropped", count_text(dropped, text));
	if (r == 0)
		put(a, &line);
	else
		lose(a, r);
	return 0;
}

void
audit_own(struct audit *a, const char *event, const char *const *pairs)
{
	scoped_buf line = {.max = AUDIT_LINE_MAX};
	int r;

	if (a->sink.output == AUDIT_NONE)
		return;
	r = format_own(&line, event, pairs);
	if (r == 0)
		put(a, &line);
	else
		lose(a, r);
}

bool
audit_failed(const struct audit *a)
{
	return a->failed;
}
