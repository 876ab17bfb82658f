/*
 * System call policies as the seccomp JSON of container runtimes, and back.
 * What one of the two cannot say is an error, never left out.
 */
#ifndef CLI_OCI_H
#define CLI_OCI_H

#include <jansson.h>

#include "base/err.h"
#include "policy/syscall_text.h"

#define OCI_CASES_MAX 4096 /* entries that one call may become */

/*
 * Make JSON of p. Each way in which a test can hold is an entry. Returns 0 with
 * *out, a new reference; -ENOTSUP or -E2BIG with e if p says what JSON cannot;
 * -ENOMEM.
 */
must_use int oci_export(const struct syscall_policy *p, json_t **out,
    struct err *e);

/*
 * Append the policy that root says for a program without capabilities on
 * kernel 6.1. Returns 0; -EINVAL if root is no such JSON, -ENOTSUP or -E2BIG if
 * a policy cannot say it; -ENOMEM; each with e.
 */
must_use int oci_import(json_t *root, struct buf *out, struct err *e);

#endif
