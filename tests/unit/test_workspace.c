#include "supervisor/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/unit.h"

/* A tree in a temporary directory; a name with a final slash is a directory,
 * one with '>' in it a link and where it leads. Parents come first. */
static const char *const tree[] = {"w/", "w/build/", "w/build/net/",
    "w/build/net/binary", "w/deep/", "w/deep/down/", "w/deep/down/binary",
    "w/conf", "w/link>../out/conf", "w/way>../out", "w/inner/", "out/",
    "out/conf", "out/into>../w", NULL};

struct fixture {
	char root[32];
};

static void
make(const char *root, const char *name)
{
	char path[256], *to;

	(void)snprintf(path, sizeof path, "%s/%s", root, name);
	to = strchr(path, '>');
	if (to != NULL) {
		*to = '\0';
		assert_int_equal(symlink(to + 1, path), 0);
	} else if (path[strlen(path) - 1] == '/') {
		assert_int_equal(mkdir(path, 0700), 0);
	} else {
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		assert_true(fd >= 0);
		(void)close(fd);
	}
}

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	assert_non_null(f);
	(void)snprintf(f->root, sizeof f->root, "/tmp/workspace.XXXXXX");
	assert_non_null(mkdtemp(f->root));
	for (size_t i = 0; tree[i] != NULL; i++)
		make(f->root, tree[i]);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	for (size_t i = COUNT(tree) - 1; i-- > 0;) {
		char path[256];

		(void)snprintf(path, sizeof path, "%s/%s", f->root, tree[i]);
		path[strcspn(path, ">")] = '\0';
		(void)remove(path);
	}
	(void)remove(f->root);
	free(f);
	return 0;
}

/* Open the directory name below the fixture's root as the one workspace. */
static int
open_one(struct fixture *f, const char *name, struct workspaces *w)
{
	struct list paths = {0};
	char path[256];
	struct err e;
	int r;

	(void)snprintf(path, sizeof path, "%s/%s", f->root, name);
	assert_int_equal(list_add(&paths, path, 1), 0);
	r = workspaces_open(w, &paths, false, &e);
	list_clear(&paths);
	return r;
}

static void
workspaces_open_takes_real_directories_once(void **state)
{
	struct fixture *f = *state;
	struct list paths = {0};
	struct workspaces w;
	char path[256];
	struct err e;
	unsigned int before = fds_open();

	for (int i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", f->root,
		    i == 0 ? "w" : "out/into/inner/..");
		assert_int_equal(list_add(&paths, path, 2), 0);
	}
	assert_int_equal(workspaces_open(&w, &paths, false, &e), 0);
	assert_int_equal(w.paths.count, 1);
	assert_int_equal(fds_open(), before + 1);
	workspaces_done(&w);
	list_clear(&paths);
	assert_int_equal(fds_open(), before);
}

static void
workspaces_open_refuses_what_is_no_directory(void **state)
{
	static const char *const rows[] = {"nothing", "w/conf", "w/link",
	    "../.."};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct workspaces w;
		unsigned int before = fds_open();

		assert_true(open_one(*state, rows[i], &w) < 0);
		workspaces_done(&w);
		assert_int_equal(fds_open(), before);
	}
}

static void
workspaces_protect_closes_off_what_leads_to_our_files(void **state)
{
	static const struct {
		const char *workspace, *file;
		enum own_file kind;
		int want;
		const char *read_only; /* NULL: none */
	} rows[] = {
	    {"w", "w/build", OWN_READ, 0, "w/build"},
	    {"w", "w/build/net", OWN_READ, 0, "w/build/net"},
	    {"w", "w/deep/down/binary", OWN_READ, 0, "w/deep/down"},
	    {"w", "out/into/deep/down/binary", OWN_READ, 0, "w/deep/down"},
	    {"w", "w/conf", OWN_READ, -EPERM, NULL},
	    {"w", "out/into/conf", OWN_READ, -EPERM, NULL},
	    {"w", "out", OWN_READ, 0, NULL},
	    {"w", "out/conf", OWN_READ, 0, NULL},
	    {"w/inner", "w", OWN_READ, 0, NULL},
	    {"w", "w", OWN_READ, -EPERM, NULL},
	    {"w", "out/into", OWN_READ, -EPERM, NULL},
	    {"w", "w/link", OWN_READ, -EPERM, NULL},
	    {"w", "w/way/conf", OWN_READ, -EPERM, NULL},
	    {"w", "w/way/absent", OWN_WRITE, -EPERM, NULL},
	    {"w", "out/../w/./way//conf", OWN_READ, -EPERM, NULL},
	    {"w", "w/../out/conf", OWN_READ, 0, NULL},
	    {"w", "w/absent", OWN_READ, -ENOENT, NULL},
	    {"w", "w/absent", OWN_WRITE, -EPERM, NULL},
	    {"w", "w/conf", OWN_WRITE, -EPERM, NULL},
	    {"w", "out/into/absent", OWN_WRITE, -EPERM, NULL},
	    {"w", "out/absent", OWN_WRITE, 0, NULL},
	    {"w/inner", "w/innermost", OWN_WRITE, 0, NULL},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		char path[256], want[256];
		struct workspaces w;
		struct err e;

		assert_int_equal(open_one(f, rows[i].workspace, &w), 0);
		(void)snprintf(path, sizeof path, "%s/%s", f->root,
		    rows[i].file);
		if (workspaces_protect(&w, path, rows[i].kind, &e) !=
		    rows[i].want)
			fail_msg("%s in %s", rows[i].file, rows[i].workspace);
		assert_int_equal(w.read_only.count, rows[i].read_only != NULL);
		if (rows[i].read_only != NULL) {
			(void)snprintf(want, sizeof want, "%s/%s", f->root,
			    rows[i].read_only);
			assert_string_equal(w.read_only.items[0], want);
		}
		workspaces_done(&w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		workspaces_open_takes_real_directories_once, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		workspaces_open_refuses_what_is_no_directory, set_up,
		tear_down),
	    cmocka_unit_test_setup_teardown(
		workspaces_protect_closes_off_what_leads_to_our_files, set_up,
		tear_down),
	};

	return cmocka_run_group_tests_name("workspace", tests, NULL, NULL);
}
