#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/unit/worker.h"

/* Read fd, a file or the worker's pipe, to its end. */
static size_t
read_all(int fd, char *to, size_t max)
{
	size_t len = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n = read(fd, to + len, max - len);

		if (n < 0 && errno == EAGAIN) {
			assert_int_equal(poll(&p, 1, WORKER_DEADLINE_MS), 1);
			continue;
		}
		assert_true(n >= 0);
		if (n == 0)
			return len;
		len += (size_t)n;
	}
}

/* Check what the answer to a read holds, file or pipe. */
static void
check_contents(struct rig *rig, const char *want)
{
	char got[4096];
	struct msg m;
	bool streamed;
	int fd;

	rig_answer(rig, MSG_FS_FILE, &m);
	assert_int_equal(m.u.fs_file.number, rig->number);
	streamed = m.u.fs_file.streamed;
	fd = msg_take_fd(&m, 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	msg_done(&m);
	got[read_all(fd, got, sizeof got - 1)] = '\0';
	(void)close(fd);
	if (want != NULL)
		assert_string_equal(got, want);
	else
		assert_int_not_equal(strlen(got), 0);
	if (!streamed)
		return;
	rig_answer(rig, MSG_FS_STREAMED, &m);
	assert_int_equal(m.u.fs_streamed.errnum, 0);
	msg_done(&m);
}

static void
a_file_is_handed_over_read_only(void **state)
{
	struct rig *rig = *state;
	struct msg m;

	file_put("a", "hello");
	rig_read_file(rig, "a");
	rig_answer(rig, MSG_FS_FILE, &m);
	assert_int_equal(m.u.fs_file.size, 5);
	assert_int_equal(m.u.fs_file.streamed, 0);
	assert_int_equal(m.fd_count, 1);
	assert_int_equal(fcntl(m.fds[0], F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(write(m.fds[0], "x", 1) < 0);
	msg_done(&m);
	rig_read_file(rig, "a");
	check_contents(rig, "hello");
}

static void
links_are_followed(void **state)
{
	struct rig *rig = *state;

	file_put("a", "hello");
	assert_int_equal(symlink("a", "l"), 0);
	assert_int_equal(symlink("gone", "x"), 0);
	assert_int_equal(symlink("o1", "o2"), 0);
	assert_int_equal(symlink("o2", "o1"), 0);
	rig_read_file(rig, "l");
	check_contents(rig, "hello");
	rig_read_file(rig, "x");
	rig_failed(rig, FS_FAILURE_ERRNO, ENOENT);
	rig_read_file(rig, "o1");
	rig_failed(rig, FS_FAILURE_ERRNO, ELOOP);
}

static void
names_that_are_not_utf8_are_reachable(void **state)
{
	struct rig *rig = *state;

	file_put("bad-\xff", "odd");
	rig_read_file(rig, "bad-\xff");
	check_contents(rig, "odd");
}

static void
what_is_no_file_is_refused_at_once(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX,
	    .sun_path = "socket"};
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	struct rig *rig = *state;
	const struct {
		const char *name;
		int errnum;
	} cases[] = {
	    {"dir", EISDIR},
	    {"fifo", EINVAL},
	    {"socket", EINVAL},
	    {"/dev/null", EINVAL},
	    {"/dev/zero", EINVAL},
	    {"/", EISDIR},
	};

	assert_int_equal(mkdir("dir", 0755), 0);
	assert_int_equal(mkfifo("fifo", 0644), 0);
	assert_int_equal(bind(s, (struct sockaddr *)&address, sizeof address),
	    0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		rig_read_file(rig, cases[i].name);
		rig_failed(rig, FS_FAILURE_NOT_A_FILE, cases[i].errnum);
		rig_open(rig, 1, cases[i].name, false);
		rig_failed(rig, FS_FAILURE_NOT_A_FILE, cases[i].errnum);
	}
	(void)close(s);
}

static void
missing_paths_have_their_error(void **state)
{
	struct rig *rig = *state;
	char longest[PATH_LEN_MAX + 1];

	file_put("a", "");
	rig_read_file(rig, "none");
	rig_failed(rig, FS_FAILURE_ERRNO, ENOENT);
	rig_read_file(rig, "none/x");
	rig_failed(rig, FS_FAILURE_ERRNO, ENOENT);
	rig_read_file(rig, "a/x");
	rig_failed(rig, FS_FAILURE_ERRNO, ENOTDIR);
	memset(longest, '/', sizeof longest);
	memset(longest + 1, 'x', 256);
	longest[257] = '\0';
	rig_read_file(rig, longest);
	rig_failed(rig, FS_FAILURE_ERRNO, ENAMETOOLONG);
}

static void
a_path_of_the_maximum_is_too_long(void **state)
{
	struct rig *rig = *state;
	uint8_t path[PATH_LEN_MAX];
	struct msg_fs_read_file m = {.number = ++rig->number,
	    .path = {.data = path, .len = sizeof path}};

	memset(path, '/', sizeof path);
	assert_int_equal(channel_send_fs_read_file(rig->net, &m, NULL, 0), 0);
	rig_failed(rig, FS_FAILURE_ERRNO, ENAMETOOLONG);
}

static void
size_is_bounded(void **state)
{
	struct rig *rig = *state;
	struct msg m;

	file_put("big", "");
	assert_int_equal(truncate("big", FS_READ_MAX), 0);
	rig_read_file(rig, "big");
	rig_answer(rig, MSG_FS_FILE, &m);
	assert_int_equal(m.u.fs_file.size, FS_READ_MAX);
	msg_done(&m);
	assert_int_equal(truncate("big", FS_READ_MAX + 1), 0);
	rig_read_file(rig, "big");
	rig_failed(rig, FS_FAILURE_TOO_LARGE, EFBIG);
}

static void
files_of_proc_come_through_a_pipe(void **state)
{
	struct rig *rig = *state;
	char line[64];

	(void)snprintf(line, sizeof line, "%s",
	    file_get("/proc/sys/kernel/ostype"));
	rig_read_file(rig, "/proc/sys/kernel/ostype");
	check_contents(rig, line);
	rig_read_file(rig, "/proc/meminfo");
	check_contents(rig, NULL);
}

static void
files_that_cannot_be_read_fail(void **state)
{
	struct rig *rig = *state;

	rig_read_file(rig, "/proc/self/mem");
	rig_failed(rig, FS_FAILURE_ERRNO, EIO);
}

static void
a_reader_that_goes_ends_only_its_file(void **state)
{
	struct rig *rig = *state;
	struct msg m;

	/* Longer than a pipe holds. */
	rig_read_file(rig, "/proc/kallsyms");
	rig_receive(rig, &m);
	if (m.type == MSG_FS_FAILED) {
		msg_done(&m);
		print_message("# no /proc/kallsyms\n");
		return;
	}
	assert_int_equal(m.type, MSG_FS_FILE);
	assert_int_equal(m.u.fs_file.streamed, 1);
	msg_done(&m);
	rig_answer(rig, MSG_FS_STREAMED, &m);
	assert_int_equal(m.u.fs_streamed.errnum, EPIPE);
	msg_done(&m);
	file_put("a", "still here");
	rig_read_file(rig, "a");
	check_contents(rig, "still here");
}

static void
net_that_goes_ends_a_stream(void **state)
{
	struct rig *rig = *state;
	struct msg m;
	int pipe_end;

	rig_read_file(rig, "/proc/kallsyms");
	rig_receive(rig, &m);
	if (m.type == MSG_FS_FAILED) {
		msg_done(&m);
		print_message("# no /proc/kallsyms\n");
		return;
	}
	pipe_end = msg_take_fd(&m, 0);
	msg_done(&m);
	/* The worker waits for the pipe, which nobody reads. */
	assert_int_equal(rig_stop(rig), 0);
	(void)close(pipe_end);
}

static void
a_truncated_file_is_just_shorter(void **state)
{
	struct rig *rig = *state;
	struct msg m;
	char got[16];

	file_put("a", "hello");
	rig_read_file(rig, "a");
	rig_answer(rig, MSG_FS_FILE, &m);
	assert_int_equal(truncate("a", 2), 0);
	assert_int_equal(pread(m.fds[0], got, sizeof got, 0), 2);
	msg_done(&m);
}

static void
metadata(struct rig *rig, const char *name, bool follow)
{
	const struct msg_fs_get_metadata m = {.number = ++rig->number,
	    .follow = follow,
	    .path = at(rig, name)};

	assert_int_equal(channel_send_fs_get_metadata(rig->net, &m, NULL, 0),
	    0);
}

static void
metadata_tells_kind_size_and_times(void **state)
{
	struct rig *rig = *state;
	const struct timespec times[2] = {{1, 0}, {1700000000, 123456789}};
	struct msg m;

	file_put("f", "12345");
	assert_int_equal(chmod("f", 0640), 0);
	assert_int_equal(utimensat(AT_FDCWD, "f", times, 0), 0);
	assert_int_equal(symlink("f", "l"), 0);
	metadata(rig, "f", true);
	rig_answer(rig, MSG_FS_METADATA, &m);
	assert_int_equal(m.u.fs_metadata.flags, FS_IS_FILE);
	assert_int_equal(m.u.fs_metadata.size, 5);
	assert_int_equal(m.u.fs_metadata.modified_ms, 1700000000123);
	assert_int_equal(m.u.fs_metadata.mode & 07777, 0640);
	assert_int_equal(m.u.fs_metadata.uid, geteuid());
	assert_int_equal(m.u.fs_metadata.link_target.len, 0);
	msg_done(&m);
	metadata(rig, "l", true);
	rig_answer(rig, MSG_FS_METADATA, &m);
	assert_int_equal(m.u.fs_metadata.flags, FS_IS_FILE | FS_IS_SYMLINK);
	assert_int_equal(m.u.fs_metadata.size, 5);
	assert_true(bytes_is(m.u.fs_metadata.link_target, "f"));
	msg_done(&m);
	metadata(rig, "", false);
	rig_answer(rig, MSG_FS_METADATA, &m);
	assert_int_equal(m.u.fs_metadata.flags, FS_IS_DIRECTORY);
	msg_done(&m);
	metadata(rig, "/dev/null", true);
	rig_answer(rig, MSG_FS_METADATA, &m);
	assert_int_equal(m.u.fs_metadata.flags, 0);
	msg_done(&m);
}

static void
metadata_refuses_links_on_request(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(mkdir("d", 0755), 0);
	file_put("d/f", "");
	assert_int_equal(symlink("d", "dl"), 0);
	assert_int_equal(symlink("gone", "x"), 0);
	metadata(rig, "dl/f", false);
	rig_failed(rig, FS_FAILURE_HAS_SYMLINK, ELOOP);
	metadata(rig, "dl", false);
	rig_failed(rig, FS_FAILURE_HAS_SYMLINK, ELOOP);
	metadata(rig, "x", true);
	rig_failed(rig, FS_FAILURE_ERRNO, ENOENT);
	metadata(rig, "none", false);
	rig_failed(rig, FS_FAILURE_ERRNO, ENOENT);
	metadata(rig, "d/f/x", true);
	rig_failed(rig, FS_FAILURE_ERRNO, ENOTDIR);
}

static void
canonicalize(struct rig *rig, const char *name)
{
	const struct msg_fs_canonicalize m = {.number = ++rig->number,
	    .path = at(rig, name)};

	assert_int_equal(channel_send_fs_canonicalize(rig->net, &m, NULL, 0),
	    0);
}

static void
canonical_paths_are_those_of_realpath(void **state)
{
	struct rig *rig = *state;
	const char *names[] = {"l", "dl/f", "dl/../dl/./f", "d/up/l", "abs/f",
	    "d", "", "/", "//tmp", "d/\xff", "/proc/self/../../tmp"};
	char real[PATH_LEN_MAX];
	struct msg m;

	assert_int_equal(mkdir("d", 0755), 0);
	file_put("d/f", "");
	file_put("d/\xff", "");
	assert_int_equal(symlink("d/f", "l"), 0);
	assert_int_equal(symlink("d", "dl"), 0);
	assert_int_equal(symlink("..", "d/up"), 0);
	assert_int_equal(symlink(at(rig, "d").data == NULL
				     ? ""
				     : (const char *)at(rig, "d").data,
			     "abs"),
	    0);
	for (size_t i = 0; i < COUNT(names); i++) {
		canonicalize(rig, names[i]);
		rig_answer(rig, MSG_FS_PATH, &m);
		assert_non_null(
		    realpath((const char *)at(rig, names[i]).data, real));
		assert_true(bytes_is(m.u.fs_path.path, real));
		msg_done(&m);
	}
}

static void
canonical_paths_must_exist(void **state)
{
	struct rig *rig = *state;
	const struct {
		const char *name;
		int errnum;
	} cases[] = {
	    {"none", ENOENT},
	    {"none/x", ENOENT},
	    {"f/x", ENOTDIR},
	    {"x", ENOENT},
	    {"x/y", ENOENT},
	    {"loop", ELOOP},
	};

	file_put("f", "");
	assert_int_equal(symlink("gone", "x"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		canonicalize(rig, cases[i].name);
		rig_failed(rig, FS_FAILURE_ERRNO, cases[i].errnum);
	}
}

static void
as_many_links_are_followed_as_by_the_kernel(void **state)
{
	struct rig *rig = *state;
	char to[8] = "f", name[8];
	struct msg m;
	int fd;

	file_put("f", "");
	for (int i = 1; i <= 41; i++) {
		(void)snprintf(name, sizeof name, "l%d", i);
		assert_int_equal(symlink(to, name), 0);
		memcpy(to, name, sizeof to);
	}
	fd = open("l40", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_true(open("l41", O_RDONLY | O_CLOEXEC) < 0 && errno == ELOOP);
	canonicalize(rig, "l40");
	rig_answer(rig, MSG_FS_PATH, &m);
	msg_done(&m);
	canonicalize(rig, "l41");
	rig_failed(rig, FS_FAILURE_ERRNO, ELOOP);
}

static void
bad_records_end_the_worker(void **state)
{
	struct rig *rig = *state;
	const struct bytes paths[] = {
	    {.data = NULL, .len = 0},
	    bytes_of("relative"),
	    {.data = (const uint8_t *)"/a\0b", .len = 4},
	};

	for (size_t i = 0; i < COUNT(paths); i++) {
		const struct msg_fs_read_file m = {.number = 1,
		    .path = paths[i]};

		assert_int_equal(channel_send_fs_read_file(rig->net, &m, NULL,
				     0),
		    0);
		assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
		assert_int_equal(rig_stop(rig), 1 << 8);
		rig_start(rig);
	}
	assert_int_equal(send(channel_fd(rig->net), "junk", 4, 0), 4);
	assert_int_equal(rig_stop(rig), 1 << 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(a_file_is_handed_over_read_only),
	    WORKER_TEST(links_are_followed),
	    WORKER_TEST(names_that_are_not_utf8_are_reachable),
	    WORKER_TEST(what_is_no_file_is_refused_at_once),
	    WORKER_TEST(missing_paths_have_their_error),
	    WORKER_TEST(a_path_of_the_maximum_is_too_long),
	    WORKER_TEST(size_is_bounded),
	    WORKER_TEST(files_of_proc_come_through_a_pipe),
	    WORKER_TEST(files_that_cannot_be_read_fail),
	    WORKER_TEST(a_reader_that_goes_ends_only_its_file),
	    WORKER_TEST(net_that_goes_ends_a_stream),
	    WORKER_TEST(a_truncated_file_is_just_shorter),
	    WORKER_TEST(metadata_tells_kind_size_and_times),
	    WORKER_TEST(metadata_refuses_links_on_request),
	    WORKER_TEST(canonical_paths_are_those_of_realpath),
	    WORKER_TEST(canonical_paths_must_exist),
	    WORKER_TEST(as_many_links_are_followed_as_by_the_kernel),
	    WORKER_TEST(bad_records_end_the_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
