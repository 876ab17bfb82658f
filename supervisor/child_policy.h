/* The system call policy that takes the place of the programs' built-in one. */
#ifndef SUPERVISOR_CHILD_POLICY_H
#define SUPERVISOR_CHILD_POLICY_H

#include "policy/compile.h"

#define CHILD_POLICY_ERRORS_MAX (16u * 1024u)

/* A policy read from a file; rules borrow from text. */
struct policy_file {
	struct buf text;
	struct syscall_policy *policy; /* owned */
};

/*
 * Read and parse the regular file at path. Every mistake becomes a line
 * "PATH:LINE:COLUMN: what is wrong" in errors: of syntax, calls that no
 * architecture has, a missing default, rules that change nothing. Returns 0;
 * -EINVAL after a complaint; -EIO if the file cannot be read, which is a
 * complaint too; -ENOMEM. policy_file_done is due in all cases.
 */
must_use int policy_file_load(struct policy_file *f, const char *path,
    struct buf *errors);
void policy_file_done(struct policy_file *f);

/* Load and compile: the filter for this machine, heap, in *out. Returns 0 or a
 * negative errno with the first complaint in e. */
must_use int child_policy_compile(const char *path, struct compiled **out,
    struct err *e);

#endif
