#include "exec/worker_write.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "exec/worker_open.h"

/* The error that led here is the one to tell, so one of this is not. */
static void
take_back(int fd, uint64_t old_size)
{
	if (ftruncate(fd, (off_t)old_size) < 0)
		log_warn("worker could not shorten a file again: %s",
		    strerror(errno));
}

/*
 * What the file grows by comes first: that may lack space, and can be taken
 * back. What then goes over old bytes has its place already.
 */
static int
write_over(const struct worker_payload *p, int fd, uint64_t old_size)
{
	uint64_t kept = old_size < p->size ? old_size : p->size;
	int r = worker_payload_write(p, fd, kept, p->size);

	if (r < 0) {
		take_back(fd, old_size);
		return r;
	}
	r = worker_payload_write(p, fd, 0, kept);
	if (r == 0 && ftruncate(fd, (off_t)p->size) < 0)
		r = -errno;
	return r;
}

int
worker_write_in_place(const char *path, const struct worker_payload *p,
    enum fs_failure *why)
{
	scoped_fd fd = -1;
	struct stat st;

	fd = worker_open_write(path, &st, why);
	/* The protocol has no words of its own for a directory here. */
	if (fd == -EISDIR)
		*why = FS_FAILURE_ERRNO;
	if (fd < 0)
		return fd;
	return write_over(p, fd, (uint64_t)st.st_size);
}
