/* The small files of a control group: numbers, words, and keys with numbers. */
#ifndef EXEC_CGROUP_FILE_H
#define EXEC_CGROUP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define CGROUP_FILE_MAX 1024 /* bytes of such a file, a NUL included */

/*
 * The contents of dir/name as a string. 0; -EMSGSIZE if it is longer; another
 * negative errno.
 */
must_use int cgroup_file_read(int dir, const char *name,
    char out[CGROUP_FILE_MAX]);

/* The same of an open file, from its beginning. */
must_use int cgroup_file_read_fd(int fd, char out[CGROUP_FILE_MAX]);

/* The number behind "KEY " on a line of its own. */
must_use bool cgroup_file_find(const char *text, const char *key,
    uint64_t *value);

/* Whether word is one of those that blanks and newlines part. */
must_use bool cgroup_file_has(const char *text, const char *word);

/*
 * Write value to dir/name and read it back: the kernel may have rounded it down
 * to whole pages, no more. 0; -ERANGE if something else is there; another
 * negative errno.
 */
must_use int cgroup_file_limit(int dir, const char *name, uint64_t value);

/* The same where the kernel may have no such file, which is no error. */
must_use int cgroup_file_limit_if(int dir, const char *name, uint64_t value);

#endif
