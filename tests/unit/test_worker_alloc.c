/* Every operation that allocates, with each allocation failing in turn. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "exec/worker_copy.h"
#include "exec/worker_dir.h"
#include "exec/worker_remove.h"
#include "exec/worker_walk.h"
#include "exec/worker_watch.h"
#include "exec/worker_write.h"
#include "tests/unit/worker.h"

typedef int operation(const struct rig *rig);

static const char *
path_of(const struct rig *rig, const char *name)
{
	return (const char *)at(rig, name).data;
}

static int
walk(const struct rig *rig)
{
	const struct worker_walk_options o = {.follow = true,
	    .depth_max = 64,
	    .directories_max = 100,
	    .entries_max = 100};
	scoped_buf out;
	bool truncated;

	buf_init(&out, MIB);
	return worker_walk(path_of(rig, "w"), &o, &out, &truncated);
}

static int
list(const struct rig *rig)
{
	enum fs_failure why;
	scoped_buf out;

	buf_init(&out, MIB);
	return worker_dir_list(path_of(rig, "w"), &out, &why);
}

static int
copy(const struct rig *rig)
{
	enum fs_failure why;

	return worker_copy(path_of(rig, "w"), path_of(rig, "copy"), true, &why);
}

static int
remove_copy(const struct rig *rig)
{
	return worker_remove(path_of(rig, "copy"), true, true);
}

static int
watch(const struct rig *rig)
{
	struct bytes missing = at(rig, "gone"), present = at(rig, "w");
	struct worker_watches ws;
	bool watching = false;
	scoped_buf list_of;
	int r;

	buf_init(&list_of, MIB);
	worker_watch_init(&ws);
	r = buf_put_string(&list_of, missing.data, missing.len);
	if (r == 0)
		r = worker_watch_add(&ws, 1,
		    (struct bytes){.data = list_of.data, .len = list_of.len},
		    present, &watching);
	assert_int_equal(watching, r == 0);
	worker_watch_done(&ws);
	return r;
}

static int
write_memfd(const struct rig *rig)
{
	struct worker_payload p = {.fd = -1};
	enum fs_failure why;
	int r;

	p.fd = open(path_of(rig, "w/f"), O_RDONLY | O_CLOEXEC);
	p.size = 1;
	r = worker_write_atomic(path_of(rig, "copy"), &p, &why);
	(void)close(p.fd);
	return r;
}

static void
want_of_memory_is_only_an_error(void **state)
{
	struct rig *rig = *state;
	operation *const operations[] = {walk, list, copy, remove_copy, watch,
	    write_memfd};

	assert_int_equal(mkdir("w", 0755), 0);
	assert_int_equal(mkdir("w/d", 0755), 0);
	file_put("w/f", "x");
	file_put("w/d/f", "x");
	for (size_t i = 0; i < COUNT(operations); i++) {
		unsigned int n = 0, before = fds_open();
		int r;

		do {
			alloc_fail_at(++n);
			r = operations[i](rig);
			if (r < 0)
				assert_true(r == -ENOMEM);
			assert_int_equal(fds_open(), before);
		} while (alloc_failed());
		alloc_fail_at(0);
		assert_int_equal(r, 0);
		assert_in_range(n, 1, 200);
	}
	assert_string_equal(file_get("copy"), "x");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WORKER_TEST(want_of_memory_is_only_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
