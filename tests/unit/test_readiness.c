#include "supervisor/readiness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#define ROOT_NS (ROLE_NS_MNT | ROLE_NS_NET | ROLE_NS_IPC | ROLE_NS_UTS)

static const struct readiness as_root = {.root = true,
    .net_uid = 100,
    .role_caps = 0xf0,
    .landlock_abi = 7};
static const struct readiness as_user = {.uid = 1000,
    .gid = 1001,
    .net_uid = 100,
    .role_caps = 0xf0,
    .landlock_abi = 7};
static const struct msg_role_ready net_root = {.uid = 100,
    .gid = 100,
    .no_new_privs = 1,
    .seccomp = 2,
    .landlock_abi = 7,
    .namespaces = ROOT_NS};
static const struct msg_role_ready net_user = {.uid = 1000,
    .gid = 1001,
    .groups = 3,
    .no_new_privs = 1,
    .seccomp = 2,
    .landlock_abi = 7,
    .namespaces = ROOT_NS | ROLE_NS_USER};
static const struct msg_role_ready exec_root = {.caps_effective = 0x30,
    .caps_permitted = 0x30,
    .caps_bounding = 0xf0,
    .no_new_privs = 1,
    .seccomp = 2};
static const struct msg_role_ready exec_user = {.uid = 1000,
    .gid = 1001,
    .caps_effective = 0x30,
    .caps_permitted = 0x30,
    .caps_bounding = UINT64_MAX,
    .no_new_privs = 1,
    .seccomp = 2,
    .namespaces = ROLE_NS_USER};

/* A host that gives no namespaces, and one that gives none of networks. */
static const struct readiness bare_root = {.root = true,
    .net_uid = 100,
    .role_caps = 0xf0,
    .landlock_abi = 7,
    .lacks = ROOT_NS | ROLE_NS_USER};
static const struct readiness bare_user = {.uid = 1000,
    .gid = 1001,
    .net_uid = 100,
    .role_caps = 0xf0,
    .landlock_abi = 7,
    .lacks = ROOT_NS | ROLE_NS_USER};
static const struct readiness no_netns = {.root = true,
    .net_uid = 100,
    .role_caps = 0xf0,
    .landlock_abi = 7,
    .lacks = ROLE_NS_NET};
static const struct msg_role_ready net_bare_root = {.uid = 100,
    .gid = 100,
    .no_new_privs = 1,
    .seccomp = 2,
    .landlock_abi = 7};
static const struct msg_role_ready net_bare_user = {.uid = 1000,
    .gid = 1001,
    .groups = 3,
    .caps_bounding = UINT64_MAX,
    .no_new_privs = 1,
    .seccomp = 2,
    .landlock_abi = 7};
static const struct msg_role_ready net_no_netns = {.uid = 100,
    .gid = 100,
    .no_new_privs = 1,
    .seccomp = 2,
    .landlock_abi = 7,
    .namespaces = ROOT_NS & ~ROLE_NS_NET};
static const struct msg_role_ready exec_bare_user = {.uid = 1000,
    .gid = 1001,
    .caps_bounding = UINT64_MAX,
    .no_new_privs = 1,
    .seccomp = 2};

/* One member of a report, worse than it may be. */
struct row {
	enum role role;
	const struct msg_role_ready *good;
	const struct readiness *want;
	size_t offset, size;
	uint64_t bad;
	const char *missing;
};

#define ROW(who, have, host, member, value, what)                              \
	{                                                                      \
		who, &have, &host, offsetof(struct msg_role_ready, member),    \
		    sizeof(have.member), value, what                           \
	}

static const struct row rows[] = {
    ROW(ROLE_NET, net_root, as_root, uid, 0, "uid"),
    ROW(ROLE_NET, net_root, as_root, uid, 101, "uid"),
    ROW(ROLE_NET, net_root, as_root, gid, 0, "gid"),
    ROW(ROLE_NET, net_root, as_root, groups, 1, "groups"),
    ROW(ROLE_NET, net_root, as_root, caps_effective, 1, "capabilities"),
    ROW(ROLE_NET, net_root, as_root, caps_permitted, 0x10, "capabilities"),
    ROW(ROLE_NET, net_root, as_root, caps_bounding, 0x10, "bounding-set"),
    ROW(ROLE_NET, net_root, as_root, no_new_privs, 0, "no-new-privs"),
    ROW(ROLE_NET, net_root, as_root, seccomp, 0, "seccomp"),
    ROW(ROLE_NET, net_root, as_root, seccomp, 1, "seccomp"),
    ROW(ROLE_NET, net_root, as_root, dumpable, 1, "dumpable"),
    ROW(ROLE_NET, net_root, as_root, namespaces, ROOT_NS & ~ROLE_NS_NET,
	"namespaces"),
    ROW(ROLE_NET, net_root, as_root, landlock_abi, 0, "landlock"),
    ROW(ROLE_NET, net_user, as_user, uid, 0, "uid"),
    ROW(ROLE_NET, net_user, as_user, caps_permitted, 1, "capabilities"),
    ROW(ROLE_NET, net_user, as_user, namespaces, ROOT_NS, "namespaces"),
    ROW(ROLE_EXEC, exec_root, as_root, uid, 1, "uid"),
    ROW(ROLE_EXEC, exec_root, as_root, caps_effective, 0x31, "capabilities"),
    ROW(ROLE_EXEC, exec_root, as_root, caps_permitted, 2, "capabilities"),
    ROW(ROLE_EXEC, exec_root, as_root, caps_bounding, 0x1f0, "bounding-set"),
    ROW(ROLE_EXEC, exec_root, as_root, no_new_privs, 0, "no-new-privs"),
    ROW(ROLE_EXEC, exec_root, as_root, seccomp, 0, "seccomp"),
    ROW(ROLE_EXEC, exec_root, as_root, dumpable, 1, "dumpable"),
    ROW(ROLE_EXEC, exec_user, as_user, caps_effective, 2, "capabilities"),
    ROW(ROLE_EXEC, exec_user, as_user, namespaces, 0, "user-namespace"),
    ROW(ROLE_NET, net_bare_root, bare_root, caps_bounding, 1, "bounding-set"),
    ROW(ROLE_NET, net_bare_root, bare_root, landlock_abi, 0, "landlock"),
    ROW(ROLE_NET, net_bare_user, bare_user, landlock_abi, 0, "landlock"),
    ROW(ROLE_NET, net_bare_user, bare_user, caps_permitted, 1, "capabilities"),
    ROW(ROLE_NET, net_no_netns, no_netns, namespaces, ROLE_NS_IPC | ROLE_NS_UTS,
	"namespaces"),
    ROW(ROLE_EXEC, exec_bare_user, bare_user, seccomp, 0, "seccomp"),
};

static void
readiness_check_takes_what_is_complete(void **state)
{
	static const struct {
		enum role role;
		const struct readiness *want;
		const struct msg_role_ready *got;
	} good[] = {
	    {ROLE_NET, &as_root, &net_root},
	    {ROLE_NET, &as_user, &net_user},
	    {ROLE_EXEC, &as_root, &exec_root},
	    {ROLE_EXEC, &as_user, &exec_user},
	    {ROLE_NET, &bare_root, &net_bare_root},
	    {ROLE_NET, &bare_user, &net_bare_user},
	    {ROLE_NET, &no_netns, &net_no_netns},
	    {ROLE_EXEC, &bare_user, &exec_bare_user},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		struct err e = {0};

		if (readiness_check(good[i].role, good[i].want, good[i].got,
			&e) != 0)
			fail_msg("%zu: %s", i, e.text);
	}
}

static void
readiness_check_names_what_is_missing(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct msg_role_ready report = *rows[i].good;
		struct err e = {0};

		const uint32_t half = (uint32_t)rows[i].bad;

		memcpy((char *)&report + rows[i].offset,
		    rows[i].size == sizeof half ? (const void *)&half
						: &rows[i].bad,
		    rows[i].size);
		assert_int_equal(readiness_check(rows[i].role, rows[i].want,
				     &report, &e),
		    -EPERM);
		if (strstr(e.text, rows[i].missing) == NULL)
			fail_msg("%zu: %s", i, e.text);
	}
}

static void
readiness_check_wants_landlock_only_where_there_is_one(void **state)
{
	struct readiness host = as_root;
	struct msg_role_ready report = net_root;
	struct err e;

	(void)state;
	host.landlock_abi = 0;
	report.landlock_abi = 0;
	assert_int_equal(readiness_check(ROLE_NET, &host, &report, &e), 0);
}

static void
readiness_check_names_everything_at_once(void **state)
{
	const struct msg_role_ready report = {.dumpable = 1,
	    .groups = 1,
	    .caps_effective = 1,
	    .caps_bounding = 1};
	struct err e;

	(void)state;
	assert_int_equal(readiness_check(ROLE_NET, &as_root, &report, &e),
	    -EPERM);
	assert_string_equal(e.text,
	    "net: lock-down is incomplete: uid gid groups capabilities "
	    "bounding-set no-new-privs seccomp dumpable namespaces landlock");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(readiness_check_takes_what_is_complete),
	    cmocka_unit_test(readiness_check_names_what_is_missing),
	    cmocka_unit_test(
		readiness_check_wants_landlock_only_where_there_is_one),
	    cmocka_unit_test(readiness_check_names_everything_at_once),
	};

	return cmocka_run_group_tests_name("readiness", tests, NULL, NULL);
}
