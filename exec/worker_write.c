#include "exec/worker_write.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "exec/worker_open.h"

/*
 * Reserve what the file grows by. Only running out of space counts: where
 * reserving is unknown the write itself will tell.
 */
static int
reserve(int fd, uint64_t old_size, uint64_t size)
{
	if (old_size == 0 || size <= old_size)
		return 0;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)old_size,
		(off_t)(size - old_size)) == 0)
		return 0;
	if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
		return 0;
	return -errno;
}

int
worker_write_in_place(const char *path, const struct worker_payload *p,
    enum fs_failure *why)
{
	scoped_fd fd = -1;
	struct stat st;
	int r;

	fd = worker_open_write(path, &st, why);
	/* The protocol has no words of its own for a directory here. */
	if (fd == -EISDIR)
		*why = FS_FAILURE_ERRNO;
	if (fd < 0)
		return fd;
	r = reserve(fd, (uint64_t)st.st_size, p->size);
	if (r == 0)
		r = worker_payload_write(p, fd);
	if (r == 0 && ftruncate(fd, (off_t)p->size) < 0)
		r = -errno;
	return r;
}
