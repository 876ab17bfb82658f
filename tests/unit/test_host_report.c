#include "supervisor/host_report.h"

#include <errno.h>
#include <string.h>

#include "privsep/layer.h"
#include "privsep/role.h"
#include "tests/unit/unit.h"

#define WHOLE                                                                  \
	"seccomp=yes namespaces=yes userns=yes netns=yes proc=yes idmap=yes "  \
	"landlock=7 scope=yes cgroup=yes preset.workspace=yes "                \
	"preset.strict=yes preset.open=yes network.enabled=yes "               \
	"views=yes"

static struct host
host_of(const char *probe)
{
	return (struct host){.probe = bytes_of(probe),
	    .kernel = "6.18.0",
	    .root = true};
}

static void
check_text(const struct host *h, const char *want)
{
	scoped_buf out;

	buf_init(&out, 16384);
	assert_int_equal(host_put_text(h, &out), 0);
	assert_int_equal(buf_put_u8(&out, 0), 0);
	if (strstr((const char *)out.data, want) == NULL)
		fail_msg("no \"%s\" in\n%s", want, (const char *)out.data);
}

static void
a_whole_host_is_judged_so(void **state)
{
	struct host h = host_of(WHOLE);

	(void)state;
	assert_int_equal(host_judge(&h), HOST_WHOLE);
	check_text(&h, "works    Landlock (ABI 7)\n");
	check_text(&h, "Linux 6.18.0, as root\n");
}

static void
what_is_missing_is_judged_and_told(void **state)
{
	static const struct {
		const char *probe, *want;
		enum host_judgement judgement;
	} rows[] = {
	    {"", "untried  system call filters\n", HOST_CANNOT_SERVE},
	    {"preset.workspace", "untried  preset workspace\n",
		HOST_CANNOT_SERVE},
	    {"preset.workspace=yes", "works    preset workspace\n", HOST_LACKS},
	    {"userns=EPERM preset.workspace=userns",
		"refused  preset workspace: needs user namespaces\n",
		HOST_CANNOT_SERVE},
	    {"netns=EINVAL preset.workspace=netns",
		"missing  network namespaces (EINVAL)\n", HOST_CANNOT_SERVE},
	    {"preset.workspace=yes views=views",
		"refused  paths with less access than what is around them: "
		"needs mounts of a program's own\n",
		HOST_LACKS},
	    /* A key is matched as a whole. */
	    {"xlandlock=7 landlock=0",
		"missing  Landlock (not in this kernel)\n", HOST_CANNOT_SERVE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct host h = host_of(rows[i].probe);

		assert_int_equal(host_judge(&h), rows[i].judgement);
		check_text(&h, rows[i].want);
	}
}

static void
check_item(const struct host *h, const char *name, const char *state,
    const char *remedy)
{
	struct host_item item;

	for (size_t i = 0; host_item_get(h, i, &item); i++) {
		if (strcmp(item.name, name) != 0)
			continue;
		assert_string_equal(item.state, state);
		assert_string_equal(item.remedy, remedy);
		return;
	}
	fail_msg("there is no item \"%s\"", name);
}

static void
items_can_be_had_one_by_one(void **state)
{
	struct host h = host_of("landlock=0 preset.workspace=yes "
				"preset.strict=proc seccomp=yes");
	struct host_item item;
	size_t n = 0;

	(void)state;
	check_item(&h, "system call filters", "works", "");
	check_item(&h, "Landlock", "missing",
	    layer_row(LAYER_LANDLOCK)->remedy);
	check_item(&h, "preset workspace", "works", "");
	check_item(&h, "preset strict", "refused",
	    "needs fresh mounts of /proc");
	check_item(&h, "preset open", "untried", "");
	/* One less for those to whom mapped ids are of no use. */
	while (host_item_get(&h, n, &item))
		n++;
	h.root = false;
	assert_false(host_item_get(&h, n - 1, &item));
	assert_true(host_item_get(&h, n - 2, &item));
}

static void
mapped_ids_are_of_no_use_to_a_user(void **state)
{
	char text[] = WHOLE;
	struct host h = host_of(text);

	(void)state;
	memcpy(strstr(text, "idmap=yes"), "idmap=no ", 9);
	assert_int_equal(host_judge(&h), HOST_LACKS);
	h.root = false;
	assert_int_equal(host_judge(&h), HOST_WHOLE);
}

static void
a_report_that_does_not_fit_is_an_error(void **state)
{
	struct host h = host_of(WHOLE);
	scoped_buf out;

	(void)state;
	buf_init(&out, 64);
	assert_int_equal(host_put_text(&h, &out), -EMSGSIZE);
	buf_clear(&out);
	assert_int_equal(host_put_json(&h, &out), -EMSGSIZE);
}

static void
json_has_nothing_to_escape(void **state)
{
	(void)state;
	for (uint32_t i = 0; i <= LAYER_COUNT; i++) {
		const struct layer_row *row = layer_row(i);

		assert_null(strpbrk(row->words, "\"\\\n"));
		assert_null(strpbrk(row->needed_by, "\"\\\n"));
		assert_null(strpbrk(row->remedy, "\"\\\n"));
		assert_null(strpbrk(row->key, " =\"\\\n"));
	}
}

static void
a_stage_knows_its_layer(void **state)
{
	(void)state;
	assert_int_equal(layer_of_stage(STAGE_MOUNT_PROC), LAYER_PROC);
	assert_int_equal(layer_of_stage(STAGE_SECCOMP), LAYER_SECCOMP);
	assert_int_equal(layer_of_stage(STAGE_CWD), LAYER_NONE);
	assert_int_equal(layer_of_stage(UINT32_MAX), LAYER_NONE);
	assert_string_equal(layer_row(LAYER_NONE)->words, "");
	assert_string_equal(layer_row(UINT32_MAX)->words, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_whole_host_is_judged_so),
	    cmocka_unit_test(what_is_missing_is_judged_and_told),
	    cmocka_unit_test(items_can_be_had_one_by_one),
	    cmocka_unit_test(mapped_ids_are_of_no_use_to_a_user),
	    cmocka_unit_test(a_report_that_does_not_fit_is_an_error),
	    cmocka_unit_test(json_has_nothing_to_escape),
	    cmocka_unit_test(a_stage_knows_its_layer),
	};

	return cmocka_run_group_tests_name("host_report", tests, NULL, NULL);
}
