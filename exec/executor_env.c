#include "exec/executor_env.h"

#include <stdio.h>

#include "base/log.h"
#include "policy/env.h"

/* Of the names that were dropped so many bytes are told, and how many names
 * there were: a client may send thousands. */
#define TOLD_MAX 1024

static void
tell_dropped(struct executor *x, const struct session *s,
    const struct buf *dropped)
{
	char names[TOLD_MAX] = "", count_text[24], id[16];
	size_t used = 0, count = 0;
	struct bytes name;
	struct reader r;

	reader_init(&r, dropped->data, dropped->len);
	for (; strings_next(&r, &name); count++) {
		int len = name.len > 64 ? 64 : (int)name.len;

		if (used + (size_t)len + 2 <= sizeof names)
			used += (size_t)snprintf(names + used,
			    sizeof names - used, "%s%.*s", used > 0 ? "," : "",
			    len, (const char *)name.data);
	}
	if (count == 0)
		return;
	(void)snprintf(id, sizeof id, "%u", s->id.v);
	(void)snprintf(count_text, sizeof count_text, "%zu", count);
	log_info("env_dropped session=%s count=%zu names=%.512s", id, count,
	    names);
	executor_audit(x, "env_dropped",
	    (const char *[]){"session", id, "count", count_text, "names", names,
		NULL});
}

/* Variables of our own making. */
static int
put_added(const struct executor *x, const struct session *s,
    const struct plan *plan, struct buf *out)
{
	char id[64];
	int r = 0;

	if (plan->tell_network_disabled) {
		r = buf_put_cstring(out, "CODEX_SANDBOX_NETWORK_DISABLED");
		if (r == 0)
			r = buf_put_cstring(out, "1");
	}
	if ((s->config->flags & EXEC_FLAG_OPENCLAW) == 0 || r < 0)
		return r;
	/* That of the lease that comes next. */
	(void)snprintf(id, sizeof id, "%s-%u", x->unique, x->last_lease + 1);
	r = buf_put_cstring(out, "CODEX_SANDBOX_EXEC_ID");
	return r < 0 ? r : buf_put_cstring(out, id);
}

int
executor_env(struct executor *x, const struct session *s,
    const struct spec *spec, const struct plan *plan, struct buf *out,
    struct err *e)
{
	struct env_request q = {.has_policy = spec->has_policy,
	    .ignore_default_excludes = spec->ignore_default_excludes,
	    .inherit = spec->inherit,
	    .exclude = spec->exclude,
	    .set = spec->set,
	    .include_only = spec->include_only,
	    .env = spec->env};
	scoped_buf added = {.max = 4096};
	scoped_buf dropped = {.max = EXECUTOR_ENV_MAX};
	int r = put_added(x, s, plan, &added);

	if (r < 0)
		return err_errno(e, -r, "environment");
	q.added = (struct bytes){.data = added.data, .len = added.len};
	r = env_decide(&s->config->env, &q, out, &dropped, e);
	if (r == 0)
		tell_dropped(x, s, &dropped);
	return r;
}
