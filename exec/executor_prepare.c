/* What runs before a program's start, and holds it up. */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "exec/backend_job.h"

static void
prepared_free(struct prepared *p)
{
	if (p == NULL)
		return;
	backend_start_done(&p->start);
	buf_done(&p->packed);
	free(p);
}

void
backend_job_free(struct job *j)
{
	prepared_free(j->prepared);
	free(j);
}

/* Everything that the start will want. NULL when out of memory. */
static struct prepared *
keep(uint32_t number, struct bytes packed)
{
	struct prepared *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->number = number;
	buf_init(&p->packed, PROCESS_SPEC_MAX);
	if (buf_put(&p->packed, packed.data, packed.len) < 0) {
		prepared_free(p);
		return NULL;
	}
	return p;
}

int
executor_backend_prepare(struct executor *x, struct backend_start *b,
    uint32_t number, struct bytes packed)
{
	struct job *j = b->job;

	if (j->session->config->backend.prepare[0] == '\0')
		return 0;
	j->prepared = keep(number, packed);
	if (j->prepared == NULL)
		return -ENOMEM;
	if (!backend_command_run(x, j, COMMAND_PREPARE)) {
		prepared_free(j->prepared);
		j->prepared = NULL;
		return -EIO;
	}
	/* The views in spec go on to point at what the buffers hold. */
	j->prepared->start = *b;
	j->prepared->start.job = NULL;
	*b = (struct backend_start){0};
	return 1;
}

static void
tell_failed(struct executor *x, const struct job *j, const char *why,
    const struct command_end *end)
{
	char session[16];

	log_error("backend_prepare_failed id=%s session=%u why=\"%s\" "
		  "said=\"%s\"",
	    j->id, j->session->id.v, why, end->words);
	(void)snprintf(session, sizeof session, "%u", j->session->id.v);
	executor_audit(x, "backend_prepare_failed",
	    (const char *[]){"session", session, "reason", why, "said",
		end->words, NULL});
}

static void
refuse(struct executor *x, const struct job *j, const struct command_end *end)
{
	const struct prepared *p = j->prepared;
	char why[64], text[128];
	struct start_refusal r = {.reason = REFUSE_BACKEND, .text = text};

	if (p->cancelled) {
		r.text = "the process was ended before it was started";
	} else {
		backend_command_describe(end, why, sizeof why);
		(void)snprintf(text, sizeof text,
		    "the backend's command prepare %s", why);
		tell_failed(x, j, why, end);
	}
	executor_refuse_start(x, j->session, p->number, &r);
}

void
backend_prepared(struct executor *x, struct job *j,
    const struct command_end *end)
{
	struct prepared *p = j->prepared;
	struct backend_start *b = &p->start;

	b->job = j;
	if (p->cancelled || end->status != 0)
		refuse(x, j, end);
	else
		executor_start_prepared(x, j->session, b, p->number,
		    (struct bytes){p->packed.data, p->packed.len});
	j->prepared = NULL;
	if (b->job != NULL)
		executor_backend_unlaunched(x, b);
	prepared_free(p);
}

void
executor_backend_cancel(struct lease *l)
{
	struct job *j = l->command_of;

	if (j == NULL || j->prepared == NULL)
		return;
	j->prepared->cancelled = true;
	lease_kill(l);
}

int
executor_on_process_cancel(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e)
{
	const struct msg_process_cancel *m = &msg->u.process_cancel;
	struct lease *l;

	if (executor_session(x, p->generation, m->session) == NULL)
		return err_set(e, EPROTO, "session %u is not open", m->session);
	LIST_FOREACH (l, &x->leases, link) {
		const struct job *j = l->command_of;

		if (j != NULL && j->prepared != NULL &&
		    j->prepared->number == m->number &&
		    l->session.v == m->session &&
		    l->generation.v == p->generation.v)
			executor_backend_cancel(l);
	}
	return 0;
}
