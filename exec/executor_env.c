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

static int
put_pair(struct buf *out, const char *name, const char *value)
{
	int r = buf_put_cstring(out, name);

	return r < 0 ? r : buf_put_cstring(out, value);
}

/* Variables of our own making. */
static int
put_added(const struct executor *x, const struct session *s,
    const struct plan *plan, struct buf *out)
{
	bool elsewhere = s->config->backend.on;
	char id[EXECUTOR_ID_MAX];
	int r = 0;

	executor_next_id(x, id);
	if (plan->tell_network_disabled && !elsewhere)
		r = put_pair(out, "CODEX_SANDBOX_NETWORK_DISABLED", "1");
	if (r == 0 && (s->config->flags & EXEC_FLAG_OPENCLAW) != 0)
		r = put_pair(out, "CODEX_SANDBOX_EXEC_ID", id);
	/* By this its commands find what belongs to it. */
	if (r == 0 && elsewhere)
		r = put_pair(out, "SALLYPORT_EXEC_ID", id);
	return r;
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
	const struct env_config *config = &s->config->env;
	struct env_config bare = *config;
	int r = put_added(x, s, plan, &added);

	if (r < 0)
		return err_errno(e, -r, "environment");
	q.added = (struct bytes){.data = added.data, .len = added.len};
	/* What another place has as PATH or HOME is not ours to say. */
	bare.base = (struct bytes){0};
	r = env_decide(s->config->backend.on ? &bare : config, &q, out,
	    &dropped, e);
	if (r == 0)
		tell_dropped(x, s, &dropped);
	return r;
}
