#include "supervisor/audit_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/unit.h"

struct place {
	char dir[32], path[64], other[64];
};

static int
place_make(void **state)
{
	static struct place p;

	p = (struct place){.dir = "/tmp/sink.XXXXXX"};
	if (mkdtemp(p.dir) == NULL)
		return -1;
	(void)snprintf(p.path, sizeof p.path, "%s/log", p.dir);
	(void)snprintf(p.other, sizeof p.other, "%s/other", p.dir);
	*state = &p;
	return 0;
}

static int
place_remove(void **state)
{
	struct place *p = *state;

	(void)unlink(p->path);
	(void)unlink(p->other);
	return rmdir(p->dir);
}

static int
say(struct audit_sink *s, const char *line)
{
	return audit_sink_write(s, bytes_of(line));
}

static void
assert_file_is(const char *path, const char *want)
{
	char text[4096];
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof text - 1);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, want);
}

static void
sink_file_is_private_and_appended_to(void **state)
{
	const struct place *p = *state;
	struct audit_sink s;
	struct stat st;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL),
		    0);
		assert_int_equal(say(&s, "a\n"), 0);
		audit_sink_close(&s);
	}
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_file_is(p->path, "a\na\n");
}

static void
sink_refuses_a_file_that_others_have_a_hand_in(void **state)
{
	static const mode_t bad[] = {0620, 0644, 0602, 0610, 0601};
	const struct place *p = *state;
	struct audit_sink s;

	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL), 0);
	audit_sink_close(&s);
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(chmod(p->path, bad[i]), 0);
		assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL),
		    -EPERM);
		audit_sink_close(&s);
	}
	assert_int_equal(chmod(p->path, 0640), 0);
	assert_int_equal(link(p->path, p->other), 0);
	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL),
	    -EMLINK);
	audit_sink_close(&s);
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(symlink(p->other, p->path), 0);
	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL),
	    -ELOOP);
	audit_sink_close(&s);
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(mkfifo(p->path, 0600), 0);
	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL),
	    -ENXIO);
	audit_sink_close(&s);
	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->dir, NULL),
	    -EISDIR);
	audit_sink_close(&s);
}

static void
sink_reopens_the_name_after_a_rotation(void **state)
{
	const struct place *p = *state;
	struct audit_sink s;

	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL), 0);
	assert_int_equal(say(&s, "a\n"), 0);
	assert_int_equal(rename(p->path, p->other), 0);
	assert_int_equal(say(&s, "b\n"), 0);
	assert_int_equal(audit_sink_reopen(&s, NULL), 0);
	assert_int_equal(say(&s, "c\n"), 0);
	assert_file_is(p->other, "a\nb\n");
	assert_file_is(p->path, "c\n");
	/* One that cannot be had leaves the old one in its place. */
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(symlink(p->other, p->path), 0);
	assert_int_equal(audit_sink_reopen(&s, NULL), -ELOOP);
	assert_int_equal(say(&s, "d\n"), 0);
	audit_sink_close(&s);
}

static void
sink_keeps_the_old_file_if_the_new_one_cannot_be_read(void **state)
{
	const struct place *p = *state;
	struct audit_sink s;

	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL), 0);
	assert_int_equal(say(&s, "a\n"), 0);
	assert_int_equal(rename(p->path, p->other), 0);
	{
		scoped_fd fd =
		    open(p->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		assert_int_equal(write(fd, "cut", 3), 3);
	}
	alloc_fail_at(1);
	assert_int_equal(audit_sink_reopen(&s, NULL), -ENOMEM);
	assert_true(alloc_failed());
	alloc_fail_at(0);
	assert_int_equal(say(&s, "b\n"), 0);
	assert_file_is(p->other, "a\nb\n");
	assert_file_is(p->path, "cut");
	/* The old file's state says nothing of the new one. */
	s.torn = 1;
	s.ended = true;
	assert_int_equal(audit_sink_reopen(&s, NULL), 0);
	assert_int_equal(say(&s, "c\n"), 0);
	assert_file_is(p->path, "cut\nc\n");
	audit_sink_close(&s);
}

static void
sink_ends_the_line_of_a_writer_that_was_cut_off(void **state)
{
	const struct place *p = *state;
	struct audit_sink s;

	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL), 0);
	assert_int_equal(say(&s, "a\ncut"), 0);
	audit_sink_close(&s);
	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL), 0);
	assert_int_equal(s.torn, 3);
	assert_int_equal(say(&s, "b\n"), 0);
	assert_int_equal(s.torn, 0);
	audit_sink_close(&s);
	assert_file_is(p->path, "a\ncut\nb\n");
}

/* RLIMIT_FSIZE cuts a write short, as a full disk does. */
static void
sink_takes_back_a_line_that_was_cut_short(void **state)
{
	const struct place *p = *state;
	const struct rlimit small = {10, RLIM_INFINITY};
	struct audit_sink s;
	struct rlimit before;

	assert_int_equal(audit_sink_open(&s, AUDIT_FILE, p->path, NULL), 0);
	assert_int_equal(say(&s, "12345\n"), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(say(&s, "too long\n"), -EFBIG);
	assert_int_equal(say(&s, "678\n"), 0);
	assert_int_equal(say(&s, "9\n"), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(say(&s, "9\n"), 0);
	audit_sink_close(&s);
	assert_file_is(p->path, "12345\n678\n9\n");
}

static void
sink_sends_a_datagram_a_line(void **state)
{
	const struct place *p = *state;
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	scoped_fd reader = -1;
	struct audit_sink s;
	char got[16];

	(void)snprintf(name.sun_path, sizeof name.sun_path, "%s", p->path);
	assert_int_equal(audit_sink_open(&s, AUDIT_SOCKET, p->path, NULL),
	    -ENOENT);
	audit_sink_close(&s);
	for (int i = 0; i < 2; i++) {
		/* The second time is a reader that starts anew. */
		(void)unlink(p->path);
		fd_close(&reader);
		reader = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (i > 0)
			assert_int_equal(say(&s, "x\n"), -ECONNREFUSED);
		assert_int_equal(bind(reader, (const struct sockaddr *)&name,
				     sizeof name),
		    0);
		if (i == 0)
			assert_int_equal(audit_sink_open(&s, AUDIT_SOCKET,
					     p->path, NULL),
			    0);
		assert_int_equal(say(&s, "a\n"), 0);
		assert_int_equal(recv(reader, got, sizeof got, 0), 2);
	}
	audit_sink_close(&s);
}

static void
sink_does_not_wait_for_a_reader_of_standard_error(void **state)
{
	scoped_fd saved = dup(STDERR_FILENO);
	struct audit_sink s;
	int ends[2], last = 0;
	char got[8];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(audit_sink_open(&s, AUDIT_STDERR, NULL, NULL), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	for (int i = 0; i < 1000000 && last == 0; i++)
		last = say(&s, "a line of thirty-two characters\n");
	(void)dup2(saved, STDERR_FILENO);
	assert_int_equal(last, -EAGAIN);
	assert_int_equal(read(ends[0], got, 7), 7);
	(void)close(ends[0]);
	(void)close(ends[1]);
	audit_sink_close(&s);
}

#define AT_PLACE(test)                                                         \
	cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    AT_PLACE(sink_file_is_private_and_appended_to),
	    AT_PLACE(sink_refuses_a_file_that_others_have_a_hand_in),
	    AT_PLACE(sink_reopens_the_name_after_a_rotation),
	    AT_PLACE(sink_keeps_the_old_file_if_the_new_one_cannot_be_read),
	    AT_PLACE(sink_ends_the_line_of_a_writer_that_was_cut_off),
	    AT_PLACE(sink_takes_back_a_line_that_was_cut_short),
	    AT_PLACE(sink_sends_a_datagram_a_line),
	    cmocka_unit_test(sink_does_not_wait_for_a_reader_of_standard_error),
	};

	return cmocka_run_group_tests_name("audit_sink", tests, NULL, NULL);
}
