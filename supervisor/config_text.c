/* The configuration as text: for its hash, for a person, for those who ask. */
#include <errno.h>
#include <string.h>

#include "supervisor/config.h"
#include "supervisor/config_row.h"
#include "supervisor/config_value.h"

/* Only the name of "NAME=VALUE": a value may be a secret. */
static int
put_items(const struct config_row *row, const struct list *l, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < l->count && r == 0; i++) {
		const char *item = l->items[i];
		size_t len =
		    row->kind == KIND_ENV ? strcspn(item, "=") : strlen(item);

		r = buf_printf(out, "%s.%s = ", row->section, row->key);
		if (r == 0)
			r = buf_put(out, item, len);
		if (r == 0)
			r = buf_put_u8(out, '\n');
	}
	return r;
}

static const char *
name_of(const struct config *c, const struct config_row *row)
{
	char *const *at = config_member(c, row);

	return *at != NULL ? *at : "";
}

static int
put_row(const struct config *c, const struct config_row *row, struct buf *out)
{
	const void *at = config_member(c, row);

	switch (row->kind) {
	case KIND_WORD:
		return buf_printf(out, "%s.%s = %s\n", row->section, row->key,
		    row->words[*(const uint32_t *)at]);
	case KIND_NUMBER:
		return buf_printf(out, "%s.%s = %u\n", row->section, row->key,
		    *(const uint32_t *)at);
	case KIND_PATHS:
	case KIND_ENV:
	case KIND_ALLOW:
	case KIND_SCRUB:
	case KIND_LIST:
		return put_items(row, at, out);
	case KIND_SIZE:
		return buf_printf(out, "%s.%s = %u\n", row->section, row->key,
		    *(const uint32_t *)at);
	case KIND_TEXT:
	case KIND_NAME:
		return buf_printf(out, "%s.%s = %s\n", row->section, row->key,
		    name_of(c, row));
	case KIND_LISTEN:
	case KIND_PATH:
		break; /* where the server is and logs is no right of a child */
	}
	return 0;
}

/* What is told of a child is no right of it either. */
static bool
is_audit(size_t key)
{
	return strcmp(config_rows[key].section, "audit") == 0;
}

int
config_put_policy(const struct config *c, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < CONFIG_KEYS && r == 0; i++)
		if (i != KEY_LOG_LEVEL && !is_audit(i))
			r = put_row(c, &config_rows[i], out);
	if (r == 0 && config_profile_of(c) != NULL)
		r = config_profile_put(config_profile_of(c), out);
	for (unsigned int i = 0; i < LIMIT_ROWS && r == 0; i++) {
		r = buf_printf(out, "limits.%s = ", limit_rows[i].key);
		if (r == 0)
			r = value_put(limits_get(&c->limits, i),
			    limit_rows[i].unit, out);
		if (r == 0)
			r = buf_put_u8(out, '\n');
	}
	return r;
}

static int
put_row_help(const struct config_row *row, struct buf *out)
{
	int r = buf_printf(out, "  %s.%s = ", row->section, row->key);

	for (size_t i = 0; row->words != NULL && row->words[i] != NULL; i++)
		if (r == 0)
			r = buf_printf(out, "%s%s", i > 0 ? "|" : "",
			    row->words[i]);
	if (r == 0 && row->words == NULL)
		r = buf_printf(out, "%s",
		    row->kind == KIND_LISTEN   ? "ws://IP:PORT"
		    : row->kind == KIND_NUMBER ? "NUMBER"
		    : row->kind == KIND_NAME   ? "NAME"
		    : row->kind == KIND_SIZE   ? "SIZE"
		    : row->kind == KIND_TEXT   ? "VALUE"
		    : row->kind == KIND_LIST   ? "VALUE"
		    : row->kind == KIND_ENV    ? "NAME=VALUE"
		    : row->kind >= KIND_ALLOW  ? "PATTERN"
					       : "PATH");
	if (r == 0 && row->def != NULL)
		r = buf_printf(out, " (default %s)", row->def);
	return r < 0 ? r : buf_printf(out, "\n      %s\n", row->help);
}

static int
put_limit_help(const struct limit_row *row, struct buf *out)
{
	static const char *const kinds[] = {
	    [LIMIT_MS] = "DURATION",
	    [LIMIT_BYTES] = "SIZE",
	    [LIMIT_COUNT] = "NUMBER",
	};
	int r = buf_printf(out, "  limits.%s = %s (default ", row->key,
	    kinds[row->unit]);

	if (r == 0)
		r = value_put(row->def, row->unit, out);
	if (r == 0)
		r = buf_printf(out, ", ");
	if (r == 0)
		r = value_put(row->min, row->unit, out);
	if (r == 0)
		r = buf_printf(out, " to ");
	if (r == 0)
		r = value_put(row->max, row->unit, out);
	return r < 0 ? r : buf_printf(out, ")\n      %s\n", row->reason);
}

int
config_put_help(struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < CONFIG_KEYS && r == 0; i++)
		r = put_row_help(&config_rows[i], out);
	for (unsigned int i = 0; i < LIMIT_ROWS && r == 0; i++)
		r = put_limit_help(&limit_rows[i], out);
	return r;
}

/* --- showing -------------------------------------------------------------- */

static int
get_item(const struct config_row *row, const struct list *l, size_t item,
    struct buf *value)
{
	const char *text =
	    row->kind == KIND_ENV ? strchr(l->items[item], '=') : NULL;
	size_t len = text != NULL ? (size_t)(text - l->items[item])
				  : strlen(l->items[item]);

	return buf_put(value, l->items[item], len);
}

static int
get_row(const struct config *c, const struct config_row *row, size_t item,
    struct buf *value)
{
	const void *at = config_member(c, row);

	switch (row->kind) {
	case KIND_LISTEN:
		return listen_url_put_host(at, value);
	case KIND_WORD:
		return buf_printf(value, "%s",
		    row->words[*(const uint32_t *)at]);
	case KIND_NUMBER:
		return buf_printf(value, "%u", *(const uint32_t *)at);
	case KIND_SIZE:
		return value_put(*(const uint32_t *)at, LIMIT_BYTES, value);
	case KIND_TEXT:
	case KIND_PATH:
	case KIND_NAME:
		return buf_printf(value, "%s", name_of(c, row));
	case KIND_PATHS:
	case KIND_ENV:
	case KIND_ALLOW:
	case KIND_SCRUB:
	case KIND_LIST:
		break;
	}
	return get_item(row, at, item, value);
}

/* How many items a key has. */
static size_t
count_items(const struct config *c, int k)
{
	const struct list *l;

	if (!config_is_list(k))
		return 1;
	l = config_member(c, &config_rows[k]);
	return l->count;
}

static const struct config_note *
note_of(const struct config *c, int k, size_t item)
{
	const struct list *l;

	if (!config_is_list(k))
		return config_notes_find(&c->notes, k, NULL);
	l = config_member(c, &config_rows[k]);
	return config_notes_find(&c->notes, k, l->items[item]);
}

int
config_get(const struct config *c, int k, size_t item, struct buf *name,
    struct buf *value, const struct config_note **note)
{
	bool limit = k >= CONFIG_KEYS;
	const struct limit_row *l = limit ? &limit_rows[k - CONFIG_KEYS] : NULL;
	int r;

	if (item >= count_items(c, k))
		return -ENOENT;
	buf_clear(name);
	buf_clear(value);
	*note = note_of(c, k, item);
	r = buf_printf(name, "%s.%s", limit ? "limits" : config_rows[k].section,
	    limit ? l->key : config_rows[k].key);
	if (r < 0)
		return r;
	if (limit)
		return value_put(limits_get(&c->limits,
				     (unsigned int)(k - CONFIG_KEYS)),
		    l->unit, value);
	return get_row(c, &config_rows[k], item, value);
}
