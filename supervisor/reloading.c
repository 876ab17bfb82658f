#include "supervisor/reloading.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "supervisor/audit_event.h"
#include "supervisor/handover.h"

/* Each line is a complaint. */
static void
refuse(struct reloading *r, struct bytes complaints, const char *reason)
{
	size_t at = 0;

	while (at < complaints.len) {
		const uint8_t *line = complaints.data + at;
		const uint8_t *end = memchr(line, '\n', complaints.len - at);
		size_t len =
		    end != NULL ? (size_t)(end - line) : complaints.len - at;

		log_error("reload %.*s", (int)len, (const char *)line);
		at += len + 1;
	}
	log_error("reload_refused reason=\"%s\" effect=\"the configuration is "
		  "as before\"",
	    reason);
	audit_reload(*r->server, NULL, reason);
}

static void
drop(struct reloading *r, const char *reason)
{
	reload_free(r->pending);
	r->pending = NULL;
	refuse(r, (struct bytes){0}, reason);
}

static void
apply(struct reloading *r)
{
	struct reload *before = r->current, *now = r->pending;
	const struct buf *changed = &now->changes.changed;
	const struct buf *kept = &now->changes.kept;

	r->pending = NULL;
	r->current = now;
	*r->server = &now->server;
	log_set_level((enum log_level)now->config.log_level);
	audit_adjust(now->server.audit, &now->config.audit);
	log_info("reloaded changed=\"%.*s\"", (int)changed->len,
	    (const char *)changed->data);
	if (kept->len > 0)
		log_warn("reload_kept keys=\"%.*s\" hint=\"they need a "
			 "restart\"",
		    (int)kept->len, (const char *)kept->data);
	audit_reload(*r->server, &now->changes, NULL);
	if (r->net->channel != NULL &&
	    handover_net_policy(*r->server, r->net->channel) < 0)
		role_kill(r->net);
	reload_free(before);
}

/* Exec has the last word: it knows what the host gives. */
void
reloading_start(struct reloading *r)
{
	scoped_buf errors = {.max = CONFIG_ERRORS_MAX};

	r->again = r->pending != NULL;
	if (r->pending != NULL)
		return;
	r->pending = reload_read(*r->server, &errors);
	if (r->pending == NULL) {
		refuse(r, (struct bytes){errors.data, errors.len},
		    "the configuration is wrong, see the log");
		return;
	}
	if (r->exec->channel == NULL) {
		apply(r); /* the next exec begins with it */
		return;
	}
	if (reload_send(r->pending, r->exec->channel, ++r->number) < 0)
		role_kill(r->exec);
}

int
reloading_on_applied(struct reloading *r, const struct msg_exec_applied *m,
    struct err *e)
{
	char reason[256];

	if (r->pending == NULL || m->number != r->number)
		return err_set(e, EPROTO, "exec: nothing was to be applied");
	if (m->errnum == 0) {
		apply(r);
	} else {
		(void)snprintf(reason, sizeof reason, "%.*s", (int)m->text.len,
		    (const char *)m->text.data);
		drop(r, reason);
	}
	if (r->again)
		reloading_start(r);
	return 0;
}

void
reloading_give_up(struct reloading *r, const char *reason)
{
	if (r->pending == NULL)
		return;
	drop(r, reason);
	if (r->again)
		reloading_start(r);
}

void
reloading_done(struct reloading *r)
{
	reload_free(r->pending);
	reload_free(r->current);
	r->pending = r->current = NULL;
}
