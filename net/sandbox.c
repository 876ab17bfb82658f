#include "net/sandbox.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/path.h"
#include "net/uri.h"

/* What is made while an object is read. */
struct decoder {
	struct sandbox_spec spec;
	struct buf path, cwd, roots, entries;
};

/* A word of the protocol and its number. */
struct word {
	const char *text;
	uint32_t value;
};

/* --- members ------------------------------------------------------------- */

static int
wrong_type(const char *name, const char *expected, struct err *e)
{
	return err_set(e, EINVAL, "invalid type, expected %s for `%s`",
	    expected, name);
}

static const json_t *
member(const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);

	return json_is_null(v) ? NULL : v;
}

static struct bytes
text_of(const json_t *v)
{
	return (struct bytes){
	    .data = (const uint8_t *)json_string_value(v),
	    .len = json_string_length(v),
	};
}

/* A string member. One that is absent is empty, or an error if needed. */
static int
get_text(const json_t *object, const char *name, bool needed, struct bytes *out,
    struct err *e)
{
	const json_t *v = member(object, name);

	*out = (struct bytes){0};
	if (v == NULL)
		return needed ? err_set(e, EINVAL, "missing field `%s`", name)
			      : 0;
	if (!json_is_string(v))
		return wrong_type(name, "a string", e);
	*out = text_of(v);
	return 0;
}

static int
get_object(const json_t *object, const char *name, const json_t **out,
    struct err *e)
{
	*out = member(object, name);
	if (*out == NULL)
		return err_set(e, EINVAL, "missing field `%s`", name);
	return json_is_object(*out) ? 0 : wrong_type(name, "an object", e);
}

/* A string member that is one of the words. */
static int
get_word(const json_t *object, const char *name, const struct word *words,
    uint32_t *out, struct err *e)
{
	struct bytes text;
	int r = get_text(object, name, true, &text, e);

	if (r < 0)
		return r;
	for (; words->text != NULL; words++) {
		if (!bytes_is(text, words->text))
			continue;
		*out = words->value;
		return 0;
	}
	return err_set(e, EINVAL, "unknown variant `%.*s` for `%s`",
	    text.len > 40 ? 40 : (int)text.len, (const char *)text.data, name);
}

/* The path of a URI; it stays in d->path until the next one. */
static int
get_path(struct decoder *d, const json_t *uri, const char *name,
    struct bytes *out, struct err *e)
{
	struct err why = {0};
	int r;

	if (!json_is_string(uri))
		return wrong_type(name, "a string", e);
	r = uri_to_path(text_of(uri), &d->path, &why);
	if (r == -ENOMEM)
		return err_set(e, ENOMEM, "out of memory");
	if (r < 0)
		return err_set(e, EINVAL, "`%s`: %.120s", name, why.text);
	*out = (struct bytes){.data = d->path.data, .len = d->path.len};
	return 0;
}

static int
too_large(int r, struct err *e)
{
	if (r == -EMSGSIZE)
		return err_set(e, EINVAL,
		    "`sandbox` is too large: at most %u "
		    "bytes",
		    SANDBOX_SPEC_MAX);
	return r < 0 ? err_set(e, -r, "out of memory") : 0;
}

/* --- entries ------------------------------------------------------------- */

static int
decode_subpath(const json_t *value, struct bytes *out, struct err *e)
{
	int r = get_text(value, "subpath", false, out, e);

	while (r == 0 && out->len > 0 && out->data[out->len - 1] == '/')
		out->len--;
	if (r == 0 && !path_is_subpath(*out))
		return err_set(e, EINVAL,
		    "`subpath` must be a relative path without . and ..");
	return r;
}

static int
decode_special(const json_t *path, struct sandbox_entry *entry, struct err *e)
{
	static const struct word kinds[] = {
	    {"root", SANDBOX_ROOT},
	    {"minimal", SANDBOX_MINIMAL},
	    {"current_working_directory", SANDBOX_CWD},
	    {"project_roots", SANDBOX_PROJECT_ROOTS},
	    {"tmpdir", SANDBOX_TMPDIR},
	    {"slash_tmp", SANDBOX_SLASH_TMP},
	    {"unknown", SANDBOX_UNKNOWN},
	    {0},
	};
	const json_t *value;
	int r = get_object(path, "value", &value, e);

	if (r == 0)
		r = get_word(value, "kind", kinds, &entry->path, e);
	if (r == 0 && entry->path == SANDBOX_PROJECT_ROOTS)
		r = decode_subpath(value, &entry->text, e);
	return r;
}

static int
decode_glob(const json_t *path, struct sandbox_entry *entry, struct err *e)
{
	int r = get_text(path, "pattern", true, &entry->text, e);

	if (r < 0)
		return r;
	if (entry->text.len == 0 || entry->text.len >= PATH_LEN_MAX ||
	    bytes_has_nul(entry->text))
		return err_set(e, EINVAL,
		    "`pattern` must have 1 to %d bytes, none of them 0",
		    PATH_LEN_MAX - 1);
	return 0;
}

static int
decode_entry_path(struct decoder *d, const json_t *object,
    struct sandbox_entry *entry, struct err *e)
{
	static const struct word types[] = {
	    {"path", SANDBOX_PATH},
	    {"glob_pattern", SANDBOX_GLOB},
	    {"special", SANDBOX_ROOT},
	    {0},
	};
	const json_t *path, *uri;
	int r = get_object(object, "path", &path, e);

	if (r == 0)
		r = get_word(path, "type", types, &entry->path, e);
	if (r < 0)
		return r;
	if (entry->path == SANDBOX_GLOB)
		return decode_glob(path, entry, e);
	if (entry->path == SANDBOX_ROOT)
		return decode_special(path, entry, e);
	uri = member(path, "path");
	if (uri == NULL)
		return err_set(e, EINVAL, "missing field `path`");
	return get_path(d, uri, "path", &entry->text, e);
}

static int
decode_entry(struct decoder *d, const json_t *object, struct err *e)
{
	static const struct word accesses[] = {
	    {"read", SANDBOX_READ},
	    {"write", SANDBOX_WRITE},
	    {"deny", SANDBOX_DENY},
	    {"none", SANDBOX_DENY},
	    {0},
	};
	static const struct word missing[] = {{"skip", 1}, {0}};
	struct sandbox_entry entry = {0};
	uint32_t skip = 0;
	int r;

	if (!json_is_object(object))
		return wrong_type("entries", "objects", e);
	r = decode_entry_path(d, object, &entry, e);
	if (r == 0)
		r = get_word(object, "access", accesses, &entry.access, e);
	if (r == 0 && member(object, "missing_path_behavior") != NULL)
		r = get_word(object, "missing_path_behavior", missing, &skip,
		    e);
	if (r < 0)
		return r;
	entry.skip_missing = skip != 0;
	return too_large(sandbox_entry_put(&d->entries, &entry), e);
}

static int
decode_restricted(struct decoder *d, const json_t *fs, struct err *e)
{
	const json_t *entries = member(fs, "entries");
	const json_t *depth = member(fs, "glob_scan_max_depth");
	const json_t *entry;
	size_t i;

	d->spec.kind = SANDBOX_RESTRICTED;
	if (entries == NULL)
		return err_set(e, EINVAL, "missing field `entries`");
	if (!json_is_array(entries))
		return wrong_type("entries", "an array", e);
	if (json_array_size(entries) > SANDBOX_ENTRIES_MAX)
		return err_set(e, EINVAL, "`entries` has more than %d items",
		    SANDBOX_ENTRIES_MAX);
	if (depth != NULL &&
	    (!json_is_integer(depth) || json_integer_value(depth) < 1))
		return wrong_type("glob_scan_max_depth",
		    "an integer of at least 1", e);
	if (depth != NULL)
		d->spec.glob_scan_max_depth =
		    json_integer_value(depth) > UINT32_MAX
			? UINT32_MAX
			: (uint32_t)json_integer_value(depth);
	json_array_foreach(entries, i, entry)
	{
		int r = decode_entry(d, entry, e);

		if (r < 0)
			return r;
	}
	return 0;
}

/* --- the object ---------------------------------------------------------- */

static int
decode_file_system(struct decoder *d, const json_t *permissions, struct err *e)
{
	static const struct word types[] = {
	    {"restricted", SANDBOX_RESTRICTED},
	    {"unrestricted", SANDBOX_UNRESTRICTED},
	    {0},
	};
	const json_t *fs;
	int r = get_object(permissions, "file_system", &fs, e);

	if (r == 0)
		r = get_word(fs, "type", types, &d->spec.kind, e);
	if (r == 0 && d->spec.kind == SANDBOX_RESTRICTED)
		r = decode_restricted(d, fs, e);
	return r;
}

static int
decode_permissions(struct decoder *d, const json_t *object, struct err *e)
{
	static const struct word types[] = {
	    {"managed", SANDBOX_RESTRICTED},
	    {"disabled", SANDBOX_DISABLED},
	    {"external", SANDBOX_EXTERNAL},
	    {0},
	};
	static const struct word networks[] = {{"restricted", 0},
	    {"enabled", 1}, {0}};
	const json_t *permissions;
	uint32_t network = 1;
	int r = get_object(object, "permissions", &permissions, e);

	if (r == 0)
		r = get_word(permissions, "type", types, &d->spec.kind, e);
	if (r == 0 && d->spec.kind == SANDBOX_RESTRICTED)
		r = decode_file_system(d, permissions, e);
	if (r == 0 && d->spec.kind != SANDBOX_DISABLED)
		r = get_word(permissions, "network", networks, &network, e);
	d->spec.network_enabled = network != 0;
	return r;
}

static int
decode_cwd(struct decoder *d, const json_t *object, struct err *e)
{
	const json_t *cwd = member(object, "cwd");
	struct bytes path;
	int r;

	if (cwd == NULL)
		return 0;
	r = get_path(d, cwd, "cwd", &path, e);
	if (r == 0)
		r = too_large(buf_put(&d->cwd, path.data, path.len), e);
	d->spec.cwd = (struct bytes){.data = d->cwd.data, .len = d->cwd.len};
	return r;
}

static int
decode_roots(struct decoder *d, const json_t *object, struct err *e)
{
	const json_t *roots = member(object, "workspaceRoots"), *root;
	struct bytes path;
	size_t i;
	int r;

	if (roots == NULL)
		return 0;
	if (!json_is_array(roots))
		return wrong_type("workspaceRoots", "an array", e);
	if (json_array_size(roots) > SANDBOX_ROOTS_MAX)
		return err_set(e, EINVAL,
		    "`workspaceRoots` has more than %d items",
		    SANDBOX_ROOTS_MAX);
	d->spec.has_roots = true;
	json_array_foreach(roots, i, root)
	{
		r = get_path(d, root, "workspaceRoots", &path, e);
		if (r == 0)
			r = too_large(buf_put_string(&d->roots, path.data,
					  path.len),
			    e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What the stricter reference insists on, though it means nothing here. */
static int
check_others(const json_t *object, struct err *e)
{
	static const char *const bools[] = {"windowsSandboxPrivateDesktop",
	    "useLegacyLandlock"};
	static const struct word levels[] = {{"disabled", 0},
	    {"restricted-token", 0}, {"elevated", 0}, {"mxc", 0}, {0}};
	uint32_t level;
	int r = get_word(object, "windowsSandboxLevel", levels, &level, e);

	for (size_t i = 0; i < sizeof bools / sizeof bools[0]; i++) {
		const json_t *v = member(object, bools[i]);

		if (r == 0 && v != NULL && !json_is_boolean(v))
			return wrong_type(bools[i], "a boolean", e);
	}
	return r;
}

static int
decode_object(struct decoder *d, const json_t *object, bool strict,
    struct err *e)
{
	int r = decode_permissions(d, object, e);

	if (r == 0)
		r = decode_cwd(d, object, e);
	if (r == 0)
		r = decode_roots(d, object, e);
	if (r == 0 && strict)
		r = check_others(object, e);
	return r;
}

int
sandbox_decode(const json_t *object, bool strict, struct sandbox *out,
    struct err *e)
{
	struct decoder d = {
	    .path = {.max = PATH_LEN_MAX - 1},
	    .cwd = {.max = PATH_LEN_MAX - 1},
	    .roots = {.max = SANDBOX_SPEC_MAX},
	    .entries = {.max = SANDBOX_SPEC_MAX},
	};
	int r;

	*out = (struct sandbox){.kind = SANDBOX_NULL};
	buf_init(&out->packed, SANDBOX_SPEC_MAX);
	if (object == NULL)
		return 0;
	r = decode_object(&d, object, strict, e);
	d.spec.roots = (struct bytes){.data = d.roots.data, .len = d.roots.len};
	d.spec.entries =
	    (struct bytes){.data = d.entries.data, .len = d.entries.len};
	if (r == 0)
		r = too_large(sandbox_spec_pack(&d.spec, &out->packed), e);
	if (r == 0) {
		out->kind = (enum sandbox_kind)d.spec.kind;
		out->network_enabled = d.spec.network_enabled;
	}
	buf_done(&d.path);
	buf_done(&d.cwd);
	buf_done(&d.roots);
	buf_done(&d.entries);
	return r;
}

void
sandbox_done(struct sandbox *s)
{
	buf_done(&s->packed);
}

const char *
sandbox_unenforceable(const struct sandbox *s, bool isolated)
{
	if (s->kind == SANDBOX_RESTRICTED)
		return "Codex process filesystem sandbox restrictions cannot "
		       "be enforced by the backend.";
	if (s->kind != SANDBOX_NULL && !s->network_enabled && !isolated)
		return "Codex network restrictions cannot be enforced by the "
		       "sandbox backend.";
	return NULL;
}
