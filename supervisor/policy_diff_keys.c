/* Which change of a key lets a command, a request or an attacker do more. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "privsep/http_policy.h"
#include "supervisor/config_row.h"
#include "supervisor/policy_diff.h"

enum widening {
	WIDENS_UNKNOWN, /* nobody has said so: a test fails */
	WIDENS_NOT,	/* it is no right of anybody's */
	WIDENS_WHOLE,	/* compared by what it gives, elsewhere */
	WIDENS_UP,	/* a larger number, a later word */
	WIDENS_DOWN,	/* the opposite */
	WIDENS_LESS,	/* the same, where 0 is no bound */
	WIDENS_CHANGED, /* whatever it becomes: nobody can say it is less */
	WIDENS_GONE,	/* it was set and is not, or is something else */
	WIDENS_MORE,	/* an item that was not there */
	WIDENS_FEWER,	/* an item that is gone */
	WIDENS_HOSTS,	/* the same of rules of hosts, which may cover others */
	WIDENS_UNHOSTS,
	WIDENS_PORTS,  /* none at all means every port */
	WIDENS_VALUES, /* NAME=VALUE: a new name, another value */
	WIDENS_ID,     /* a user id that somebody else may have */
};

/* Ids below belong to people and services of the host, by custom. */
#define HOST_IDS_MAX 65535

static const enum widening widenings[CONFIG_KEYS] = {
    [KEY_LISTEN] = WIDENS_NOT, /* nothing but loopback is taken */
    [KEY_WORKSPACE] = WIDENS_WHOLE,
    [KEY_COMPAT] = WIDENS_NOT,
    [KEY_ENV_SET] = WIDENS_VALUES,
    [KEY_ENV_ALLOW] = WIDENS_MORE,
    [KEY_ENV_SCRUB] = WIDENS_FEWER,
    [KEY_PRESET] = WIDENS_WHOLE,
    [KEY_PROFILE] = WIDENS_WHOLE,
    [KEY_CHILD_POLICY] = WIDENS_WHOLE,
    [KEY_ALLOW_ROOT] = WIDENS_UP,
    [KEY_DEGRADED] = WIDENS_UP,
    [KEY_UID_BASE] = WIDENS_ID,
    [KEY_NET_UID] = WIDENS_ID,
    [KEY_HTTP_UID] = WIDENS_ID,
    [KEY_NETWORK] = WIDENS_UP,
    [KEY_ATOMIC_WRITES] = WIDENS_NOT,
    [KEY_BACKEND_TYPE] = WIDENS_CHANGED,
    [KEY_BACKEND_TARGET] = WIDENS_CHANGED,
    [KEY_BACKEND_START] = WIDENS_CHANGED,
    [KEY_BACKEND_SIGNAL] = WIDENS_CHANGED,
    [KEY_BACKEND_PREPARE] = WIDENS_CHANGED,
    [KEY_BACKEND_TERMINATE] = WIDENS_CHANGED,
    [KEY_BACKEND_FINALIZE] = WIDENS_CHANGED,
    [KEY_BACKEND_UID] = WIDENS_CHANGED,
    [KEY_BACKEND_GID] = WIDENS_CHANGED,
    [KEY_BACKEND_SOCKET] = WIDENS_MORE,
    [KEY_BACKEND_ISOLATED] = WIDENS_UP,
    [KEY_BACKEND_INSPECT] = WIDENS_CHANGED,
    [KEY_BACKEND_HTTP] = WIDENS_UP,
    [KEY_BACKEND_FILES] = WIDENS_UP,
    [KEY_BACKEND_BIND] = WIDENS_CHANGED,
    [KEY_BACKEND_WORKER] = WIDENS_CHANGED,
    [KEY_BACKEND_LOST_STATUS] = WIDENS_NOT,
    [KEY_HTTP_ENABLED] = WIDENS_UP,
    [KEY_HTTP_ALLOW] = WIDENS_HOSTS,
    [KEY_HTTP_DENY] = WIDENS_UNHOSTS,
    [KEY_HTTP_ALLOW_PRIVATE] = WIDENS_UP,
    [KEY_HTTP_ALLOW_PUBLIC] = WIDENS_UP,
    [KEY_HTTP_PORTS] = WIDENS_PORTS,
    [KEY_HTTP_ENV] = WIDENS_MORE,
    [KEY_HTTP_RESOLVER] = WIDENS_CHANGED,
    [KEY_HTTP_PROXY] = WIDENS_CHANGED,
    [KEY_HTTP_CA_FILE] = WIDENS_CHANGED,
    [KEY_HTTP_MAX_BODY] = WIDENS_UP,
    [KEY_HTTP_MAX_CONCURRENT] = WIDENS_UP,
    [KEY_HTTP_MAX_REDIRECTS] = WIDENS_UP,
    [KEY_AUDIT_FILE] = WIDENS_GONE,
    [KEY_AUDIT_SOCKET] = WIDENS_GONE,
    [KEY_AUDIT_STDERR] = WIDENS_DOWN,
    [KEY_AUDIT_ON_ERROR] = WIDENS_DOWN,
    [KEY_AUDIT_RATE] = WIDENS_LESS,
    [KEY_AUDIT_BURST] = WIDENS_DOWN,
    [KEY_AUDIT_ARGV] = WIDENS_DOWN,
    [KEY_AUDIT_CHAIN] = WIDENS_DOWN,
    [KEY_AUDIT_KEY_FILE] = WIDENS_GONE,
    [KEY_LOG_LEVEL] = WIDENS_NOT,
};

bool
policy_diff_knows(int key)
{
	return widenings[key] != WIDENS_UNKNOWN;
}

/* --- values --------------------------------------------------------------- */

static uint32_t
number_of(const struct config *c, int key)
{
	return *(const uint32_t *)config_member(c, &config_rows[key]);
}

static const struct list *
list_of(const struct config *c, int key)
{
	return config_member(c, &config_rows[key]);
}

static int
text_of(const struct config *c, int key, struct buf *out)
{
	const struct config_note *note;
	scoped_buf name;
	int r;

	buf_init(&name, 256);
	r = config_get(c, key, 0, &name, out, &note);
	if (r == 0 && out->len == 0)
		r = buf_printf(out, "nothing");
	return r < 0 ? r : buf_put_u8(out, 0);
}

/* Tell that a key with one value is wider. */
static int
tell_key(struct policy_diff *d, int key)
{
	const struct config_row *row = &config_rows[key];
	scoped_buf a, b;
	char what[64];
	int r;

	buf_init(&a, PATH_LEN_MAX + 16);
	buf_init(&b, PATH_LEN_MAX + 16);
	r = text_of(d->a, key, &a);
	if (r == 0)
		r = text_of(d->b, key, &b);
	if (r < 0)
		return r;
	(void)snprintf(what, sizeof what, "%s.%s", row->section, row->key);
	policy_diff_tell(d, what, (const char *)b.data, (const char *)a.data);
	return 0;
}

/* Tell that one item of a list makes it wider; len bytes of it are shown. */
static void
tell_item(struct policy_diff *d, int key, const char *item, size_t len,
    bool gone)
{
	const struct config_row *row = &config_rows[key];
	char what[400];

	(void)snprintf(what, sizeof what, "%s.%s %.*s", row->section, row->key,
	    (int)(len > 260 ? 260 : len), item);
	policy_diff_tell(d, what, gone ? "not in the list" : "in the list",
	    gone ? "in the list" : "not in the list");
}

static const char *
string_of(const struct config *c, int key)
{
	char *const *at = config_member(c, &config_rows[key]);

	return *at != NULL ? *at : "";
}

/* Whether the values of a key that is no list differ. */
static bool
is_changed(const struct policy_diff *d, int key)
{
	enum config_kind kind = config_rows[key].kind;

	return kind == KIND_PATH || kind == KIND_NAME || kind == KIND_TEXT
		   ? strcmp(string_of(d->a, key), string_of(d->b, key)) != 0
		   : number_of(d->a, key) != number_of(d->b, key);
}

/* --- lists ---------------------------------------------------------------- */

/* Each item of more that is not in fewer. */
static void
compare_items(struct policy_diff *d, int key, const struct list *more,
    const struct list *fewer, bool gone)
{
	for (size_t i = 0; i < more->count; i++)
		if (!list_has(fewer, more->items[i]))
			tell_item(d, key, more->items[i],
			    strlen(more->items[i]), gone);
}

/* Whether rule a is about everything that b is about. */
static bool
covers(const char *a_text, const char *b_text)
{
	struct http_rule a, b;

	/* Both have passed when the configuration was read. */
	if (http_rule_parse(bytes_of(a_text), &a, NULL) < 0 ||
	    http_rule_parse(bytes_of(b_text), &b, NULL) < 0 ||
	    (a.port != 0 && a.port != b.port) ||
	    (a.name[0] == '\0') != (b.name[0] == '\0'))
		return false;
	if (a.name[0] == '\0')
		return a.prefix <= b.prefix &&
		       http_rule_holds(&a, &b.address, b.port);
	if (b.below && !a.below)
		return false;
	if (b.below && strcmp(a.name, b.name) == 0)
		return true;
	return http_rule_names(&a, b.name, b.port);
}

static void
compare_hosts(struct policy_diff *d, int key, const struct list *more,
    const struct list *fewer, bool gone)
{
	for (size_t i = 0; i < more->count; i++) {
		bool covered = false;

		for (size_t j = 0; j < fewer->count && !covered; j++)
			covered = covers(fewer->items[j], more->items[i]);
		if (!covered)
			tell_item(d, key, more->items[i],
			    strlen(more->items[i]), gone);
	}
}

static void
compare_ports(struct policy_diff *d, int key)
{
	const struct list *a = list_of(d->a, key), *b = list_of(d->b, key);

	if (a->count > 0 && b->count == 0)
		policy_diff_tell(d, "http.ports", "every port", "a list");
	else if (a->count > 0)
		compare_items(d, key, b, a, false);
}

/* Names alone are shown: a value may be a secret. */
static void
compare_values(struct policy_diff *d, int key)
{
	const struct list *a = list_of(d->a, key), *b = list_of(d->b, key);

	for (size_t i = 0; i < b->count; i++) {
		const char *item = b->items[i], *was = NULL;
		size_t len = strcspn(item, "=") + 1;
		char what[400];

		for (size_t j = 0; j < a->count; j++)
			if (strncmp(a->items[j], item, len) == 0)
				was = a->items[j];
		if (was == NULL)
			tell_item(d, key, item, len - 1, false);
		if (was == NULL || strcmp(was, item) == 0)
			continue;
		(void)snprintf(what, sizeof what, "env.set %.*s",
		    (int)(len > 260 ? 260 : len - 1), item);
		policy_diff_tell(d, what, "another value", "not this one");
	}
}

/* --- keys ----------------------------------------------------------------- */

/* Whether a key with one value is wider in b. */
static bool
is_wider(const struct policy_diff *d, int key)
{
	switch (widenings[key]) {
	case WIDENS_UP:
		return number_of(d->b, key) > number_of(d->a, key);
	case WIDENS_DOWN:
		return number_of(d->b, key) < number_of(d->a, key);
	case WIDENS_LESS:
		return number_of(d->b, key) - 1 < number_of(d->a, key) - 1;
	case WIDENS_ID:
		return number_of(d->b, key) != number_of(d->a, key) &&
		       number_of(d->b, key) <= HOST_IDS_MAX;
	case WIDENS_CHANGED:
		return is_changed(d, key);
	case WIDENS_GONE:
		return string_of(d->a, key)[0] != '\0' && is_changed(d, key);
	case WIDENS_UNKNOWN:
	case WIDENS_NOT:
	case WIDENS_WHOLE:
	case WIDENS_MORE:
	case WIDENS_FEWER:
	case WIDENS_HOSTS:
	case WIDENS_UNHOSTS:
	case WIDENS_PORTS:
	case WIDENS_VALUES:
		break;
	}
	return false;
}

static void
compare_list(struct policy_diff *d, int key)
{
	const struct list *a = list_of(d->a, key), *b = list_of(d->b, key);

	if (widenings[key] == WIDENS_MORE)
		compare_items(d, key, b, a, false);
	else if (widenings[key] == WIDENS_FEWER)
		compare_items(d, key, a, b, true);
	else if (widenings[key] == WIDENS_HOSTS)
		compare_hosts(d, key, b, a, false);
	else if (widenings[key] == WIDENS_UNHOSTS)
		compare_hosts(d, key, a, b, true);
	else if (widenings[key] == WIDENS_PORTS)
		compare_ports(d, key);
	else if (widenings[key] == WIDENS_VALUES)
		compare_values(d, key);
}

/* What guards requests says nothing where there are none, and all is new
 * where there were none. */
static bool
is_moot(const struct policy_diff *d, int key)
{
	return strcmp(config_rows[key].section, "http") == 0 &&
	       key != KEY_HTTP_ENABLED &&
	       (!d->a->http.enabled || !d->b->http.enabled);
}

int
policy_diff_keys(struct policy_diff *d)
{
	int r = 0;

	for (int key = 0; key < CONFIG_KEYS && r == 0; key++) {
		if (is_moot(d, key))
			continue;
		if (config_is_list(key))
			compare_list(d, key);
		else if (is_wider(d, key))
			r = tell_key(d, key);
	}
	return r;
}

/* --- limits --------------------------------------------------------------- */

/* What a program has of something is not limited by 0; what the server keeps
 * is then nothing. */
uint64_t
policy_diff_limit(unsigned int row, uint64_t value)
{
	const char *key = limit_rows[row].key;
	bool of_program = strncmp(key, "child_", 6) == 0 ||
			  strcmp(key, "session_memory_total") == 0 ||
			  strcmp(key, "session_processes_total") == 0 ||
			  strcmp(key, "session_cpu_percent") == 0;
	bool none = value == 0 && limit_rows[row].min == 0 && of_program;

	return none ? UINT64_MAX : value;
}

void
policy_diff_limits(struct policy_diff *d)
{
	for (unsigned int i = 0; i < LIMIT_ROWS; i++) {
		uint64_t a = limits_get(&d->a->limits, i);
		uint64_t b = limits_get(&d->b->limits, i);
		char what[64], now[24], was[24];

		if (policy_diff_limit(i, b) <= policy_diff_limit(i, a))
			continue;
		(void)snprintf(what, sizeof what, "limits.%s",
		    limit_rows[i].key);
		(void)snprintf(now, sizeof now, "%llu", (unsigned long long)b);
		(void)snprintf(was, sizeof was, "%llu", (unsigned long long)a);
		policy_diff_tell(d, what, now, was);
	}
}
