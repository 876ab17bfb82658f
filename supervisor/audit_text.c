#include "supervisor/audit_text.h"

#include <errno.h>
#include <string.h>

#include "privsep/pack.h"
#include "supervisor/jsontext.h"

#define NAME_MAX_LEN 64 /* bytes of an event's or a pair's name */

/* What the supervisor alone puts into a line. */
static const char *const own_names[] = {"v", "time", "role", "event", "dropped",
    "seq", "hash"};

static bool
is_name(struct bytes s)
{
	if (s.len == 0 || s.len > NAME_MAX_LEN)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!(s.data[i] >= 'a' && s.data[i] <= 'z') &&
		    !(s.data[i] >= '0' && s.data[i] <= '9') && s.data[i] != '_')
			return false;
	return true;
}

static bool
is_own(struct bytes name)
{
	for (size_t i = 0; i < sizeof own_names / sizeof own_names[0]; i++)
		if (bytes_is(name, own_names[i]))
			return true;
	return false;
}

/* Whether name is ours, or stands among the pairs that precede it. */
static bool
is_taken(struct bytes name, struct bytes pairs, const uint8_t *until)
{
	struct bytes other, value;
	struct reader r;

	if (is_own(name))
		return true;
	reader_init(&r, pairs.data, pairs.len);
	while (strings_next(&r, &other) && other.data < until) {
		if (bytes_equal(other, name))
			return true;
		if (!strings_next(&r, &value))
			break;
	}
	return false;
}

static int
put_head(struct buf *out, const struct timespec *now, enum role role,
    struct bytes event)
{
	char stamp[32];
	struct tm tm;

	if (gmtime_r(&now->tv_sec, &tm) == NULL ||
	    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		stamp[0] = '\0';
	return buf_printf(out,
	    "{\"v\":%d,\"time\":\"%s.%03ldZ\",\"role\":\"%s\","
	    "\"event\":\"%.*s\"",
	    AUDIT_VERSION, stamp, now->tv_nsec / 1000000, role_name(role),
	    (int)event.len, (const char *)event.data);
}

static int
put_pairs(struct buf *out, struct bytes pairs, struct err *e)
{
	struct bytes name, value;
	struct reader r;
	int rc = 0;

	reader_init(&r, pairs.data, pairs.len);
	while (rc == 0 && strings_next(&r, &name)) {
		if (!strings_next(&r, &value) || !is_name(name) ||
		    is_taken(name, pairs, name.data))
			return err_set(e, EPROTO, "audit: malformed pairs");
		rc = buf_printf(out, ",\"%.*s\":", (int)name.len,
		    (const char *)name.data);
		if (rc == 0)
			rc = jsontext_put(out, value);
	}
	return rc;
}

int
audit_format(struct buf *out, const struct timespec *now, enum role role,
    struct bytes event, struct bytes pairs, struct err *e)
{
	size_t start = out->len, count;
	int r;

	if (!is_name(event) || !strings_check(pairs, 2 * AUDIT_PAIRS_MAX,
				   AUDIT_PACKED_MAX, &count))
		return err_set(e, EPROTO, "audit: malformed event");
	r = put_head(out, now, role, event);
	if (r == 0)
		r = put_pairs(out, pairs, e);
	if (r == 0)
		r = buf_put(out, "}\n", 2);
	if (r < 0)
		out->len = start;
	return r;
}

int
audit_extend(struct buf *out, const char *name, const char *value)
{
	size_t start = out->len;
	int r;

	out->len -= 2;
	r = buf_printf(out, ",\"%s\":\"%s\"}\n", name, value);
	if (r < 0)
		out->len = start; /* its last two bytes are untouched */
	return r;
}

struct bytes
audit_find(struct bytes pairs, const char *name)
{
	struct bytes key, value;
	struct reader r;

	reader_init(&r, pairs.data, pairs.len);
	while (strings_next(&r, &key) && strings_next(&r, &value))
		if (bytes_is(key, name))
			return value;
	return (struct bytes){0};
}
