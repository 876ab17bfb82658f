/* The open files of fs/open. */
#ifndef EXEC_WORKER_HANDLE_H
#define EXEC_WORKER_HANDLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/limits.h"
#include "privsep/role.h"

struct worker_handle {
	uint32_t number; /* net's */
	int fd;		 /* -1: the place is free */
};

struct worker_handles {
	struct worker_handle items[FS_HANDLES_MAX];
};

void worker_handle_init(struct worker_handles *h);
void worker_handle_done(struct worker_handles *h);

/*
 * Open the regular file path as number: to be read, or with replace to be
 * written, created or emptied now. Returns 0; -EPROTO if number is in use;
 * -EMFILE past FS_HANDLES_MAX; -EINVAL or -EISDIR with *why as
 * FS_FAILURE_NOT_A_FILE; another negative errno.
 */
must_use int worker_handle_open(struct worker_handles *h, uint32_t number,
    bool replace, const char *path, enum fs_failure *why);

/*
 * Read up to len bytes, at most FS_BLOCK_MAX, at offset into to. Returns 0 and
 * the count in *got, fewer than len at the end of the file; -ENOENT with *why
 * as FS_FAILURE_UNKNOWN_HANDLE; -EBADF for one that writes; another errno.
 */
must_use int worker_handle_read(const struct worker_handles *h, uint32_t number,
    uint64_t offset, uint8_t *to, size_t len, size_t *got,
    enum fs_failure *why);

/* Write data at offset. The same errors, -EBADF for one that reads; -EINVAL
 * for an offset past INT64_MAX, like lseek(2). */
must_use int worker_handle_write(const struct worker_handles *h,
    uint32_t number, uint64_t offset, struct bytes data, enum fs_failure *why);

/* Close it; one that is not open is fine. */
void worker_handle_close(struct worker_handles *h, uint32_t number);

#endif
