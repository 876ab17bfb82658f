/*
 * System call policies as text: the .policy files of policy/syscalls.
 *
 *   # A line of comment.
 *   default kill                  # what all other calls get
 *   unknown ENOSYS                # numbers above the highest known one
 *   read                          # net/stream.c: a child's output
 *   poll [x86_64]                 # libwebsockets: its loop
 *   accept4: arg0 == $listener    # net/accept.c: a new connection
 *   openat -> EACCES              # libc: probes that may fail
 *
 * A rule is a call, the architectures that have it (all, if none is named),
 * a test of its arguments (always true, if there is none), an action (allow,
 * if there is none) and, after '#', who makes the call and why; that is not
 * optional. The rules of a call are tried from top to bottom and the first
 * one whose test holds decides.
 *
 *   test     = all { "||" all }
 *   all      = compare { "&&" compare }
 *   compare  = argument [ "&" value ] ( "==" | "!=" ) value
 *            | argument [ "&" value ] "in" set
 *   argument = "arg0" .. "arg5"   the low 32 bits: what the kernel reads of
 *                                 an int, whatever lies in the upper half
 *            | "ptr0" .. "ptr5"   all 64 bits (not with "in")
 *   set      = "{" value { "," value } "}" | "$channel"
 *   value    = sum | "~" item | "~" "(" sum ")"
 *   sum      = item { "|" item }
 *   item     = number | NAME | "$log" | "$supervisor" | "$exec" | "$listener"
 *   action   = "allow" | "kill" | an errno name
 */
#ifndef POLICY_SYSCALL_TEXT_H
#define POLICY_SYSCALL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Far above what Linux has calls for. */
#define SYSCALL_TEXT_MAX     (256u * 1024u) /* bytes of a file */
#define SYSCALL_RULES_MAX    1024
#define SYSCALL_COMPARES_MAX 2048
#define SYSCALL_VALUES_MAX   4096
#define SYSCALL_NAME_MAX     32 /* bytes, the final NUL included */
#define SYSCALL_ARGS	     6

enum syscall_arch {
	SYSCALL_ARCH_X86_64 = 1 << 0,
	SYSCALL_ARCH_AARCH64 = 1 << 1,
	SYSCALL_ARCH_ALL = SYSCALL_ARCH_X86_64 | SYSCALL_ARCH_AARCH64,
};

enum syscall_action_kind { SYSCALL_ALLOW, SYSCALL_KILL, SYSCALL_ERRNO };

struct syscall_action {
	enum syscall_action_kind kind;
	int errnum; /* positive; with SYSCALL_ERRNO only */
};

/* Holds if (argument & mask) is one of the values, or with negated is none. */
struct syscall_compare {
	unsigned int arg;
	bool wide; /* all 64 bits, and then there is one value */
	bool negated;
	bool ends_all; /* the last of its &&; a next one is behind an || */
	uint64_t mask;
	size_t first, count; /* in values */
};

struct syscall_rule {
	char name[SYSCALL_NAME_MAX];
	unsigned int arches; /* SYSCALL_ARCH_* */
	struct syscall_action action;
	size_t first, count; /* in compares; none: always */
	unsigned int line;
	struct bytes test;   /* as written, empty if none; borrowed */
	struct bytes caller; /* before the ':' of the reason; borrowed */
	struct bytes reason; /* after it; borrowed */
};

struct syscall_policy {
	bool has_fallback, has_unknown;
	struct syscall_action fallback; /* "default" */
	struct syscall_action unknown;
	size_t rule_count, compare_count, value_count;
	struct syscall_rule rules[SYSCALL_RULES_MAX];
	struct syscall_compare compares[SYSCALL_COMPARES_MAX];
	uint64_t values[SYSCALL_VALUES_MAX];
};

/* An empty policy; NULL when out of memory. */
struct syscall_policy *syscall_policy_new(void);
void syscall_policy_free(struct syscall_policy *p);

/*
 * Add the rules of text to p, behind those that are there. text is borrowed
 * until p is freed. A "default" or "unknown" counts unless p had one before;
 * a text may say each once.
 * Within text a rule that could never decide is refused: one with the same
 * test as an earlier one of that call, or behind one without a test.
 *
 * Returns 0; -EINVAL, or -EFBIG if a maximum above is passed, with e as
 * "LINE:COLUMN: what is wrong". p is then half filled and good for
 * syscall_policy_free only.
 */
must_use int syscall_text_parse(struct bytes text, struct syscall_policy *p,
    struct err *e);

/*
 * The same, but go on behind a line that is wrong: every complaint becomes a
 * line "NAME:LINE:COLUMN: what is wrong" in errors, as far as it holds them,
 * and the rule is left out of p. Returns 0 or -EINVAL.
 */
must_use int syscall_text_parse_all(struct bytes text, const char *name,
    struct syscall_policy *p, struct buf *errors);

/* Whether the test of rule r of p holds for these arguments. */
bool syscall_rule_holds(const struct syscall_policy *p,
    const struct syscall_rule *r, const uint64_t args[SYSCALL_ARGS]);

/*
 * What p says of the call name with args on arch: the meaning of a policy,
 * which the compiled filter must have too. Allows nothing if p has no
 * default.
 */
struct syscall_action syscall_policy_decide(const struct syscall_policy *p,
    const char *name, enum syscall_arch arch,
    const uint64_t args[SYSCALL_ARGS]);

/* The value of a symbolic constant or "$name". False if there is none. */
must_use bool syscall_constant(struct bytes name, uint64_t *out);
/* The number of an errno name. False if it is not one that policies use. */
must_use bool syscall_errno(struct bytes name, int *out);
/* The name of such a number; never NULL. */
const char *syscall_errno_name(int errnum);

#endif
