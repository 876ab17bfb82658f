/*
 * Another process swaps a directory and a link to an outside one as fast as it
 * can, while a file worker without any sandbox works on the tree that holds
 * them. What does not follow links must stay inside by descriptors alone; what
 * does follow them gets outside here, so a test that sees it stay inside in a
 * sandbox would see it leave.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "privsep/privdrop.h"
#include "tests/unit/worker.h"

#define RACE_MS 800
#define FILES	48

static int64_t
now_ms(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * A tree with a directory "d" and beside it a link "l" to outside; and files,
 * so that there is time between reading a name and using it.
 */
static void
make_tree(const char *top)
{
	char name[64];

	(void)mkdir(top, 0755);
	(void)snprintf(name, sizeof name, "%s/d", top);
	(void)mkdir(name, 0755);
	(void)snprintf(name, sizeof name, "%s/d/secret", top);
	(void)close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	(void)snprintf(name, sizeof name, "%s/l", top);
	if (symlink("../outside", name) < 0)
		assert_true(errno == EEXIST || errno == ENOENT);
	for (unsigned int i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof name, "%s/%u", top, i);
		(void)close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	}
}

static void
make_outside(void)
{
	assert_int_equal(mkdir("outside", 0755), 0);
	assert_int_equal(mkdir("outside/deep", 0755), 0);
	file_put("outside/secret", "outside");
	file_put("outside/deep/only-outside", "outside");
}

static void
check_outside(void)
{
	assert_int_equal(entries_in("outside"), 2);
	assert_int_equal(entries_in("outside/deep"), 1);
	assert_string_equal(file_get("outside/secret"), "outside");
}

static pid_t
start_swapper(const char *a, const char *b)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	/* A failed test does not come to stop it, and its copy of the channel
	 * would keep the worker. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || privdrop_close_from(3) < 0)
		_exit(99);
	(void)alarm(100);
	for (;;)
		(void)renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

static void
stop_swapper(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Whatever answer comes: success is not what is asked here. */
static void
receive_any(struct rig *rig)
{
	struct msg m;

	rig_receive(rig, &m);
	msg_done(&m);
}

static void
remove_stays_inside(void **state)
{
	int64_t end = now_ms() + RACE_MS;
	struct rig *rig = *state;
	pid_t swapper;

	make_outside();
	make_tree("w");
	swapper = start_swapper("w/d", "w/l");
	while (now_ms() < end) {
		make_tree("w");
		rig_remove(rig, "w", FS_REMOVE_RECURSIVE | FS_REMOVE_FORCE);
		receive_any(rig);
	}
	stop_swapper(swapper);
	check_outside();
}

/* Whether name is a directory, not a link, with what only outside has. */
static bool
is_from_outside(const char *name)
{
	int r, fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	r = fd < 0 ? -1 : faccessat(fd, "deep", F_OK, 0);
	if (fd >= 0)
		(void)close(fd);
	return r == 0;
}

static void
copy_stays_inside(void **state)
{
	int64_t end = now_ms() + RACE_MS;
	struct rig *rig = *state;
	pid_t swapper;

	make_outside();
	make_tree("w");
	swapper = start_swapper("w/d", "w/l");
	while (now_ms() < end) {
		rig_copy(rig, "w", "copy", true);
		receive_any(rig);
		assert_false(is_from_outside("copy/d"));
		assert_false(is_from_outside("copy/l"));
		remove_all("copy");
	}
	stop_swapper(swapper);
	check_outside();
}

static void
copying_to_a_swapped_place_stays_inside(void **state)
{
	int64_t end = now_ms() + RACE_MS;
	struct rig *rig = *state;
	pid_t swapper;

	make_outside();
	assert_int_equal(mkdir("s", 0755), 0);
	assert_int_equal(mkdir("s/d", 0755), 0);
	file_put("s/d/secret", "from inside");
	file_put("s/d/new", "from inside");
	make_tree("w");
	swapper = start_swapper("w/d", "w/l");
	while (now_ms() < end) {
		rig_copy(rig, "s", "w", true);
		receive_any(rig);
	}
	stop_swapper(swapper);
	check_outside();
}

static void
walk_stays_inside(void **state)
{
	int64_t end = now_ms() + RACE_MS;
	struct rig *rig = *state;
	pid_t swapper;

	make_outside();
	make_tree("w");
	swapper = start_swapper("w/d", "w/l");
	while (now_ms() < end) {
		const struct msg_fs_walk m = {.number = ++rig->number,
		    .max_depth = 10,
		    .max_directories = 10,
		    .max_entries = 100,
		    .path = at(rig, "w")};
		struct msg answer;
		struct bytes e;

		assert_int_equal(channel_send_fs_walk(rig->net, &m, NULL, 0),
		    0);
		rig_answer(rig, MSG_FS_LISTING, &answer);
		e = answer.u.fs_listing.entries;
		assert_null(memmem(e.data, e.len, "deep", 4));
		msg_done(&answer);
	}
	stop_swapper(swapper);
}

/* Whether reading brings what is outside. */
static bool
reads_outside(struct rig *rig)
{
	char text[16] = "";
	struct msg m;

	rig_read_file(rig, "w/d/secret");
	rig_receive(rig, &m);
	if (m.type == MSG_FS_FILE)
		assert_true(pread(m.fds[0], text, sizeof text - 1, 0) >= 0);
	msg_done(&m);
	return strcmp(text, "outside") == 0;
}

static void
without_a_sandbox_what_follows_links_gets_outside(void **state)
{
	bool has_read = false, has_written = false, has_made = false;
	int64_t end = now_ms() + WORKER_DEADLINE_MS;
	struct rig *rig = *state;
	pid_t swapper;

	make_outside();
	make_tree("w");
	swapper = start_swapper("w/d", "w/l");
	while (now_ms() < end && !(has_read && has_written && has_made)) {
		has_read = reads_outside(rig) || has_read;
		rig_write_file(rig, "w/d/new", "from inside", false);
		receive_any(rig);
		rig_mkdir(rig, "w/d/made/deep", true);
		receive_any(rig);
		has_written = faccessat(AT_FDCWD, "outside/new", F_OK, 0) == 0;
		has_made =
		    faccessat(AT_FDCWD, "outside/made/deep", F_OK, 0) == 0;
	}
	stop_swapper(swapper);
	assert_true(has_read);
	assert_true(has_written);
	assert_true(has_made);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(remove_stays_inside),
	    WORKER_TEST(copy_stays_inside),
	    WORKER_TEST(copying_to_a_swapped_place_stays_inside),
	    WORKER_TEST(walk_stays_inside),
	    WORKER_TEST(without_a_sandbox_what_follows_links_gets_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
