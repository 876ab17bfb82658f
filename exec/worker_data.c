#include "exec/worker_data.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"

#define SEALS	  (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
/* Bytes on their way through this process at a time. */
#define CHUNK_MAX (128u * 1024u)
/* Bytes of one copy_file_range(2), so that a kill is not kept waiting. */
#define RANGE_MAX (16u * MIB)

int
worker_payload_init(struct worker_payload *out, struct bytes bytes, int fd)
{
	struct stat st;
	int seals;

	*out = (struct worker_payload){.bytes = bytes,
	    .fd = fd,
	    .size = bytes.len};
	if (fd < 0)
		return 0;
	/* Only a memfd has seals, so this is no other kind of file either. */
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0)
		return -EPROTO;
	if (bytes.len > 0 || st.st_size > (off_t)RPC_MESSAGE_MAX)
		return -EPROTO;
	out->size = (uint64_t)st.st_size;
	return 0;
}

int
worker_data_put(int to, struct bytes bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes.len) {
		ssize_t n = pwrite(to, bytes.data + done, bytes.len - done,
		    (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

int
worker_data_get(int from, uint8_t *to, size_t len, uint64_t offset, size_t *got)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n =
		    pread(from, to + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*got = done;
	return 0;
}

/* Copy [*at, end) through memory until the end of the file; *at moves on. */
static int
copy_through(int from, int to, uint64_t *at, uint64_t end)
{
	scoped_free uint8_t *chunk = malloc(CHUNK_MAX);

	if (chunk == NULL)
		return -ENOMEM;
	while (*at < end) {
		uint64_t left = end - *at;
		size_t n, want = left < CHUNK_MAX ? (size_t)left : CHUNK_MAX;
		int r = worker_data_get(from, chunk, want, *at, &n);

		if (r == 0)
			r = worker_data_put(to,
			    (struct bytes){.data = chunk, .len = n}, *at);
		if (r < 0)
			return r;
		*at += n;
		if (n < want)
			break;
	}
	return 0;
}

/*
 * Copy [at, end) in the kernel, or through memory where it can not: between
 * kinds of filesystem, and from files without a size as in /proc, where it
 * answers 0.
 */
static int
copy_range(int from, int to, uint64_t at, uint64_t end)
{
	uint64_t start = at;

	while (at < end) {
		off_t in = (off_t)at, out = (off_t)at;
		uint64_t left = end - at;
		ssize_t n = copy_file_range(from, &in, to, &out,
		    left < RANGE_MAX ? (size_t)left : RANGE_MAX, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == ENOSPC || errno == EDQUOT ||
				 errno == EFBIG || errno == EIO))
			return -errno;
		if (n < 0 || (n == 0 && at == start))
			return copy_through(from, to, &at, end);
		if (n == 0)
			break;
		at += (uint64_t)n;
	}
	return 0;
}

int
worker_payload_write(const struct worker_payload *p, int to, uint64_t from,
    uint64_t end)
{
	struct bytes part;

	if (p->fd >= 0)
		return copy_through(p->fd, to, &from, end);
	if (from == end)
		return 0;
	part = (struct bytes){.data = p->bytes.data + from, .len = end - from};
	return worker_data_put(to, part, from);
}

/* A file with holes: one piece of data after the other. */
static int
copy_sparse(int from, uint64_t size, int to)
{
	uint64_t at = 0;

	while (at < size) {
		off_t data = lseek(from, (off_t)at, SEEK_DATA), hole;
		int r;

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0)
			return copy_range(from, to, at, size);
		hole = lseek(from, data, SEEK_HOLE);
		if (hole <= data)
			hole = (off_t)size;
		r = copy_range(from, to, (uint64_t)data, (uint64_t)hole);
		if (r < 0)
			return r;
		at = (uint64_t)hole;
	}
	return ftruncate(to, (off_t)size) < 0 ? -errno : 0;
}

int
worker_data_copy(int from, const struct stat *st, int to)
{
	/* 512: the unit of st_blocks, whatever the filesystem's own is. */
	if (st->st_size > 0 && st->st_blocks < st->st_size / 512)
		return copy_sparse(from, (uint64_t)st->st_size, to);
	return copy_range(from, to, 0, INT64_MAX);
}
