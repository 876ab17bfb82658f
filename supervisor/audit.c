#include "supervisor/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "base/log.h"
#include "privsep/pack.h"
#include "supervisor/jsontext.h"

#define NAME_MAX_LEN 64 /* bytes of an event's or a pair's name */
#define PAIRS_MAX    (16u * 1024u)

/* Told in the log if there is no audit file. */
static const char *const noteworthy[] = {"process_refused", "session_refused"};

int
audit_open(struct audit *a, const char *path, struct err *e)
{
	int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
		    O_NOCTTY | O_NONBLOCK;
	scoped_fd fd = -1;
	struct stat st;

	a->fd = -1;
	if (path == NULL)
		return 0;
	fd = open(path, flags, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, errno, "audit file %.100s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL,
		    "audit file %.100s: not a regular file", path);
	a->fd = fd_take(&fd);
	return 0;
}

void
audit_close(struct audit *a)
{
	fd_close(&a->fd);
}

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

/* Whether name is ours, or stands among the pairs that precede it. */
static bool
is_taken(struct bytes name, struct bytes pairs, const uint8_t *until)
{
	struct bytes other, value;
	struct reader r;

	if (bytes_is(name, "time") || bytes_is(name, "role") ||
	    bytes_is(name, "event"))
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
	    "{\"time\":\"%s.%03ldZ\",\"role\":\"%s\",\"event\":\"%.*s\"", stamp,
	    now->tv_nsec / 1000000, role_name(role), (int)event.len,
	    (const char *)event.data);
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

	if (!is_name(event) ||
	    !strings_check(pairs, 2 * AUDIT_PAIRS_MAX, PAIRS_MAX, &count))
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

static bool
is_noteworthy(struct bytes event)
{
	for (size_t i = 0; i < sizeof noteworthy / sizeof noteworthy[0]; i++)
		if (bytes_is(event, noteworthy[i]))
			return true;
	return false;
}

int
audit_write(struct audit *a, enum role role, struct bytes event,
    struct bytes pairs, struct err *e)
{
	struct timespec now;
	scoped_buf line;
	ssize_t n;
	int r;

	buf_init(&line, AUDIT_LINE_MAX);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	r = audit_format(&line, &now, role, event, pairs, e);
	if (r == -EPROTO)
		return r;
	if (r < 0) {
		log_error("audit_lost reason=%s", strerrorname_np(-r));
		return 0;
	}
	if (a->fd < 0) {
		log_line(is_noteworthy(event) ? LOG_INFO : LOG_DEBUG,
		    "audit %.*s", (int)line.len - 1, (char *)line.data);
		return 0;
	}
	/* One write of an append-only descriptor: lines do not mix. */
	do
		n = write(a->fd, line.data, line.len);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)line.len)
		log_error("audit_lost reason=%s",
		    n < 0 ? strerrorname_np(errno) : "short write");
	return 0;
}

void
audit_own(struct audit *a, const char *event, const char *const *pairs)
{
	scoped_buf packed;
	struct err e = {0};
	int r = 0;

	buf_init(&packed, PAIRS_MAX);
	for (; *pairs != NULL && r == 0; pairs++)
		r = buf_put_cstring(&packed, *pairs);
	if (r == 0)
		r = audit_write(a, ROLE_SUPERVISOR, bytes_of(event),
		    (struct bytes){.data = packed.data, .len = packed.len}, &e);
	if (r < 0)
		log_error("audit_lost event=%s", event);
}
