#include "privsep/sandbox_spec.h"

#include <errno.h>

#include "base/limits.h"
#include "base/path.h"
#include "privsep/pack.h"

enum sandbox_flag {
	FLAG_NETWORK = 1 << 0,
	FLAG_ROOTS = 1 << 1,
	FLAGS_ALL = (1 << 2) - 1,
};

int
sandbox_entry_put(struct buf *entries, const struct sandbox_entry *entry)
{
	const uint8_t head[] = {(uint8_t)entry->path, (uint8_t)entry->access,
	    entry->skip_missing};
	size_t start = entries->len;
	int r = buf_put(entries, head, sizeof head);

	if (r == 0)
		r = buf_put_string(entries, entry->text.data, entry->text.len);
	if (r < 0)
		entries->len = start;
	return r;
}

bool
sandbox_entry_next(struct reader *r, struct sandbox_entry *out)
{
	struct sandbox_entry got = {0};
	uint8_t path, access, skip;

	if (r->left == 0 || !buf_get_u8(r, &path) || !buf_get_u8(r, &access) ||
	    !buf_get_u8(r, &skip) ||
	    !buf_get_string(r, &got.text, PATH_LEN_MAX - 1))
		return false;
	got.path = path;
	got.access = access;
	got.skip_missing = skip != 0;
	*out = got;
	return true;
}

int
sandbox_spec_pack(const struct sandbox_spec *s, struct buf *out)
{
	const uint32_t flags =
	    (s->network_enabled ? (uint32_t)FLAG_NETWORK : 0u) |
	    (s->has_roots ? (uint32_t)FLAG_ROOTS : 0u);
	const uint32_t numbers[] = {s->kind, flags, s->glob_scan_max_depth};
	const struct bytes strings[] = {s->cwd, s->roots, s->entries};
	size_t start = out->len;
	int r = 0;

	if (s->kind == SANDBOX_NULL)
		return 0;
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
check_entry(const struct sandbox_entry *entry, struct err *e)
{
	if (entry->path > SANDBOX_PATH_MAX ||
	    entry->access > SANDBOX_ACCESS_MAX)
		return err_set(e, EPROTO, "sandbox: entry out of range");
	switch ((enum sandbox_path)entry->path) {
	case SANDBOX_PATH:
		if (path_is_canonical(entry->text))
			return 0;
		break;
	case SANDBOX_GLOB:
		if (entry->text.len > 0 && !bytes_has_nul(entry->text))
			return 0;
		break;
	case SANDBOX_PROJECT_ROOTS:
		if (path_is_subpath(entry->text))
			return 0;
		break;
	case SANDBOX_ROOT:
	case SANDBOX_MINIMAL:
	case SANDBOX_CWD:
	case SANDBOX_TMPDIR:
	case SANDBOX_SLASH_TMP:
	case SANDBOX_UNKNOWN:
		if (entry->text.len == 0)
			return 0;
		break;
	}
	return err_set(e, EPROTO, "sandbox: bad text of an entry");
}

static int
check_entries(struct bytes entries, struct err *e)
{
	struct sandbox_entry entry;
	struct reader r;
	size_t count = 0;
	int rc;

	reader_init(&r, entries.data, entries.len);
	while (r.left > 0) {
		/* A flag that is neither 0 nor 1 would give one object two
		 * packed forms. */
		if (r.left >= 3 && r.at[2] > 1)
			return err_set(e, EPROTO, "sandbox: bad flag");
		if (count++ == SANDBOX_ENTRIES_MAX ||
		    !sandbox_entry_next(&r, &entry))
			return err_set(e, EPROTO, "sandbox: bad entry %zu",
			    count);
		rc = check_entry(&entry, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
check_roots(struct bytes roots, struct err *e)
{
	struct bytes path;
	struct reader r;
	size_t count;

	if (!strings_check(roots, SANDBOX_ROOTS_MAX, PATH_LEN_MAX - 1, &count))
		return err_set(e, EPROTO, "sandbox: bad list of roots");
	reader_init(&r, roots.data, roots.len);
	while (strings_next(&r, &path))
		if (!path_is_canonical(path))
			return err_set(e, EPROTO, "sandbox: bad root");
	return 0;
}

static int
check_spec(const struct sandbox_spec *s, struct err *e)
{
	int r;

	if (s->kind == SANDBOX_NULL || s->kind > SANDBOX_KIND_MAX)
		return err_set(e, EPROTO, "sandbox: kind out of range");
	if (s->kind != SANDBOX_RESTRICTED &&
	    (s->entries.len > 0 || s->glob_scan_max_depth > 0))
		return err_set(e, EPROTO, "sandbox: entries of another kind");
	if (s->cwd.len > 0 && !path_is_canonical(s->cwd))
		return err_set(e, EPROTO, "sandbox: bad cwd");
	if (!s->has_roots && s->roots.len > 0)
		return err_set(e, EPROTO, "sandbox: roots that are not there");
	r = check_roots(s->roots, e);
	return r < 0 ? r : check_entries(s->entries, e);
}

int
sandbox_spec_unpack(struct bytes packed, struct sandbox_spec *out,
    struct err *e)
{
	struct sandbox_spec s = {0};
	struct bytes *strings[] = {&s.cwd, &s.roots, &s.entries};
	struct reader r;
	uint32_t flags;
	int rc;

	if (packed.len == 0) {
		*out = s;
		return 0;
	}
	if (packed.len > SANDBOX_SPEC_MAX)
		return err_set(e, EPROTO, "sandbox: %zu bytes", packed.len);
	reader_init(&r, packed.data, packed.len);
	if (!buf_get_u32(&r, &s.kind) || !buf_get_u32(&r, &flags) ||
	    !buf_get_u32(&r, &s.glob_scan_max_depth) || flags > FLAGS_ALL)
		return err_set(e, EPROTO, "sandbox: bad head");
	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
		if (!buf_get_string(&r, strings[i], SANDBOX_SPEC_MAX))
			return err_set(e, EPROTO, "sandbox: string %zu", i);
	if (!buf_get_end(&r))
		return err_set(e, EPROTO, "sandbox: %zu bytes too many",
		    r.left);
	s.network_enabled = (flags & FLAG_NETWORK) != 0;
	s.has_roots = (flags & FLAG_ROOTS) != 0;
	rc = check_spec(&s, e);
	if (rc == 0)
		*out = s;
	return rc;
}
