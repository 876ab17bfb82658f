#include "exec/capture.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/unit/unit.h"

struct heard {
	struct captures *c;
	int epfd, out, err; /* out and err: to write to */
};

static struct heard
begin(void)
{
	struct heard h = {.c = captures_new(),
	    .epfd = epoll_create1(EPOLL_CLOEXEC)};
	int out[2], err[2];

	assert_non_null(h.c);
	assert_return_code(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	assert_return_code(pipe2(err, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(captures_begin(h.c, h.epfd, out[0], err[0]), 0);
	h.out = out[1];
	h.err = err[1];
	return h;
}

static void
done(struct heard *h)
{
	captures_free(h->c);
	(void)close(h->out);
	(void)close(h->err);
	(void)close(h->epfd);
}

/* What is kept of n bytes of a pattern that is written to out at once. */
static void
check_size(size_t n, bool cut)
{
	struct heard h = begin();
	uint8_t text[2 * CAPTURE_MAX];

	for (size_t i = 0; i < n; i++)
		text[i] = (uint8_t)('a' + i % 26);
	assert_int_equal(write(h.out, text, n), (ssize_t)n);
	captures_finish(h.c);
	assert_int_equal(h.c->out.cut, cut);
	assert_int_equal(h.c->out.len, n < CAPTURE_MAX ? n : CAPTURE_MAX);
	assert_memory_equal(h.c->out.text, text + n - h.c->out.len,
	    h.c->out.len);
	assert_int_equal(h.c->err.len, 0);
	done(&h);
}

static void
the_last_bytes_are_kept(void **state)
{
	(void)state;
	check_size(0, false);
	check_size(1, false);
	check_size(CAPTURE_MAX, false);
	check_size(CAPTURE_MAX + 1, true);
	check_size(2 * CAPTURE_MAX, true);
}

static void
also_of_many_writes(void **state)
{
	struct heard h = begin();

	(void)state;
	for (int i = 0; i < CAPTURE_MAX; i++) {
		struct epoll_event ev;
		struct source *s;

		assert_int_equal(write(h.err, i % 2 == 0 ? "ab" : "cd", 2), 2);
		assert_int_equal(epoll_wait(h.epfd, &ev, 1, 0), 1);
		s = ev.data.ptr;
		s->ready(NULL, s);
	}
	captures_finish(h.c);
	assert_int_equal(h.c->err.len, CAPTURE_MAX);
	assert_true(h.c->err.cut);
	assert_memory_equal(h.c->err.text, "abcdabcd", 8);
	done(&h);
}

static void
the_end_of_a_stream_is_no_event_any_more(void **state)
{
	struct heard h = begin();
	struct epoll_event ev;

	(void)state;
	(void)close(h.err);
	h.err = -1;
	assert_int_equal(epoll_wait(h.epfd, &ev, 1, 0), 1);
	h.c->err.source.ready(NULL, &h.c->err.source);
	assert_int_equal(h.c->err.source.fd, -1);
	assert_int_equal(epoll_wait(h.epfd, &ev, 1, 0), 0);
	done(&h);
}

static void
words_are_the_last_line_that_says_something(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
	    {"", ""},
	    {"\n \t\n", ""},
	    {"one", "one"},
	    {"one\ntwo three\n", "two three"},
	    {"one\r\n\n  \n", "one"},
	    {"a\tb\x1b[1m\x80\"c", "a?b?[1m??c"},
	    {"no\" forged=\"a\\", "no? forged=?a?"},
	    {"  x", "  x"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct capture c = {.len = strlen(rows[i].text)};
		char words[CAPTURE_TEXT_MAX];

		memcpy(c.text, rows[i].text, c.len);
		capture_words(&c, words);
		assert_string_equal(words, rows[i].words);
	}
}

static void
words_are_bounded(void **state)
{
	struct capture c = {.len = CAPTURE_MAX};
	char words[CAPTURE_TEXT_MAX];

	(void)state;
	memset(c.text, 'x', sizeof c.text);
	capture_words(&c, words);
	assert_int_equal(strlen(words), CAPTURE_TEXT_MAX - 1);
	c.text[CAPTURE_MAX - CAPTURE_TEXT_MAX] = '\n';
	capture_words(&c, words);
	assert_int_equal(strlen(words), CAPTURE_TEXT_MAX - 1);
	c.text[CAPTURE_MAX - CAPTURE_TEXT_MAX + 1] = '\n';
	capture_words(&c, words);
	assert_int_equal(strlen(words), CAPTURE_TEXT_MAX - 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_last_bytes_are_kept),
	    cmocka_unit_test(also_of_many_writes),
	    cmocka_unit_test(the_end_of_a_stream_is_no_event_any_more),
	    cmocka_unit_test(words_are_the_last_line_that_says_something),
	    cmocka_unit_test(words_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
