#include "supervisor/audit_chain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/audit_text.h"

#define HEX	  64
#define HASH_MARK ",\"hash\":\""
#define SEQ_MARK  ",\"seq\":\""
#define DIGITS	  20 /* of the largest seq */

void
audit_chain_init(struct audit_chain *c)
{
	*c = (struct audit_chain){0};
	memset(c->hash, '0', HEX);
}

void
audit_chain_done(struct audit_chain *c)
{
	if (c->key != NULL)
		explicit_bzero(c->key, c->key_len);
	free(c->key);
	c->key = NULL;
}

int
audit_chain_read_key(struct audit_chain *c, const char *path, struct err *e)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	scoped_fd fd = open(path, flags);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, errno, "audit key %.100s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077) != 0)
		return err_set(e, EPERM,
		    "audit key %.100s: must be a file of ours, mode 0600",
		    path);
	if (st.st_size < AUDIT_KEY_MIN || st.st_size > AUDIT_KEY_MAX)
		return err_set(e, EINVAL,
		    "audit key %.100s: want %d to %d bytes", path,
		    AUDIT_KEY_MIN, AUDIT_KEY_MAX);
	c->key = malloc(AUDIT_KEY_MAX);
	if (c->key == NULL)
		return err_set(e, ENOMEM, "out of memory");
	n = read(fd, c->key, AUDIT_KEY_MAX);
	c->key_len = n > 0 ? (size_t)n : 0;
	if (n < AUDIT_KEY_MIN)
		return err_set(e, EIO, "audit key %.100s: cannot be read",
		    path);
	return 0;
}

int
audit_chain_hash(const struct audit_chain *c, const char *prev,
    struct bytes covered, char out[SHA256_HEX_SIZE])
{
	struct bytes all;
	scoped_buf text;

	buf_init(&text, HEX + AUDIT_LINE_MAX);
	if (buf_put(&text, prev, HEX) < 0 ||
	    buf_put(&text, covered.data, covered.len) < 0)
		return -ENOMEM;
	all = (struct bytes){text.data, text.len};
	if (c->key != NULL)
		return hmac_sha256_hex((struct bytes){c->key, c->key_len}, all,
		    out);
	sha256_hex(all, out);
	return 0;
}

int
audit_chain_seal(const struct audit_chain *c, struct buf *line,
    struct audit_chain *next)
{
	char seq[24];
	int r;

	*next = *c;
	next->seq++;
	(void)snprintf(seq, sizeof seq, "%" PRIu64, next->seq);
	r = audit_extend(line, "seq", seq);
	if (r == 0)
		r = audit_chain_hash(c, c->hash,
		    (struct bytes){line->data, line->len - 2}, next->hash);
	return r < 0 ? r : audit_extend(line, "hash", next->hash);
}

/* --- reading -------------------------------------------------------------- */

static bool
is_hex(const uint8_t *s)
{
	for (size_t i = 0; i < HEX; i++)
		if (!(s[i] >= '0' && s[i] <= '9') &&
		    !(s[i] >= 'a' && s[i] <= 'f'))
			return false;
	return true;
}

static bool
ends_with(struct bytes s, const char *end)
{
	size_t len = strlen(end);

	return s.len >= len && memcmp(s.data + s.len - len, end, len) == 0;
}

/* The number at the end of covered, which ends in ,"seq":"N" */
static bool
parse_seq(struct bytes covered, uint64_t *seq)
{
	size_t digits = 0, at = covered.len - 1;
	uint64_t v = 0;

	while (digits < at && digits <= DIGITS &&
	       covered.data[at - digits - 1] >= '0' &&
	       covered.data[at - digits - 1] <= '9')
		digits++;
	if (digits == 0 || digits >= DIGITS || covered.data[at - digits] == '0')
		return false;
	for (size_t i = at - digits; i < at; i++)
		v = v * 10 + (covered.data[i] - (uint64_t)'0');
	*seq = v;
	return ends_with((struct bytes){covered.data, at - digits}, SEQ_MARK);
}

bool
audit_chain_parse(struct bytes line, struct audit_link *link)
{
	const size_t tail = HEX + 2, mark = strlen(HASH_MARK);
	struct bytes before;

	if (line.len <= tail + mark || !ends_with(line, "\"}"))
		return false;
	before = (struct bytes){line.data, line.len - tail};
	if (!ends_with(before, HASH_MARK) || !is_hex(before.data + before.len))
		return false;
	memcpy(link->hash, before.data + before.len, HEX);
	link->hash[HEX] = '\0';
	link->covered = (struct bytes){line.data, before.len - mark};
	return ends_with(link->covered, "\"") &&
	       parse_seq(link->covered, &link->seq);
}

void
audit_chain_resume(struct audit_chain *c, struct bytes tail)
{
	struct audit_link link;

	while (tail.len > 0) {
		const uint8_t *end = memrchr(tail.data, '\n', tail.len);
		const uint8_t *start;

		if (end == NULL)
			return;
		tail.len = (size_t)(end - tail.data);
		start = memrchr(tail.data, '\n', tail.len);
		start = start == NULL ? tail.data : start + 1;
		if (audit_chain_parse((struct bytes){start,
					  (size_t)(end - start)},
			&link)) {
			c->seq = link.seq;
			memcpy(c->hash, link.hash, sizeof c->hash);
			return;
		}
	}
}
