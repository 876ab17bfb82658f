#include "net/splitter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/limits.h"
#include "tests/unit/unit.h"

#define BIG (300u * 1024u)

/* A message with data as a base64 string between head and tail. */
static char *
message(const char *head, size_t data_len, const char *tail, size_t *len)
{
	size_t head_len = strlen(head), chars = base64_encoded_len(data_len);
	char *text = malloc(head_len + chars + strlen(tail) + 1);
	uint8_t *data = malloc(data_len + 1);

	assert_non_null(text);
	assert_non_null(data);
	for (size_t i = 0; i < data_len; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 8) * 13);
	memcpy(text, head, head_len);
	(void)base64_encode(text + head_len, data, data_len);
	memcpy(text + head_len + chars, tail, strlen(tail) + 1);
	*len = head_len + chars + strlen(tail);
	free(data);
	return text;
}

static void
feed(struct splitter *s, struct buf *text, const char *data, size_t len,
    size_t piece)
{
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;

		assert_int_equal(splitter_feed(s, text,
				     (const uint8_t *)data + at, n),
		    0);
	}
}

static void
check_contents(const struct blob *b, size_t len)
{
	uint8_t *data = malloc(len + 1);

	assert_non_null(data);
	assert_int_equal(b->len, len);
	assert_int_equal(pread(b->fd, data, len + 1, 0), len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(data[i], (uint8_t)(i * 7 + (i >> 8) * 13));
	free(data);
}

static void
splitter_cuts_a_long_string_however_it_arrives(void **state)
{
	static const size_t pieces[] = {1, 3, 7, 1000, 65536, 1u << 20};

	(void)state;
	for (size_t i = 0; i < COUNT(pieces); i++)
		for (size_t extra = 0; extra < 3; extra++) {
			struct splitter s;
			scoped_buf text;
			size_t len;
			char *m =
			    message("{\"id\":1,\"params\":{\"path\":\"x\","
				    "\"dataBase64\" : \"",
				BIG + extra, "\",\"z\":1}}", &len);

			buf_init(&text, RPC_MESSAGE_MAX);
			assert_int_equal(splitter_init(&s), 0);
			feed(&s, &text, m, len, pieces[i]);
			assert_int_equal(s.blob_count, 1);
			assert_false(s.blobs[0].bad);
			check_contents(&s.blobs[0], BIG + extra);
			assert_true(text.len < 200);
			splitter_reset(&s);
			free(m);
		}
}

static void
splitter_leaves_other_strings_alone(void **state)
{
	static const char *const heads[] = {
	    "{\"params\":{\"path\":\"",
	    "{\"dataBase64\":\"",
	    "{\"params\":{\"env\":{\"chunk\":\"",
	    "{\"params\":[\"chunk\",\"",
	    "{\"params\":{\"x\":[\"",
	    "{\"params\":{\"a\":\"chunk\",\"b\":\"",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(heads); i++) {
		struct splitter s;
		scoped_buf text;
		size_t len;
		char *m = message(heads[i], BIG, "\"", &len);

		buf_init(&text, RPC_MESSAGE_MAX);
		assert_int_equal(splitter_init(&s), 0);
		feed(&s, &text, m, len, 4096);
		assert_int_equal(s.blob_count, 0);
		assert_int_equal(text.len, len);
		assert_memory_equal(text.data, m, len);
		splitter_reset(&s);
		free(m);
	}
}

static void
splitter_leaves_a_short_string_alone(void **state)
{
	struct splitter s;
	scoped_buf text;
	size_t len;
	char *m = message("{\"params\":{\"chunk\":\"",
	    SPLITTER_INLINE_MAX / 4 * 3, "\"}}", &len);

	(void)state;
	buf_init(&text, RPC_MESSAGE_MAX);
	assert_int_equal(splitter_init(&s), 0);
	feed(&s, &text, m, len, 1000);
	assert_int_equal(s.blob_count, 0);
	assert_memory_equal(text.data, m, len);
	splitter_reset(&s);
	free(m);
}

static void
splitter_tells_where_base64_is_broken(void **state)
{
	static const struct {
		size_t at; /* what is overwritten, from the string's start */
		char with;
	} rows[] = {
	    {100, '*'},
	    {SPLITTER_INLINE_MAX + 5, '!'},
	    {SPLITTER_INLINE_MAX + 8, '='},
	    {BIG, '\x01'},
	};
	const char *head = "{\"params\":{\"chunk\":\"";

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct splitter s;
		scoped_buf text;
		size_t len;
		char *m = message(head, BIG, "\"}}", &len);

		m[strlen(head) + rows[i].at] = rows[i].with;
		buf_init(&text, RPC_MESSAGE_MAX);
		assert_int_equal(splitter_init(&s), 0);
		feed(&s, &text, m, len, 999);
		assert_int_equal(s.blob_count, 1);
		assert_true(s.blobs[0].bad);
		assert_int_equal(s.blobs[0].bad_at, rows[i].at);
		assert_int_equal(s.blobs[0].bad_byte, (uint8_t)rows[i].with);
		splitter_reset(&s);
		free(m);
	}
}

/* As base64_decode tells it of a string that was not cut. */
static void
splitter_refuses_a_length_that_is_no_multiple_of_four(void **state)
{
	static const struct {
		const char *tail;
		size_t at; /* behind the whole groups */
	} rows[] = {{"A", 1}, {"AA", 2}, {"AA=", 2}, {"A-A", 1}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct splitter s;
		scoped_buf text;
		char tail[16];
		size_t len;
		char *m;

		(void)snprintf(tail, sizeof tail, "%s\"}}", rows[i].tail);
		m = message("{\"params\":{\"chunk\":\"", BIG, tail, &len);
		buf_init(&text, RPC_MESSAGE_MAX);
		assert_int_equal(splitter_init(&s), 0);
		feed(&s, &text, m, len, 4096);
		assert_true(s.blobs[0].bad);
		assert_int_equal(s.blobs[0].bad_at,
		    base64_encoded_len(BIG) + rows[i].at);
		splitter_reset(&s);
		free(m);
	}
}

static void
splitter_reads_an_escaped_slash(void **state)
{
	const char *head = "{\"params\":{\"chunk\":\"";
	size_t count = SPLITTER_INLINE_MAX + 400, at = strlen(head);
	char *m = malloc(at + 2 * count + 8);
	struct splitter s;
	scoped_buf text;

	(void)state;
	assert_non_null(m);
	memcpy(m, head, at);
	for (size_t i = 0; i < count; i++) {
		/* In what was kept before the cut, and in what arrives after.
		 */
		if (i % 5 == 0)
			m[at++] = '\\';
		m[at++] = '/';
	}
	memcpy(m + at, "\"}}", 4);
	buf_init(&text, RPC_MESSAGE_MAX);
	assert_int_equal(splitter_init(&s), 0);
	feed(&s, &text, m, at + 3, 777);
	assert_int_equal(s.blob_count, 1);
	assert_false(s.blobs[0].bad);
	assert_int_equal(s.blobs[0].len, count / 4 * 3);
	splitter_reset(&s);
	free(m);
}

static void
splitter_find_knows_its_tokens_only(void **state)
{
	const char *head = "{\"params\":{\"chunk\":\"";
	struct splitter s;
	scoped_buf text;
	struct bytes token;
	uint8_t forged[SPLITTER_TOKEN_LEN];
	size_t len;
	char *m = message(head, BIG, "\"}}", &len);

	(void)state;
	buf_init(&text, RPC_MESSAGE_MAX);
	assert_int_equal(splitter_init(&s), 0);
	feed(&s, &text, m, len, 65536);
	token = (struct bytes){.data = text.data + strlen(head),
	    .len = SPLITTER_TOKEN_LEN};
	assert_ptr_equal(splitter_find(&s, token), &s.blobs[0]);
	memcpy(forged, token.data, sizeof forged);
	forged[33] = '1';
	assert_null(splitter_find(&s, (struct bytes){forged, sizeof forged}));
	forged[33] = '0';
	forged[5] ^= 1;
	assert_null(splitter_find(&s, (struct bytes){forged, sizeof forged}));
	splitter_reset(&s);
	assert_null(splitter_find(&s, token));
	free(m);
}

static void
splitter_closes_what_nobody_took(void **state)
{
	unsigned int before = fds_open();
	struct splitter s;
	scoped_buf text;
	size_t len;
	char *m = message("{\"params\":{\"chunk\":\"", BIG, "", &len);

	(void)state;
	buf_init(&text, RPC_MESSAGE_MAX);
	assert_int_equal(splitter_init(&s), 0);
	feed(&s, &text, m, len, 65536);
	assert_int_equal(fds_open(), before + 1);
	splitter_reset(&s);
	assert_int_equal(fds_open(), before);
	free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(splitter_cuts_a_long_string_however_it_arrives),
	    cmocka_unit_test(splitter_leaves_other_strings_alone),
	    cmocka_unit_test(splitter_leaves_a_short_string_alone),
	    cmocka_unit_test(splitter_tells_where_base64_is_broken),
	    cmocka_unit_test(
		splitter_refuses_a_length_that_is_no_multiple_of_four),
	    cmocka_unit_test(splitter_reads_an_escaped_slash),
	    cmocka_unit_test(splitter_find_knows_its_tokens_only),
	    cmocka_unit_test(splitter_closes_what_nobody_took),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
