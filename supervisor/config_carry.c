#include "supervisor/config_carry.h"

#include <errno.h>
#include <string.h>

#include "supervisor/config_row.h"

#define NAMES_MAX (16u * 1024u)

/*
 * What counts for the sessions to come; log.level and those of [audit] count
 * for all at once. Everything else was settled when the server started: what it
 * has opened, the ids it has given to roles, the sizes of tables, net's limits.
 */
static const int live[] = {KEY_ENV_SET, KEY_ENV_ALLOW, KEY_ENV_SCRUB,
    KEY_PROFILE, KEY_CHILD_POLICY, KEY_NETWORK, KEY_ATOMIC_WRITES,
    KEY_HTTP_ENABLED, KEY_HTTP_ALLOW, KEY_HTTP_DENY, KEY_HTTP_ALLOW_PRIVATE,
    KEY_HTTP_ALLOW_PUBLIC, KEY_HTTP_PORTS, KEY_HTTP_ENV, KEY_HTTP_RESOLVER,
    KEY_HTTP_PROXY, KEY_HTTP_CA_FILE, KEY_HTTP_MAX_BODY,
    KEY_HTTP_MAX_CONCURRENT, KEY_HTTP_MAX_REDIRECTS, KEY_AUDIT_ON_ERROR,
    KEY_AUDIT_RATE, KEY_AUDIT_BURST, KEY_AUDIT_ARGV, KEY_LOG_LEVEL};

/* Limits that exec alone holds commands to. */
static const char *const live_limits[] = {"tmp_size", "tmp_inodes", "shm_size",
    "child_processes", "child_open_files", "child_file_size", "child_memory",
    "child_cpu_time", "child_wall_time"};

void
config_changes_init(struct config_changes *c)
{
	buf_init(&c->changed, NAMES_MAX);
	buf_init(&c->kept, NAMES_MAX);
}

void
config_changes_done(struct config_changes *c)
{
	buf_done(&c->changed);
	buf_done(&c->kept);
}

/* --- a key's value -------------------------------------------------------- */

static bool
lists_equal(const struct list *a, const struct list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	return true;
}

static bool
texts_equal(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
listen_equal(const void *a, const void *b)
{
	scoped_buf one, other;

	buf_init(&one, 256);
	buf_init(&other, 256);
	return listen_url_put_host(a, &one) == 0 &&
	       listen_url_put_host(b, &other) == 0 &&
	       bytes_equal((struct bytes){one.data, one.len},
		   (struct bytes){other.data, other.len});
}

static bool
rows_equal(const struct config *a, const struct config *b,
    const struct config_row *row)
{
	const void *one = config_member(a, row), *other = config_member(b, row);

	switch (row->kind) {
	case KIND_LISTEN:
		return listen_equal(one, other);
	case KIND_WORD:
	case KIND_NUMBER:
	case KIND_SIZE:
		return *(const uint32_t *)one == *(const uint32_t *)other;
	case KIND_PATH:
	case KIND_NAME:
	case KIND_TEXT:
		return texts_equal(*(char *const *)one, *(char *const *)other);
	case KIND_PATHS:
	case KIND_ENV:
	case KIND_ALLOW:
	case KIND_SCRUB:
	case KIND_LIST:
		break;
	}
	return lists_equal(one, other);
}

static int
copy_text(char **to, const char *from)
{
	char *copy = from != NULL ? strdup(from) : NULL;

	if (from != NULL && copy == NULL)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int
copy_list(struct list *to, const struct list *from)
{
	int r = 0;

	list_clear(to);
	for (size_t i = 0; i < from->count && r == 0; i++)
		r = list_add(to, from->items[i], from->count);
	return r;
}

static int
copy_row(struct config *to, const struct config *from,
    const struct config_row *row)
{
	void *into = (char *)to + row->offset;
	const void *out = config_member(from, row);

	switch (row->kind) {
	case KIND_LISTEN:
		*(struct listen_url *)into = *(const struct listen_url *)out;
		return 0;
	case KIND_WORD:
	case KIND_NUMBER:
	case KIND_SIZE:
		*(uint32_t *)into = *(const uint32_t *)out;
		return 0;
	case KIND_PATH:
	case KIND_NAME:
	case KIND_TEXT:
		return copy_text(into, *(char *const *)out);
	case KIND_PATHS:
	case KIND_ENV:
	case KIND_ALLOW:
	case KIND_SCRUB:
	case KIND_LIST:
		break;
	}
	return copy_list(into, out);
}

/* --- all of them ---------------------------------------------------------- */

static int
put_name(struct buf *out, const char *section, const char *key)
{
	return buf_printf(out, "%s%s.%s", out->len > 0 ? " " : "", section,
	    key);
}

/* Open has no sandbox: to go there or back is a matter of a start. */
static bool
is_live(int key, const struct config *next, const struct config *now,
    bool has_http)
{
	if (key == KEY_PRESET)
		return next->preset != PRESET_OPEN &&
		       now->preset != PRESET_OPEN;
	if (key == KEY_HTTP_ENABLED)
		return has_http;
	for (size_t i = 0; i < sizeof live / sizeof live[0]; i++)
		if (live[i] == key)
			return true;
	return false;
}

static bool
is_live_limit(const char *key)
{
	for (size_t i = 0; i < sizeof live_limits / sizeof live_limits[0]; i++)
		if (strcmp(live_limits[i], key) == 0)
			return true;
	return false;
}

static int
carry_row(struct config *next, const struct config *now, int key, bool has_http,
    struct config_changes *c)
{
	const struct config_row *row = &config_rows[key];
	bool alive = is_live(key, next, now, has_http);
	int r;

	if (rows_equal(next, now, row))
		return 0;
	r = put_name(alive ? &c->changed : &c->kept, row->section, row->key);
	return r < 0 || alive ? r : copy_row(next, now, row);
}

static int
carry_limit(struct config *next, const struct config *now, unsigned int i,
    struct config_changes *c)
{
	uint64_t was = limits_get(&now->limits, i);
	bool alive = is_live_limit(limit_rows[i].key);
	int r;

	if (limits_get(&next->limits, i) == was)
		return 0;
	r = put_name(alive ? &c->changed : &c->kept, "limits",
	    limit_rows[i].key);
	if (r == 0 && !alive)
		limits_set(&next->limits, i, was);
	return r;
}

/* The profile in force may have other rules under the same name. */
static int
carry_profile(const struct config *next, const struct config *now,
    struct config_changes *c)
{
	const struct config_profile *a = config_profile_of(next);
	const struct config_profile *b = config_profile_of(now);
	scoped_buf one, other;
	int r = 0;

	buf_init(&one, 256u * 1024u);
	buf_init(&other, 256u * 1024u);
	if (a != NULL)
		r = config_profile_put(a, &one);
	if (r == 0 && b != NULL)
		r = config_profile_put(b, &other);
	if (r < 0 || !texts_equal(next->profile, now->profile) ||
	    bytes_equal((struct bytes){one.data, one.len},
		(struct bytes){other.data, other.len}))
		return r;
	return put_name(&c->changed, "profile", next->profile);
}

/* What the preset decides is not settled before config_finish. */
static bool
is_derived(const struct config *next, int key)
{
	return (key == KEY_NETWORK || key == KEY_HTTP_ENABLED) &&
	       next->level[key] < CONFIG_PRESET;
}

int
config_carry(struct config *next, const struct config *now, bool has_http,
    struct config_changes *c)
{
	int r = 0;

	for (int key = 0; key < CONFIG_KEYS && r == 0; key++)
		if (!is_derived(next, key))
			r = carry_row(next, now, key, has_http, c);
	for (unsigned int i = 0; i < LIMIT_ROWS && r == 0; i++)
		r = carry_limit(next, now, i, c);
	return r < 0 ? r : carry_profile(next, now, c);
}
