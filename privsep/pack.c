#include "privsep/pack.h"

#include <errno.h>

#include "base/path.h"
#include "privsep/sandbox_spec.h"

bool
strings_check(struct bytes list, size_t items_max, size_t len_max,
    size_t *count)
{
	struct reader r;
	struct bytes s;
	size_t n = 0;

	reader_init(&r, list.data, list.len);
	while (r.left > 0) {
		if (n == items_max || !buf_get_string(&r, &s, len_max))
			return false;
		n++;
	}
	*count = n;
	return true;
}

bool
strings_next(struct reader *r, struct bytes *out)
{
	return r->left > 0 && buf_get_string(r, out, SIZE_MAX);
}

int
limits_pack(const struct limits *l, struct buf *out)
{
	int r = 0;

	for (unsigned int i = 0; i < LIMIT_ROWS && r == 0; i++)
		r = buf_put_u64(out, limits_get(l, i));
	return r;
}

bool
limits_unpack(struct bytes packed, struct limits *l)
{
	struct limits got = {0};
	struct reader r;
	uint64_t v;

	reader_init(&r, packed.data, packed.len);
	for (unsigned int i = 0; i < LIMIT_ROWS; i++) {
		if (!buf_get_u64(&r, &v) || v < limit_rows[i].min ||
		    v > limit_rows[i].max)
			return false;
		limits_set(&got, i, v);
	}
	if (!buf_get_end(&r))
		return false;
	*l = got;
	return true;
}

enum spec_flag {
	SPEC_POLICY = 1 << 0,
	SPEC_IGNORE_DEFAULT_EXCLUDES = 1 << 1,
	SPEC_ARG0 = 1 << 2,
	SPEC_TTY = 1 << 3,
	SPEC_PIPE_STDIN = 1 << 4,
	SPEC_MANAGED_NETWORK = 1 << 5,
	SPEC_NETWORK_PROXY = 1 << 6,
	SPEC_FLAGS_ALL = (1 << 7) - 1,
};

static uint32_t
flags_of(const struct spec *s)
{
	uint32_t f = 0;

	f |= s->has_policy ? SPEC_POLICY : 0;
	f |= s->ignore_default_excludes ? SPEC_IGNORE_DEFAULT_EXCLUDES : 0;
	f |= s->has_arg0 ? SPEC_ARG0 : 0;
	f |= s->tty ? SPEC_TTY : 0;
	f |= s->pipe_stdin ? SPEC_PIPE_STDIN : 0;
	f |= s->managed_network ? SPEC_MANAGED_NETWORK : 0;
	f |= s->network_proxy ? SPEC_NETWORK_PROXY : 0;
	return f;
}

int
spec_pack(const struct spec *s, struct buf *out)
{
	const struct bytes strings[] = {s->cwd, s->argv, s->arg0, s->env,
	    s->exclude, s->set, s->include_only, s->sandbox};
	const uint32_t numbers[] = {flags_of(s), s->inherit};
	size_t start = out->len;
	int r = 0;

	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (r == 0)
			r = buf_put_u32(out, numbers[i]);
	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
		if (r == 0)
			r = buf_put_string(out, strings[i].data,
			    strings[i].len);
	if (r < 0)
		out->len = start;
	return r;
}

static int
check_list(struct bytes list, const char *name, bool pairs, struct err *e)
{
	struct reader r;
	struct bytes s;
	size_t count;

	if (!strings_check(list, 2 * PROCESS_ITEMS_MAX, PROCESS_SPEC_MAX,
		&count))
		return err_set(e, EPROTO, "spec: %s is malformed", name);
	if (pairs && count % 2 != 0)
		return err_set(e, EPROTO, "spec: %s has a name alone", name);
	/* The lengths of a list hold zero bytes of their own, so each string
	 * is looked at. */
	reader_init(&r, list.data, list.len);
	while (strings_next(&r, &s))
		if (bytes_has_nul(s))
			return err_set(e, EPROTO, "spec: NUL in %s", name);
	return 0;
}

static int
check_spec(const struct spec *s, struct err *e)
{
	struct sandbox_spec sandbox;
	int r;

	if (!path_is_canonical(s->cwd))
		return err_set(e, EPROTO, "spec: cwd is not a canonical path");
	if (s->argv.len == 0)
		return err_set(e, EPROTO, "spec: argv is empty");
	if (bytes_has_nul(s->arg0))
		return err_set(e, EPROTO, "spec: NUL in arg0");
	if (s->inherit > ENV_INHERIT_ALL)
		return err_set(e, EPROTO, "spec: enumeration out of range");
	r = check_list(s->argv, "argv", false, e);
	if (r == 0)
		r = check_list(s->env, "env", true, e);
	if (r == 0)
		r = check_list(s->exclude, "exclude", false, e);
	if (r == 0)
		r = check_list(s->set, "set", true, e);
	if (r == 0)
		r = check_list(s->include_only, "includeOnly", false, e);
	return r < 0 ? r : sandbox_spec_unpack(s->sandbox, &sandbox, e);
}

int
spec_unpack(struct bytes packed, struct spec *out, struct err *e)
{
	struct spec s = {0};
	struct bytes *strings[] = {&s.cwd, &s.argv, &s.arg0, &s.env, &s.exclude,
	    &s.set, &s.include_only, &s.sandbox};
	struct reader r;
	uint32_t flags;
	int rc;

	reader_init(&r, packed.data, packed.len);
	if (!buf_get_u32(&r, &flags) || !buf_get_u32(&r, &s.inherit) ||
	    flags > SPEC_FLAGS_ALL)
		return err_set(e, EPROTO, "spec: bad head");
	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
		if (!buf_get_string(&r, strings[i], PROCESS_SPEC_MAX))
			return err_set(e, EPROTO, "spec: string %zu", i);
	if (!buf_get_end(&r))
		return err_set(e, EPROTO, "spec: %zu bytes too many", r.left);
	s.has_policy = flags & SPEC_POLICY;
	s.ignore_default_excludes = flags & SPEC_IGNORE_DEFAULT_EXCLUDES;
	s.has_arg0 = flags & SPEC_ARG0;
	s.tty = flags & SPEC_TTY;
	s.pipe_stdin = flags & SPEC_PIPE_STDIN;
	s.managed_network = flags & SPEC_MANAGED_NETWORK;
	s.network_proxy = flags & SPEC_NETWORK_PROXY;
	rc = check_spec(&s, e);
	if (rc == 0)
		*out = s;
	return rc;
}
