/*
 * Reaches what the supervisor makes of a hostile role: audit_format, the chain
 * and its verification, and the log of a role through rolelog_read. The input
 * is an event's name, a line for each pair (name, a tab, value), an empty line,
 * and what the role writes to its log, which is also given to
 * audit_verify_file as if it were a file.
 *
 * Asserts that a line is accepted only if names are small letters and none is
 * the supervisor's own or repeated, that it is one line of valid UTF-8 which
 * begins with the role that sent it, that chained lines verify, do not when a
 * byte of them is changed, and that what comes out of the log has the role's
 * name in front of every line and no control bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "supervisor/audit_text.h"
#include "supervisor/audit_verify.h"
#include "supervisor/rolelog.h"

#define OUT_MAX (256u * 1024u)

/* --- lines and chains -------------------------------------------------------
 */

static int
file_of(struct bytes text)
{
	int fd = memfd_create("x", MFD_CLOEXEC);

	assert(fd >= 0);
	assert(write(fd, text.data, text.len) == (ssize_t)text.len);
	assert(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static int
verify(struct bytes text)
{
	struct audit_verify v = {0};
	struct err e = {0};
	scoped_fd fd = file_of(text);
	int r;

	audit_chain_init(&v.chain);
	r = audit_verify_file(&v, fd, &e);
	assert(r == 0 || (r == -EBADMSG && e.text[0] != '\0'));
	audit_chain_done(&v.chain);
	return r;
}

static void
check_line(const struct buf *line)
{
	static const char head[] = "{\"v\":1,\"time\":\"1970-01-01T00:00:"
				   "01.000Z\",\"role\":\"exec\",\"event\":\"";

	assert(line->len > sizeof head);
	assert(memcmp(line->data, head, sizeof head - 1) == 0);
	assert(utf8_valid(line->data, line->len));
	assert(memcmp(line->data + line->len - 2, "}\n", 2) == 0);
	for (size_t i = 0; i + 1 < line->len; i++)
		assert(line->data[i] >= 0x20 && line->data[i] != 0x7f);
}

static void
seal(struct audit_chain *c, struct buf *line, struct buf *file)
{
	struct audit_chain next;

	assert(audit_chain_seal(c, line, &next) == 0);
	*c = next;
	assert(buf_put(file, line->data, line->len) == 0);
}

/* The line in a chain: behind the one that every file begins with. */
static void
check_chain(struct buf *line)
{
	const struct timespec now = {.tv_sec = 1};
	struct audit_chain c;
	struct err e = {0};
	scoped_buf pairs, first, file;

	buf_init(&pairs, AUDIT_PACKED_MAX);
	buf_init(&first, AUDIT_LINE_MAX);
	buf_init(&file, 2 * AUDIT_LINE_MAX);
	audit_chain_init(&c);
	assert(buf_put_cstring(&pairs, "prev") == 0);
	assert(buf_put_cstring(&pairs, c.hash) == 0);
	assert(audit_format(&first, &now, ROLE_SUPERVISOR,
		   bytes_of("audit_open"), fuzz_view(&pairs), &e) == 0);
	seal(&c, &first, &file);
	seal(&c, line, &file);
	assert(verify(fuzz_view(&file)) == 0);
	/* Any byte of it; by the length, so that it is not always the same. */
	file.data[file.len * 7919 % (file.len - 1)] ^= 1;
	assert(verify(fuzz_view(&file)) == -EBADMSG);
	audit_chain_done(&c);
}

static void
line(struct bytes event, struct bytes pairs)
{
	const struct timespec now = {.tv_sec = 1};
	struct err e = {0};
	scoped_buf out;
	int r;

	buf_init(&out, AUDIT_LINE_MAX);
	r = audit_format(&out, &now, ROLE_EXEC, event, pairs, &e);
	if (r == 0) {
		check_line(&out);
		check_chain(&out);
	} else {
		assert(r == -EPROTO && e.text[0] != '\0' && out.len == 0);
	}
}

/* --- the log of a role ------------------------------------------------------
 */

static void
check_log(const char *text, size_t len)
{
	for (const char *at = text; at < text + len;) {
		size_t left = (size_t)(text + len - at);
		const char *end = memchr(at, '\n', left);

		assert(end != NULL && left > 6);
		assert(memcmp(at, "exec: ", 6) == 0);
		for (; at < end; at++)
			assert((unsigned char)*at >= 0x20 && *at != 0x7f);
		at = end + 1;
	}
}

/* Our own descriptor 2 is a file while the role's log is forwarded. */
static void
rolelog(struct bytes text)
{
	int own = dup(STDERR_FILENO);
	int out = memfd_create("log", MFD_CLOEXEC);
	scoped_free char *got = malloc(OUT_MAX);
	struct rolelog l;
	ssize_t n = 1;
	int end;

	assert(got != NULL && own >= 0 && out >= 0);
	assert(rolelog_open(&l, ROLE_EXEC, &end) == 0);
	assert(dup2(out, STDERR_FILENO) == STDERR_FILENO);
	while (text.len > 0 && n > 0) {
		n = write(end, text.data, text.len < 977 ? text.len : 977);
		text.data += n > 0 ? n : 0;
		text.len -= n > 0 ? (size_t)n : 0;
		(void)rolelog_read(&l);
	}
	(void)close(end);
	rolelog_close(&l);
	assert(dup2(own, STDERR_FILENO) == STDERR_FILENO);
	(void)close(own);
	n = pread(out, got, OUT_MAX, 0);
	(void)close(out);
	assert(n >= 0);
	check_log(got, (size_t)n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before = fuzz_fds_open();
	struct bytes event, rest;
	scoped_buf pairs;
	struct reader r;

	buf_init(&pairs, MIB);
	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	event = fuzz_until(&r, '\n');
	while (r.left > 0) {
		struct bytes text = fuzz_until(&r, '\n'), name;
		struct reader pair;

		if (text.len == 0)
			break;
		reader_init(&pair, text.data, text.len);
		name = fuzz_until(&pair, '\t');
		assert(buf_put_string(&pairs, name.data, name.len) == 0);
		name = fuzz_rest(&pair);
		assert(buf_put_string(&pairs, name.data, name.len) == 0);
	}
	line(event, fuzz_view(&pairs));
	rest = fuzz_rest(&r);
	(void)verify(rest);
	rolelog(rest);
	/* As mere bytes too. */
	line(event, rest);
	assert(fuzz_fds_open() == before);
	return 0;
}
