/*
 * From a system call policy to the seccomp filter that enforces it.
 *
 * libseccomp knows the numbers of the calls; the filter itself is written
 * here, because its rules cannot say what ours do: the first rule of a call
 * decides, an argument may be compared more than once, and an int is compared
 * by its low half alone.
 *
 * The filter kills on another architecture than the one it is made for, and
 * on x86_64 on every number of the x32 ABI.
 */
#ifndef POLICY_COMPILE_H
#define POLICY_COMPILE_H

#include <linux/filter.h>

#include "policy/syscall_text.h"

/* The highest number that this release knows a call for (Linux 6.17). */
#define COMPILE_SYSCALL_MAX 469

struct compiled {
	size_t len; /* instructions */
	struct sock_filter code[BPF_MAXINSNS];
};

/* The architecture that this program is built for. */
enum syscall_arch compile_arch(void);

/*
 * The number of a call. Returns 0; -ENOENT if arch has no such call; -EINVAL
 * if there is none anywhere.
 */
must_use int compile_number(const char *name, enum syscall_arch arch,
    unsigned int *out);

/* The name of a call's number, at most SYSCALL_NAME_MAX bytes with its NUL.
 * Returns 0, or -ENOENT if this release knows none. */
must_use int compile_name(unsigned int number, enum syscall_arch arch,
    char out[SYSCALL_NAME_MAX]);

/*
 * Check that the calls of the rules of p from first on exist on arch, unless
 * the rule is for others. Returns 0 or -EINVAL with e as "LINE:1: ...".
 */
must_use int compile_check(const struct syscall_policy *p, size_t first,
    enum syscall_arch arch, struct err *e);

/*
 * Make the filter. Returns 0; -EINVAL if p has no default or a call does not
 * exist; -E2BIG if it does not fit into BPF_MAXINSNS or a rule jumps further
 * than BPF can (255 instructions); -ENOMEM; each with e.
 */
must_use int compile_policy(const struct syscall_policy *p,
    enum syscall_arch arch, struct compiled *out, struct err *e);

#endif
