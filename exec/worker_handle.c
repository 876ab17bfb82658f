#include "exec/worker_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "exec/worker_data.h"
#include "exec/worker_open.h"

void
worker_handle_init(struct worker_handles *h)
{
	for (size_t i = 0; i < FS_HANDLES_MAX; i++)
		h->items[i] = (struct worker_handle){.fd = -1};
}

void
worker_handle_done(struct worker_handles *h)
{
	for (size_t i = 0; i < FS_HANDLES_MAX; i++)
		fd_close(&h->items[i].fd);
}

/* The place of number, or SIZE_MAX. */
static size_t
find(const struct worker_handles *h, uint32_t number)
{
	for (size_t i = 0; i < FS_HANDLES_MAX; i++)
		if (h->items[i].fd >= 0 && h->items[i].number == number)
			return i;
	return SIZE_MAX;
}

static size_t
find_free(const struct worker_handles *h)
{
	for (size_t i = 0; i < FS_HANDLES_MAX; i++)
		if (h->items[i].fd < 0)
			return i;
	return SIZE_MAX;
}

static int
open_replace(const char *path, enum fs_failure *why)
{
	scoped_fd fd = -1;
	struct stat st;

	fd = worker_open_write(path, &st, why);
	if (fd < 0)
		return fd;
	if (ftruncate(fd, 0) < 0)
		return -errno;
	return fd_take(&fd);
}

int
worker_handle_open(struct worker_handles *h, uint32_t number, bool replace,
    const char *path, enum fs_failure *why)
{
	size_t i = find_free(h);
	struct stat st;
	int fd;

	if (find(h, number) != SIZE_MAX)
		return -EPROTO;
	if (i == SIZE_MAX)
		return -EMFILE;
	fd = replace ? open_replace(path, why)
		     : worker_open_read(AT_FDCWD, path, 0, &st, why);
	if (fd < 0)
		return fd;
	h->items[i] = (struct worker_handle){.number = number, .fd = fd};
	return 0;
}

/* Its descriptor, or -ENOENT. */
static int
fd_of(const struct worker_handles *h, uint32_t number, enum fs_failure *why)
{
	size_t i = find(h, number);

	if (i != SIZE_MAX)
		return h->items[i].fd;
	*why = FS_FAILURE_UNKNOWN_HANDLE;
	return -ENOENT;
}

int
worker_handle_read(const struct worker_handles *h, uint32_t number,
    uint64_t offset, uint8_t *to, size_t len, size_t *got, enum fs_failure *why)
{
	int fd = fd_of(h, number, why);

	if (fd < 0)
		return fd;
	/* No file reaches there; the kernel would call it an error, and so
	 * tell a handle that writes. */
	if (offset > INT64_MAX - FS_BLOCK_MAX)
		offset = INT64_MAX - FS_BLOCK_MAX;
	return worker_data_get(fd, to, len, offset, got);
}

int
worker_handle_write(const struct worker_handles *h, uint32_t number,
    uint64_t offset, struct bytes data, enum fs_failure *why)
{
	int fd = fd_of(h, number, why);

	if (fd < 0)
		return fd;
	if (offset > INT64_MAX - FS_BLOCK_MAX)
		return -EINVAL;
	return worker_data_put(fd, data, offset);
}

void
worker_handle_close(struct worker_handles *h, uint32_t number)
{
	size_t i = find(h, number);

	if (i != SIZE_MAX)
		fd_close(&h->items[i].fd);
}
