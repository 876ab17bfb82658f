#include "exec/executor_audit.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "privsep/sandbox_spec.h"

/* Of arguments and paths so many bytes are told. */
#define TOLD_MAX 4096
#define PLAIN                                                                  \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"       \
	"_./:=@%+,-"

struct ids {
	char lease[16], session[16], generation[16];
};

static void
ids_of(const struct lease *l, struct ids *ids)
{
	(void)snprintf(ids->lease, sizeof ids->lease, "%u", l->id.v);
	(void)snprintf(ids->session, sizeof ids->session, "%u", l->session.v);
	(void)snprintf(ids->generation, sizeof ids->generation, "%u",
	    l->generation.v);
}

/* Append text as a shell would need it, behind a blank. */
static int
put_quoted(struct buf *out, const char *text)
{
	int r = out->len > 0 ? buf_put_u8(out, ' ') : 0;

	if (text[0] != '\0' && text[strspn(text, PLAIN)] == '\0')
		return r < 0 ? r : buf_put(out, text, strlen(text));
	if (r == 0)
		r = buf_put_u8(out, '\'');
	for (; *text != '\0' && r == 0; text++)
		r = *text == '\'' ? buf_put(out, "'\\''", 4)
				  : buf_put_u8(out, (uint8_t)*text);
	return r < 0 ? r : buf_put_u8(out, '\'');
}

/* A C string of what there was room for; "..." tells that it was cut. */
static const char *
finish(struct buf *out, int r)
{
	static const char cut[] = "...";

	out->max += sizeof cut + 1;
	if (r < 0 && buf_put(out, cut, sizeof cut - 1) < 0)
		return cut;
	return buf_put_u8(out, 0) < 0 ? cut : (const char *)out->data;
}

static const char *
quote_argv(struct buf *out, char *const *argv)
{
	int r = 0;

	buf_init(out, TOLD_MAX);
	for (; *argv != NULL && r == 0; argv++)
		r = put_quoted(out, *argv);
	return finish(out, r);
}

/* Of the arguments, each with its final NUL. */
static const char *
hash_argv(char *const *argv, char hex[SHA256_HEX_SIZE])
{
	scoped_buf all;

	buf_init(&all, SIZE_MAX / 2);
	for (; *argv != NULL; argv++)
		if (buf_put(&all, *argv, strlen(*argv) + 1) < 0)
			return NULL;
	sha256_hex((struct bytes){all.data, all.len}, hex);
	return hex;
}

static const char *
quote_writable(struct buf *out, const struct plan *plan)
{
	int r = 0;

	buf_init(out, TOLD_MAX);
	for (size_t i = 0; i < plan->path_count && r == 0; i++)
		if (plan->paths[i].access == PLAN_WRITE)
			r = put_quoted(out, plan->paths[i].path);
	return finish(out, r);
}

static const char *
base_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash == NULL ? file : slash + 1;
}

void
executor_audit_start(struct executor *x, const struct session *s,
    const struct lease *l, const struct order *order, const struct plan *plan,
    struct bytes sandbox)
{
	static const char *const kinds[] = {
	    [SANDBOX_NULL] = "ceiling",
	    [SANDBOX_DISABLED] = "disabled",
	    [SANDBOX_EXTERNAL] = "external",
	    [SANDBOX_UNRESTRICTED] = "unrestricted",
	    [SANDBOX_RESTRICTED] = "restricted",
	};
	uint32_t flags = s->config->flags;
	char hex[SHA256_HEX_SIZE];
	scoped_buf argv = {0}, writable = {0};
	const char *pairs[24] = {0};
	struct sandbox_spec spec = {0};
	struct ids ids;
	size_t n = 0;

	/* It was whole when the plan was made. */
	if (sandbox_spec_unpack(sandbox, &spec, NULL) < 0)
		return;
	ids_of(l, &ids);
#define PAIR(name, value) (pairs[n++] = (name), pairs[n++] = (value))
	PAIR("lease", ids.lease);
	PAIR("session", ids.session);
	PAIR("generation", ids.generation);
	PAIR("program", base_of(order->file));
	PAIR("asked", kinds[spec.kind]);
	PAIR("network", plan->network_enabled ? "host" : "restricted");
	PAIR("writable", quote_writable(&writable, plan));
	if (plan->network_narrowed)
		PAIR("narrowed", "network");
	if (flags & EXEC_FLAG_AUDIT_ARGV)
		PAIR("argv", quote_argv(&argv, order->argv));
	if ((flags & EXEC_FLAG_AUDIT_HASH) &&
	    hash_argv(order->argv, hex) != NULL)
		PAIR("argv_sha256", hex);
#undef PAIR
	executor_audit(x, "process_start", pairs);
}

void
executor_audit_gone(struct executor *x, const struct lease *l,
    const struct rusage *usage)
{
	int64_t us = ((int64_t)usage->ru_utime.tv_sec +
			 (int64_t)usage->ru_stime.tv_sec) *
			 1000000 +
		     (int64_t)usage->ru_utime.tv_usec +
		     (int64_t)usage->ru_stime.tv_usec;
	char cpu[24], rss[24];
	struct ids ids;

	ids_of(l, &ids);
	(void)snprintf(cpu, sizeof cpu, "%lld", (long long)(us / 1000));
	(void)snprintf(rss, sizeof rss, "%lld", (long long)usage->ru_maxrss);
	executor_audit(x, "process_gone",
	    (const char *[]){"lease", ids.lease, "session", ids.session,
		"generation", ids.generation, "cpu_ms", cpu, "max_rss_kib", rss,
		NULL});
}
