#include "supervisor/audit_verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/audit_text.h"

#define READ_SIZE (64u * 1024u)
/* {"v":1,"time":"2026-01-02T03:04:05.678Z" comes before it. */
#define HEAD_LEN  40
#define OPENED	  ",\"role\":\"supervisor\",\"event\":\"audit_open\","
#define GAP	  ",\"role\":\"supervisor\",\"event\":\"audit_gap\","

static int
broken(const struct audit_verify *v, struct err *e, const char *what)
{
	return err_set(e, EBADMSG, "line %" PRIu64 ": %s", v->line, what);
}

/* Whether it is an event of the supervisor, which alone can put it there. */
static bool
is_event(struct bytes covered, const char *head)
{
	size_t len = strlen(head);

	return covered.len >= HEAD_LEN + len &&
	       memcmp(covered.data + HEAD_LEN, head, len) == 0;
}

/* The value behind ,"name":" in covered; empty if there is none. */
static struct bytes
value_of(struct bytes covered, const char *mark)
{
	const uint8_t *at, *end;
	size_t left;

	at = memmem(covered.data, covered.len, mark, strlen(mark));
	if (at == NULL)
		return (struct bytes){0};
	at += strlen(mark);
	left = covered.len - (size_t)(at - covered.data);
	end = memchr(at, '"', left);
	return (struct bytes){at, end != NULL ? (size_t)(end - at) : 0};
}

/* A line that was cut off is accounted for by the one after it. */
static int
check_torn(struct audit_verify *v, struct bytes covered, struct err *e)
{
	char want[24];
	uint64_t torn = v->torn;

	v->torn = 0;
	if (torn == 0)
		return 0;
	(void)snprintf(want, sizeof want, "%" PRIu64, torn);
	if ((is_event(covered, OPENED) || is_event(covered, GAP)) &&
	    bytes_is(value_of(covered, ",\"torn\":\""), want))
		return 0;
	v->line--;
	return broken(v, e, "has no hash, or was cut short");
}

/* The first line of all says what it goes on from. */
static int
begin(struct audit_verify *v, const struct audit_link *link, struct err *e)
{
	struct bytes prev = value_of(link->covered, ",\"prev\":\"");

	if (!is_event(link->covered, OPENED) || prev.len != SHA256_HEX_SIZE - 1)
		return broken(v, e,
		    "is not audit_open: lines before it are missing");
	memcpy(v->chain.hash, prev.data, prev.len);
	v->chain.seq = link->seq - 1;
	return 0;
}

static const char *
why_number(uint64_t want, uint64_t got)
{
	if (got > want)
		return "lines before it are missing";
	return got == 1 ? "a new chain begins"
			: "was moved, repeated or put in";
}

static int
check_link(struct audit_verify *v, const struct audit_link *link, struct err *e)
{
	char hash[SHA256_HEX_SIZE];
	int r = 0;

	if (v->chain.seq == 0 && v->first == 0)
		r = begin(v, link, e);
	if (r < 0)
		return r;
	if (link->seq != v->chain.seq + 1)
		return broken(v, e, why_number(v->chain.seq + 1, link->seq));
	r = audit_chain_hash(&v->chain, v->chain.hash, link->covered, hash);
	if (r < 0)
		return err_set(e, ENOMEM, "out of memory");
	if (strcmp(hash, link->hash) != 0)
		return broken(v, e,
		    "is not what its hash was made of, or the key is another");
	v->chain.seq = link->seq;
	memcpy(v->chain.hash, hash, sizeof hash);
	if (v->first == 0)
		v->first = link->seq;
	if (v->head != NULL && strcmp(v->head, hash) == 0)
		v->head = NULL;
	return 0;
}

static int
check_line(struct audit_verify *v, struct bytes line, struct err *e)
{
	struct audit_link link;
	int r;

	v->line++;
	if (!audit_chain_parse(line, &link)) {
		if (v->torn > 0 || line.len == 0)
			return broken(v, e, "has no hash");
		v->torn = line.len;
		return 0;
	}
	r = check_torn(v, link.covered, e);
	return r < 0 ? r : check_link(v, &link, e);
}

/* The whole lines of b; what is left is the beginning of one. */
static int
check_lines(struct audit_verify *v, struct buf *b, struct err *e)
{
	size_t at = 0;
	int r = 0;

	while (r == 0) {
		const uint8_t *start = b->data + at;
		const uint8_t *end = memchr(start, '\n', b->len - at);

		if (end == NULL)
			break;
		r = check_line(v, (struct bytes){start, (size_t)(end - start)},
		    e);
		at += (size_t)(end - start) + 1;
	}
	buf_consume(b, at);
	if (r == 0 && b->len > AUDIT_LINE_MAX) {
		v->line++;
		r = broken(v, e, "is longer than a line can be");
	}
	return r;
}

static int
check_end(struct audit_verify *v, const struct buf *b, struct err *e)
{
	if (b->len > 0) {
		v->line++;
		return broken(v, e, "is cut off");
	}
	return v->torn > 0 ? broken(v, e, "has no hash") : 0;
}

int
audit_verify_file(struct audit_verify *v, int fd, struct err *e)
{
	scoped_buf b;
	ssize_t n;
	int r = 0;

	buf_init(&b, AUDIT_LINE_MAX + READ_SIZE);
	v->line = v->torn = 0;
	do {
		if (buf_reserve(&b, READ_SIZE) < 0)
			return err_set(e, ENOMEM, "out of memory");
		n = read(fd, b.data + b.len, READ_SIZE);
		if (n < 0)
			return err_errno(e, errno, "cannot be read");
		b.len += (size_t)n;
		r = check_lines(v, &b, e);
	} while (n > 0 && r == 0);
	return r < 0 ? r : check_end(v, &b, e);
}
