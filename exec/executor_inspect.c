/* Whether programs have a network where they run: asked once, by a command,
 * before the first of them. */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "exec/backend_job.h"

/* Exec has the verdict for itself from now on; why is NULL, or why there is
 * none. */
static void
tell(struct executor *x, bool isolated, const char *why)
{
	const struct msg_exec_inspected m = {.failed = why != NULL,
	    .isolated = isolated,
	    .text = bytes_of(why != NULL ? why : "")};

	x->config->backend.isolated = isolated;
	if (channel_send_exec_inspected(x->supervisor, &m, NULL, 0) < 0)
		log_error("inspected_unheard");
}

void
executor_inspect(struct executor *x)
{
	const struct backend_config *b = &x->config->backend;
	struct err e = {0};
	struct session *s;

	if (!b->on || b->inspect[0] == '\0')
		return;
	s = executor_session_own(x, &e);
	if (s == NULL)
		tell(x, false, e.text);
	else if (s->state != SESSION_OPENING)
		executor_inspect_ready(x, s);
}

void
executor_inspect_ready(struct executor *x, struct session *s)
{
	struct job *j;

	if (s->state != SESSION_READY) {
		tell(x, false, s->text);
		executor_session_end(x, s);
		return;
	}
	j = backend_job_new(x, s);
	if (j != NULL && backend_command_run(x, j, COMMAND_INSPECT))
		return;
	if (j != NULL)
		backend_job_free(j);
	tell(x, false, "the backend's command inspect could not be started");
	executor_session_end(x, s);
}

/* The next word of c from *at; false: there is none. */
static bool
next_word(const struct capture *c, size_t *at, struct bytes *word)
{
	size_t begin;

	while (*at < c->len && (c->text[*at] == ' ' || c->text[*at] == '\n'))
		++*at;
	begin = *at;
	while (*at < c->len && c->text[*at] != ' ' && c->text[*at] != '\n')
		++*at;
	*word = (struct bytes){.data = c->text + begin, .len = *at - begin};
	return word->len > 0;
}

/* It wrote the names of the networks, and each is "none". */
static bool
is_isolated(const struct capture *c, bool *said)
{
	struct bytes word;
	size_t at = 0;
	bool none = true;

	*said = false;
	while (next_word(c, &at, &word)) {
		*said = true;
		none = none && bytes_is(word, "none");
	}
	return *said && none && !c->cut;
}

void
backend_inspected(struct executor *x, struct job *j, const struct capture *out,
    const struct command_end *end)
{
	struct session *s = j->session;
	char why[64], text[300];
	bool said, isolated = is_isolated(out, &said);

	backend_job_free(j);
	if (end->status != 0) {
		backend_command_describe(end, why, sizeof why);
		(void)snprintf(text, sizeof text,
		    "the backend's command inspect %s%s%s", why,
		    end->words[0] != '\0' ? ": " : "", end->words);
		tell(x, false, text);
	} else if (!said) {
		tell(x, false,
		    "the backend's command inspect named no network");
	} else {
		tell(x, isolated, NULL);
	}
	executor_session_end(x, s);
}
