#include "net/splitter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/base64.h"

/* Where params stands: {"params":{"chunk":... */
#define PARAMS_DEPTH 2
/* Characters decoded at a time. */
#define DECODE_CHARS 8192u
#define SEALS	     (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static const char *const names[] = {"dataBase64", "chunk", "bodyBase64"};

int
splitter_init(struct splitter *s)
{
	uint64_t bits[2];

	*s = (struct splitter){0};
	if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
		return -EIO;
	(void)snprintf(s->nonce, sizeof s->nonce, "%016llx%016llx",
	    (unsigned long long)bits[0], (unsigned long long)bits[1]);
	return 0;
}

void
splitter_reset(struct splitter *s)
{
	char nonce[sizeof s->nonce];

	for (size_t i = 0; i < s->blob_count; i++)
		fd_close(&s->blobs[i].fd);
	memcpy(nonce, s->nonce, sizeof nonce);
	*s = (struct splitter){0};
	memcpy(s->nonce, nonce, sizeof nonce);
}

uint64_t
splitter_blob_bytes(const struct splitter *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->blob_count; i++)
		sum += s->blobs[i].len;
	return sum;
}

struct blob *
splitter_find(struct splitter *s, struct bytes string)
{
	size_t i;

	if (s->blob_count == 0 || string.len != SPLITTER_TOKEN_LEN ||
	    string.data[0] != 0x7f ||
	    memcmp(string.data + 1, s->nonce, 32) != 0)
		return NULL;
	i = (size_t)(string.data[33] - '0');
	return i < s->blob_count ? &s->blobs[i] : NULL;
}

static void
mark_bad(struct blob *b, uint64_t at, uint8_t byte)
{
	if (b->bad)
		return;
	b->bad = true;
	b->bad_at = at;
	b->bad_byte = byte;
}

static int
write_all(struct blob *b, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(b->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
		b->len += (uint64_t)n;
	}
	return 0;
}

/* Decode count characters that stand at offset at: a multiple of four, unless
 * they are the final ones. */
static int
decode(struct blob *b, const uint8_t *chars, size_t count, uint64_t at,
    bool final)
{
	uint8_t bytes[DECODE_CHARS / 4 * 3];
	const uint8_t *pad = memchr(chars, '=', count);
	size_t good = count, len, bad;
	int r;

	if (b->bad)
		return 0;
	/* Padding is for the end alone. */
	if (!final && pad != NULL)
		bad = good = (size_t)(pad - chars);
	r = base64_decode(bytes, (const char *)chars, good, &len, &bad);
	if (r < 0 || good < count) {
		mark_bad(b, at + bad, bad < count ? chars[bad] : 0);
		return 0;
	}
	return write_all(b, bytes, len);
}

/*
 * Take len characters of the string. The last one to four are held back: they
 * may be the ones that hold the padding.
 */
static int
feed_chars(struct splitter *s, const uint8_t *data, size_t len)
{
	uint8_t work[DECODE_CHARS + sizeof s->pending];
	int r = 0;

	while (len > 0 && r == 0) {
		size_t n = len > DECODE_CHARS - 4 ? DECODE_CHARS - 4 : len;
		size_t have = s->pending_len + n, whole = (have - 1) / 4 * 4;

		memcpy(work, s->pending, s->pending_len);
		memcpy(work + s->pending_len, data, n);
		r = decode(s->current, work, whole, s->chars - s->pending_len,
		    false);
		s->pending_len = have - whole;
		memcpy(s->pending, work + whole, s->pending_len);
		s->chars += n;
		data += n;
		len -= n;
	}
	return r;
}

static int
end_blob(struct splitter *s)
{
	struct blob *b = s->current;
	int r = decode(b, s->pending, s->pending_len, s->chars - s->pending_len,
	    true);

	s->current = NULL;
	s->pending_len = 0;
	s->chars = 0;
	if (r == 0 && fcntl(b->fd, F_ADD_SEALS, SEALS) < 0)
		r = -errno;
	return r;
}

/* What follows a backslash. */
static int
feed_escape(struct splitter *s, uint8_t c)
{
	/* The only escape that writes a base64 character shorter. */
	if (c == '/')
		return feed_chars(s, &c, 1);
	mark_bad(s->current, s->chars, '\\');
	return 0;
}

/* Take the beginning of the string, as it stands in the text. */
static int
feed_raw(struct splitter *s, const uint8_t *raw, size_t len)
{
	int r = 0;

	while (len > 0 && r == 0) {
		const uint8_t *slash = memchr(raw, '\\', len);
		size_t run = slash != NULL ? (size_t)(slash - raw) : len;

		r = feed_chars(s, raw, run);
		/* No cut is made between the two halves of an escape. */
		if (r == 0 && slash != NULL) {
			r = feed_escape(s, slash[1]);
			run += 2;
		}
		raw += run;
		len -= run;
	}
	return r;
}

/* The string in the text has grown too long: a token takes its place. */
static int
begin_blob(struct splitter *s, struct buf *text)
{
	char token[SPLITTER_TOKEN_LEN + 1];
	struct blob *b;
	size_t len = text->len - s->string_start;
	int r;

	if (s->blob_count == SPLITTER_BLOBS_MAX)
		return -EMSGSIZE;
	b = &s->blobs[s->blob_count];
	*b = (struct blob){
	    .fd = memfd_create("blob", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
	if (b->fd < 0)
		return -errno;
	(void)snprintf(token, sizeof token, "\x7f%s%zu", s->nonce,
	    s->blob_count);
	s->blob_count++;
	s->current = b;
	r = feed_raw(s, text->data + s->string_start, len);
	if (r < 0)
		return r;
	text->len = s->string_start;
	return buf_put(text, token, SPLITTER_TOKEN_LEN);
}

static bool
key_is_cut(const struct splitter *s, const struct buf *text)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (s->key_len == strlen(names[i]) &&
		    memcmp(text->data + s->key_start, names[i], s->key_len) ==
			0)
			return true;
	return false;
}

/* Bytes of a string up to its end or an escape. Returns how many were used. */
static size_t
plain_run(const uint8_t *data, size_t len)
{
	const uint8_t *quote = memchr(data, '"', len);
	size_t run = quote != NULL ? (size_t)(quote - data) : len;
	const uint8_t *slash = memchr(data, '\\', run);

	return slash != NULL ? (size_t)(slash - data) : run;
}

static int
keep(struct splitter *s, struct buf *text, const uint8_t *data, size_t len)
{
	int r;

	if (s->current != NULL)
		return feed_chars(s, data, len);
	r = buf_put(text, data, len);
	if (r == 0 && s->eligible &&
	    text->len - s->string_start > SPLITTER_INLINE_MAX)
		r = begin_blob(s, text);
	return r;
}

/* One byte inside a string that is a quote, an escape or follows one. */
static int
string_special(struct splitter *s, struct buf *text, uint8_t c)
{
	int r;

	if (s->escaped) {
		s->escaped = false;
		return s->current != NULL ? feed_escape(s, c)
					  : buf_put_u8(text, c);
	}
	if (c == '\\') {
		s->escaped = true;
		return s->current != NULL ? 0 : buf_put_u8(text, c);
	}
	s->in_string = false;
	s->eligible = false;
	s->key_start = s->string_start;
	s->key_len = text->len - s->string_start;
	r = s->current != NULL ? end_blob(s) : 0;
	return r < 0 ? r : buf_put_u8(text, c);
}

static void
structure(struct splitter *s, const struct buf *text, uint8_t c)
{
	switch (c) {
	case '{':
	case '[':
		s->depth++;
		s->after_colon = false;
		break;
	case '}':
	case ']':
		s->depth -= s->depth > 0;
		s->after_colon = false;
		break;
	case ':':
		s->after_colon = true;
		break;
	case ',':
		s->after_colon = false;
		break;
	case '"':
		s->in_string = true;
		s->string_start = text->len;
		s->eligible = s->after_colon && s->depth == PARAMS_DEPTH &&
			      key_is_cut(s, text);
		break;
	default:
		break;
	}
}

int
splitter_feed(struct splitter *s, struct buf *text, const uint8_t *data,
    size_t len)
{
	int r = 0;

	while (len > 0 && r == 0) {
		size_t run = 1;

		if (s->in_string && !s->escaped)
			run = plain_run(data, len);
		if (s->in_string && run > 0 && !s->escaped) {
			r = keep(s, text, data, run);
		} else if (s->in_string) {
			run = 1;
			r = string_special(s, text, data[0]);
		} else {
			r = buf_put_u8(text, data[0]);
			structure(s, text, data[0]);
		}
		data += run;
		len -= run;
	}
	return r;
}
